"""Explain several label sets, here one after the other, or on a cluster, where each is a task."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.explaining.explain import explain_label_set
from labelproof.explaining.explanation import Explanation
from labelproof.foundation.engines import Engine, of_blocks
from labelproof.proof.regions import OutputLayer

__all__ = ["explain_several"]

Indices = npt.NDArray[np.int64]
KNOWN = ("_layer", "label_names")  # to who asks


@dataclass(frozen=True, eq=False)
class _Asked:
    layer: OutputLayer
    n_nearest: int
    time_limit: float | None


def explain_several(
    layer: OutputLayer,
    sets: Sequence[Indices],
    *,
    label_names: tuple[str, ...] | None = None,
    n_nearest: int = 3,
    time_limit: float | None = None,
    n_jobs: int | None = None,
    engine: Engine = "local",
    advance: Callable[[int], None] = lambda _: None,
) -> Iterator[Explanation]:
    """Yield an explanation of each label set, given by ascending indices, in order; see `labelproof.explain`."""
    blocks, asked = ([active] for active in sets), _Asked(layer, n_nearest, time_limit)
    how: dict[str, Any] = {"n_blocks": len(sets), "n_jobs": n_jobs, "one_at_a_time": True, "advance": advance}
    with closing(of_blocks(_explained, asked, blocks, engine, **how)) as explained:
        for _, found in explained:
            yield Explanation(**found, _layer=layer, label_names=label_names)


def _explained(asked: _Asked, block: list[Indices], n_jobs: int, advance: Callable[[int], None]) -> dict[str, Any]:
    (active,) = block
    how: dict[str, Any] = {"n_nearest": asked.n_nearest, "time_limit": asked.time_limit, "n_jobs": n_jobs}
    found = explain_label_set(asked.layer, active, **how)
    advance(1)
    return {name: value for name, value in vars(found).items() if name not in KNOWN}
