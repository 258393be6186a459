"""What users pass to a rule, checked once: labels and scores of one shape, and scores that must be probabilities."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.special import expit, logit

from labelproof.foundation.threads import in_threads, usable_cores
from labelproof.metrics.arguments import Labels, read_labels, read_probabilities, read_scores

__all__ = [
    "Floats",
    "Labels",
    "ScoreKind",
    "by_blocks",
    "csr",
    "dense",
    "read_finite",
    "read_pair",
    "require_probabilities",
    "row_blocks",
    "to_logits",
    "to_probabilities",
]

Floats = npt.NDArray[Any]  # float32 or float64
ScoreKind = Literal["logits", "probabilities"]
R = TypeVar("R")


def read_finite(y_score: Any) -> Floats:
    """Read scores as float32 or float64 of shape (n_examples, n_labels); all must be finite, and there must be some."""
    scores = read_scores(y_score)
    if not scores.size:
        raise ValueError(f"y_score must hold at least one example and one label, got shape {scores.shape}")
    if not (np.isfinite(scores.min()) and np.isfinite(scores.max())):
        row, column = np.argwhere(~np.isfinite(scores))[0]
        raise ValueError(f"y_score must be finite, got {scores[row, column]} for example {row}, label {column}")
    return scores


def read_pair(y_true: Any, y_score: Any) -> tuple[Labels, Floats]:
    """Read the labels of examples, and scores of the same shape."""
    scores, labels = read_finite(y_score), read_labels(y_true, "y_true")
    if labels.shape != scores.shape:
        raise ValueError(f"y_score must have the shape of y_true, {labels.shape}, got {scores.shape}")
    return labels, scores


def to_probabilities(scores: Floats, kind: ScoreKind) -> npt.NDArray[np.float64]:
    """Return scores as float64 probabilities: the sigmoid of logits, or probabilities as they are."""
    if kind == "logits":
        return expit(scores.astype(np.float64))
    return read_probabilities(scores).astype(np.float64)


def require_probabilities(scores: Floats, kind: ScoreKind) -> None:
    """Refuse scores outside [0, 1] that are said to be probabilities."""
    if kind == "probabilities":
        read_probabilities(scores)


def to_logits(scores: Floats, kind: ScoreKind) -> npt.NDArray[np.float64]:
    """Return scores as float64 logits; the probabilities 0 and 1 count as 2⁻⁵³ and 1 − 2⁻⁵³."""
    if kind == "logits":
        return scores.astype(np.float64)
    smallest = 2.0**-53
    return logit(np.clip(read_probabilities(scores).astype(np.float64), smallest, 1 - smallest))


def dense(labels: Labels) -> npt.NDArray[np.bool_]:
    """Return labels as a bool array (n_examples, n_labels)."""
    truth = np.zeros(labels.shape, np.bool_)
    truth[labels.rows, labels.indices] = True
    return truth


def csr(labels: Labels) -> scipy.sparse.csr_array:
    """Return labels as a CSR array of bool (n_examples, n_labels)."""
    active = np.ones(len(labels.indices), np.bool_)
    return scipy.sparse.csr_array((active, labels.indices, labels.indptr), shape=labels.shape)


def row_blocks(shape: tuple[int, ...], *, most_cells: int | None = None, per_thread: int = 4) -> list[slice]:
    """Cut the rows of a matrix into blocks: some for each thread, so that none waits long for the last, but none tiny.

    Blocks of more than ``most_cells`` numbers are cut further.
    """
    n, width = shape
    size = max(1, 2**18 // width, -(-n // (per_thread * usable_cores())))
    size = size if most_cells is None else min(size, max(1, most_cells // width))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def by_blocks(work: Callable[[slice], R], blocks: Sequence[slice]) -> list[R]:
    """Return work(block) for each block, in order; compiled work runs side by side."""
    return [work(blocks[0])] if len(blocks) == 1 else list(in_threads(work, blocks))
