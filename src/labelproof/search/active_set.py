"""The dual active-set method of Goldfarb and Idnani, in whatever numbers it is given.

    minimise ½‖v‖²  subject to  g_i·v ≥ t_i for every row

`exact` brings rationals and `many_bits` hundreds of bits; here is the order of steps that they share. At any time v
is Σ λ_i g_i over the active rows, which are independent, with every λ_i ≥ 0 and every active row at its target. A
violated row is split into Σ r_i g_i + z with z orthogonal to the active rows. v moves along z while the λ_i change by
−r_i, until the row is at its target and becomes active, or a λ_i has come to 0 and its row leaves; where there is no z
and no row that could leave, the row and the active ones contradict each other.

Floats have this iteration of their own in `active_set_kernels`: compiled, it is a hundred times as fast.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ["ActiveSet", "Split", "minimise"]

Number = Any  # flint.fmpq or flint.arb; both are untyped


class Split(NamedTuple):
    """A row as Σ r_i g_i + z: the coordinates r, one for each place; z and ‖z‖², None where nothing is left."""

    coordinates: Sequence[Number]
    rest: Any
    square: Number


class ActiveSet(Protocol):
    """The state of the method, and its arithmetic; active rows sit at places, and places may be empty."""

    multipliers: list[Number]  # one for each place, 0 if it is empty

    def violated_rows(self) -> Iterator[int]:
        """Yield rows that v violates at the time they are asked for, until there are none."""

    def split(self, row: int) -> Split:
        """Split a row; raises OutOfTimeError after the deadline."""

    def is_positive(self, number: Number) -> bool:
        """Return whether a number is positive, and not by a rounding error."""

    def ratio(self, number: Number, positive: Number) -> Number:
        """Return the quotient of two numbers."""

    def may_leave(self, place: int) -> bool:
        """Return whether the row at a place is no equality."""

    def lack(self, row: int) -> Number:
        """Return by how much v misses the target of a row."""

    def move(self, step: Number, split: Split) -> None:
        """Move v by a step along z, and the multipliers by as much against their coordinates."""

    def take(self, row: int, split: Split, multiplier: Number) -> None:
        """Make a row active."""

    def leave(self, place: int) -> None:
        """Make the row at a place inactive."""


def minimise(state: ActiveSet) -> tuple[int, Sequence[Number]] | None:
    """Make violated rows active until there are none; else return the row that cannot be, and its coordinates."""
    for row in state.violated_rows():
        coordinates = _enter(state, row)
        if coordinates is not None:
            return row, coordinates
    return None


def _enter(state: ActiveSet, row: int) -> Sequence[Number] | None:
    """Make a row active, unless it contradicts the active ones: then return its coordinates."""
    gained: Number = 0
    while True:  # every turn but the last has a row leave
        split = state.split(row)
        longest, place = _first_to_leave(state, split.coordinates)
        if split.rest is None and place is None:
            return split.coordinates
        full = None if split.rest is None else state.ratio(state.lack(row), split.square)
        blocked = full is None or (place is not None and longest < full)
        step = longest if blocked else full
        state.move(step, split)
        gained += step
        if not blocked:
            state.take(row, split, gained)
            return None
        assert place is not None  # noqa: S101 - an invariant, not a check of input
        state.leave(place)


def _first_to_leave(state: ActiveSet, coordinates: Sequence[Number]) -> tuple[Number, int | None]:
    """Return the step at which a multiplier first comes to 0, and its place."""
    ratios = [
        (state.ratio(state.multipliers[place], s), place)
        for place, s in enumerate(coordinates)
        if state.is_positive(s) and state.may_leave(place)
    ]
    return min(ratios, key=lambda pair: pair[0]) if ratios else (None, None)
