"""The three verdicts on a label set, each with its evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from labelproof.errors import CertificateError
from labelproof.proof.conflicts import exact_multipliers
from labelproof.proof.regions import OutputLayer
from labelproof.proof.rounding import Witness

__all__ = ["Argmaxable", "Certificate", "Unargmaxable", "Undecided"]


@dataclass(frozen=True, eq=False)
class Argmaxable:
    """The classifier predicts the label set at ``witness``.

    Attributes
    ----------
    witness
        An input of the output layer, float64 (d,), or a tuple of d Fractions where no float lies in the region.
    margin
        Smallest signed logit at the witness, relative to the norms of the label's weights and of the witness.
    radius
        Chebyshev radius of the region within the box, NaN where it was not asked for.

    Examples
    --------
    >>> import labelproof as lp
    >>> found = lp.verify([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[0, 1]])[0]
    >>> type(found).__name__, found.witness.shape, found.margin > 0
    ('Argmaxable', (2,), True)
    """

    witness: Witness
    margin: float
    radius: float = float("nan")


@dataclass(frozen=True, eq=False)
class Unargmaxable:
    """No input gives the label set: the decisions on the labels in ``conflict`` contradict each other.

    Attributes
    ----------
    conflict
        Label indices, ascending.
    extra
        Names of further rows of the system that take part: scale, sum_le, sum_ge, low[j], high[j]; or domain, the
        inequality that the sum of the rows of the labels stays below its largest value on the domain.

    Examples
    --------
    >>> import labelproof as lp
    >>> found = lp.verify([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[0, 1, 2]])[0]
    >>> found.conflict, found.multipliers
    ((0, 1, 2), (1, 1, 1))
    """

    conflict: tuple[int, ...]
    extra: tuple[str, ...]
    _layer: OutputLayer = field(repr=False)
    _active: npt.NDArray[np.int64] = field(repr=False)
    _rows: npt.NDArray[np.int64] = field(repr=False)
    _weights: tuple[Fraction, ...] | None = field(default=None, repr=False)

    @property
    def multipliers(self) -> tuple[int, ...]:
        """Positive integers, one for each label of the conflict; with them the signed rows add up to zero.

        Where the domain takes part, they add up to what is negative (or zero) on the domain.
        """
        return self._all_multipliers[: len(self.conflict)]

    @property
    def extra_multipliers(self) -> tuple[int, ...]:
        """Positive integers, one for each row of ``extra``."""
        return self._all_multipliers[len(self.conflict) :]

    @cached_property
    def _all_multipliers(self) -> tuple[int, ...]:
        if self._weights is not None:
            return (*_coprime(self._weights), 1)
        exact = exact_multipliers(self._layer, self._active, self._rows)
        if exact is None:
            raise CertificateError("expected rows with one linear dependence, of positive multipliers, got none")
        return _coprime(exact)


def _coprime(multipliers: Sequence[Fraction]) -> tuple[int, ...]:
    """Return integers in the same proportions."""
    common = lcm(*(m.denominator for m in multipliers))
    whole = [int(m * common) for m in multipliers]
    divisor = gcd(*whole)
    return tuple(m // divisor for m in whole)


@dataclass(frozen=True)
class Undecided:
    """Neither a witness nor a conflict was found and proven; ``reason`` says why.

    Attributes
    ----------
    reason
        One sentence, such as that the time limit has passed.

    Examples
    --------
    >>> Undecided("the time limit of 1 s has passed").reason
    'the time limit of 1 s has passed'
    """

    reason: str


Certificate = Argmaxable | Unargmaxable | Undecided
