"""The examples that the search for a stretch looks at: all of them where their logits fit into memory, else a part."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.foundation.threads import in_threads
from labelproof.proof.examples import Examples
from labelproof.proof.regions import OutputLayer

__all__ = ["Pool", "centre_logits", "make_pool", "most_examples"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
MOST_LOGITS = 40_000_000  # of a pool, in single precision and twice: 320 MB
LEAST_POOL = 256
AT_ONCE = 2048


@dataclass(frozen=True, eq=False)
class Pool:
    """Some examples and the logits that they give beyond those at the centre.

    Attributes
    ----------
    places
        Numbers of the examples, ascending.
    beyond, transposed
        float (n_pool, n_labels): logits minus the centre's, and the same by label.
    scale
        float64 (n_labels,): the largest |beyond| of each label; 1 where there is none.
    """

    places: Indices
    beyond: npt.NDArray[Any]
    transposed: npt.NDArray[Any]
    scale: Floats


def most_examples(n: int, n_labels: int) -> int:
    """Return how many of n examples fit into a pool."""
    return min(n, max(LEAST_POOL, MOST_LOGITS // n_labels))


def make_pool(
    layer: OutputLayer,
    examples: Examples,
    places: Indices,
    dtype: Any = np.float32,
    n_jobs: int | None = None,
) -> Pool:
    """Compute the logits of some examples, the same with any number of threads."""
    weight = np.ascontiguousarray(layer.weight.T.astype(dtype))
    beyond = np.empty((len(places), layer.n_labels), dtype)

    def work(start: int) -> None:
        some = places[start : start + AT_ONCE]
        if examples.is_sparse:
            rows = examples.features[some] @ layer.weight.T - examples.centre @ layer.weight.T
            beyond[start : start + AT_ONCE] = rows
        else:
            beyond[start : start + AT_ONCE] = (examples.take(some) - examples.centre).astype(dtype) @ weight

    for _ in in_threads(work, range(0, len(places), AT_ONCE), n_jobs):
        pass
    scale = np.maximum(beyond.max(axis=0), -beyond.min(axis=0)).astype(np.float64)
    scale[~(scale > 0)] = 1.0
    return Pool(places, beyond, np.ascontiguousarray(beyond.T), scale)


def centre_logits(layer: OutputLayer, examples: Examples) -> Floats:
    """Return the logits at the centre, (n_labels,)."""
    logits: Floats = layer.weight @ examples.centre
    return logits if layer.offset is None else logits + layer.offset
