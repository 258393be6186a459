"""Support vector machines for blocks of labels, here or on a cluster, where each block is a task.

Workers of a cluster have no need of torch, and do not load it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.foundation.engines import Engine, of_blocks
from labelproof.foundation.progress import progress_bar
from labelproof.foundation.threads import one_blas_thread
from labelproof.parallel.dispatch import share
from labelproof.training.dense_svm import dense_svms, labels_at_once
from labelproof.training.kernels import LANES, svm_groups

__all__ = ["Solution", "solutions"]

Solution = tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]  # weights (n_labels, n_features) and biases
LABELS_AT_ONCE = 64  # a multiple of LANES, so that groups do not depend on blocks
MOST_PASSES = 1000
ROUGH, LARGE = 1e-3, 100.0  # tolerance from which on, and size of features up to which float32 is precise enough


@dataclass(frozen=True, eq=False)
class _Asked:
    """Features (n_examples, n_features), labels (n_examples, n_labels) by columns, and a tolerance."""

    features: Any
    labels: Any
    tolerance: float


@dataclass(frozen=True)
class _Block:
    """Some labels, one after the other, and C."""

    cost: float
    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first


def solutions(
    features: Any,
    labels: Any,
    costs: Sequence[float],
    *,
    tolerance: float,
    n_jobs: int,
    engine: Engine = "local",
    progress: bool = False,
) -> Iterator[Solution]:
    """Yield the solution for each C, by the method that suits sparse or dense features.

    Parameters
    ----------
    features
        CSR array (n_examples, n_features), or an array.
    labels
        CSR array (n_examples, n_labels) of bool.
    costs
        Values of C.
    tolerance
        Of the slopes of the dual problem, for sparse features.
    n_jobs
        Threads.
    engine
        "local", or "ray": features and labels go to the cluster once. The numbers are the same.
    progress
        Draw a progress bar on standard error.
    """
    n, n_labels = labels.shape
    size = LABELS_AT_ONCE if scipy.sparse.issparse(features) else labels_at_once(n)
    starts = range(0, n_labels, size)
    blocks = [_Block(cost, first, min(first + size, n_labels)) for cost in costs for first in starts]
    asked = _Asked(features, scipy.sparse.csc_array(labels), tolerance)
    how: dict[str, Any] = {"n_blocks": len(blocks), "n_jobs": n_jobs, "one_at_a_time": True}
    with (
        progress_bar("solving", sum(map(len, blocks)), show=progress) as advance,
        closing(of_blocks(_solved, asked, blocks, engine, advance=advance, **how)) as found,
    ):
        for _ in costs:
            weight, bias = np.empty((n_labels, features.shape[1]), np.float32), np.empty(n_labels)
            for block, (rows, more) in islice(found, len(starts)):
                weight[block.first : block.last], bias[block.first : block.last] = rows, more
            yield weight, bias


def _solved(asked: _Asked, block: _Block, n_jobs: int, advance: Callable[[int], None]) -> Solution:
    labels = asked.labels[:, block.first : block.last]
    if scipy.sparse.issparse(asked.features):
        solution = _sparse(asked.features, labels, block.cost, asked.tolerance, n_jobs)
    else:
        with one_blas_thread():
            weight, bias = dense_svms(asked.features, labels, block.cost)
        solution = weight.astype(np.float32), bias
    advance(len(block))
    return solution


def _sparse(features: Any, labels: Any, cost: float, tolerance: float, n_jobs: int) -> Solution:
    n_labels = labels.shape[1]
    numbers = features.data.astype(_precision(features.data, tolerance))
    rows = (features.indptr.astype(np.int64), features.indices.astype(np.uint32), numbers)
    weight, bias = np.empty((n_labels, features.shape[1]), np.float32), np.empty(n_labels)
    given = *rows, labels.indptr.astype(np.int64), labels.indices.astype(np.int64), float(cost), tolerance, MOST_PASSES
    work = n_labels * max(features.nnz, 1)
    share(svm_groups, *given, weight, bias, n_items=-(-n_labels // LANES), n_numbers=work, n_threads=n_jobs)
    return weight, bias


def _precision(numbers: npt.NDArray[Any], tolerance: float) -> type[np.floating[Any]]:
    """Return the precision to solve in: twice as many labels share a vector of float32."""
    return np.float32 if tolerance >= ROUGH and np.abs(numbers).max(initial=0.0) <= LARGE else np.float64
