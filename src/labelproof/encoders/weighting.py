"""Bags of words → sparse rows of unit length, by term frequency and (for TF-IDF) inverse document frequency."""

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from math import log, sqrt

import numpy as np
import numpy.typing as npt

from labelproof.encoders.rows import RaggedRows

__all__ = ["inverse_document_frequency", "weighted_rows"]


def inverse_document_frequency(frequency: npt.NDArray[np.int64], n_documents: int) -> npt.NDArray[np.float64]:
    """Return ln((1 + n) / (1 + f)) + 1 for terms that occur in f of n documents.

    Examples
    --------
    >>> inverse_document_frequency(np.array([3, 1]), 3)
    array([1.        , 1.69314718])
    """
    return np.log((1 + n_documents) / (1 + frequency)) + 1


def weighted_rows(
    texts: Iterable[str],
    ids_of: Callable[[str], Iterable[int]],
    *,
    weights: npt.NDArray[np.float64] | None,
    sublinear: bool,
) -> RaggedRows:
    """Return one row for each text: its ids in ascending order, weighted by how often they occur, of length 1.

    Parameters
    ----------
    texts
        Any number of them.
    ids_of
        A text's known terms, repeated as they occur.
    weights
        Factor of every id, or None for 1.
    sublinear
        Whether a term that occurs t times counts 1 + ln t instead of t.
    """
    indptr, ids, values = array("q", [0]), array("i"), array("f")
    factors = None if weights is None else weights.tolist()
    for text in texts:
        counts = sorted(Counter(ids_of(text)).items())
        row = [1 + log(count) if sublinear else float(count) for _, count in counts]
        if factors is not None:
            row = [value * factors[term] for value, (term, _) in zip(row, counts, strict=True)]
        length = sqrt(sum(value * value for value in row)) or 1.0
        ids.extend(term for term, _ in counts)
        values.extend(value / length for value in row)
        indptr.append(len(ids))
    return RaggedRows(np.frombuffer(indptr, np.int64), np.frombuffer(ids, np.int32), np.frombuffer(values, np.float32))
