"""Divide examples into parts: at random, by group, by time, or so that every part has its share of every label.

Every function returns the name of each example's part, for `Dataset.with_split`; the same seed gives the same parts.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.data.dataset import label_matrix

__all__ = [
    "iterative_stratification",
    "label_deviation",
    "split_at_random",
    "split_at_times",
    "split_by_group",
    "split_by_time",
]

Names = npt.NDArray[np.str_]


def iterative_stratification(labels: Any, parts: Mapping[str, float], *, groups: Any = None, seed: int = 0) -> Names:
    """Divide examples so that every part gets its share of every label, the rarest labels first.

    The algorithm of Sechidis, Tsoumakas and Vlahavas (2011), in compiled code. With groups, whole groups are assigned.

    Parameters
    ----------
    labels
        Bool or 0/1 array, or sparse matrix, (n_examples, n_labels).
    parts
        The share of each part; shares are divided by their sum.
    groups
        What each example belongs to and stays together with, (n_examples,).
    seed
        Decides the order of examples and between parts that want an example equally.

    Returns
    -------
    array of str (n_examples,)

    Examples
    --------
    >>> split = iterative_stratification([[1, 0], [1, 0], [1, 1], [1, 1]], {"train": 1, "test": 1})
    >>> sorted(split[:2].tolist()), sorted(split[2:].tolist())
    (['test', 'train'], ['test', 'train'])
    """
    from labelproof.data.stratification_kernels import stratify

    matrix = label_matrix(labels).astype(np.int64)
    names, share = _shares(parts)
    group_of, sizes = _group(groups, matrix.shape[0])
    if groups is not None:
        members = (np.ones(len(group_of), np.int64), (group_of, np.arange(len(group_of))))
        matrix = scipy.sparse.csr_array(members, shape=(len(sizes), len(group_of))) @ matrix
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(sizes))
    # large groups first, while parts can still make up for them
    order = order[np.argsort(-sizes[order], kind="stable")]
    by_label = matrix[order].tocsc()
    by_label.sort_indices()
    assigned, wanted = stratify(
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int64),
        matrix.data,
        sizes,
        by_label.indptr.astype(np.int64),
        order[by_label.indices].astype(np.int64),
        share,
        rng.random(len(sizes)),
    )
    _fill(assigned, wanted, sizes, order[assigned[order] < 0])
    return names[assigned[group_of]]


def split_at_random(n_examples: int, parts: Mapping[str, float], *, seed: int = 0) -> Names:
    """Divide examples at random; the sizes of the parts differ from their shares by at most one example.

    Parameters
    ----------
    n_examples
        How many there are.
    parts
        The share of each part by its name; they sum to 1.
    seed
        Of the random order.

    Returns
    -------
    array of str (n_examples,)
        The part of each example.

    Examples
    --------
    >>> split_at_random(5, {"train": 0.8, "test": 0.2}).tolist().count("train")
    4
    """
    names, share = _shares(parts)
    ends = np.rint(np.cumsum(share) * n_examples).astype(np.int64)
    split = np.empty(n_examples, np.int64)
    split[np.random.default_rng(seed).permutation(n_examples)] = np.searchsorted(ends, np.arange(n_examples), "right")
    return names[split]


def split_by_group(groups: Any, parts: Mapping[str, float], *, seed: int = 0) -> Names:
    """Divide examples so that those of one group stay together; labels are not looked at.

    Parameters
    ----------
    groups
        What each example belongs to, (n_examples,), such as the patient or the source package.
    parts
        The share of each part of the examples.
    seed
        Decides the order of groups of one size; the largest are assigned first, each where most is wanted.

    Examples
    --------
    >>> split = split_by_group(["a", "b", "a", "c"], {"train": 0.75, "test": 0.25})
    >>> bool(split[0] == split[2]), sorted(split.tolist()).count("train")
    (True, 3)
    """
    names, share = _shares(parts)
    group_of, sizes = _group(groups, len(groups))
    order = np.random.default_rng(seed).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    assigned = np.full(len(sizes), -1, np.int64)
    _fill(assigned, share * len(group_of), sizes, order)
    return names[assigned[group_of]]


def split_by_time(times: Any, parts: Mapping[str, float]) -> Names:
    """Divide examples by time, the oldest into the first part; those of one time stay together.

    Parameters
    ----------
    times
        The time of every example, (n_examples,): numbers, dates, or text such as 2025-08-01. Text that consists of
        whole numbers has their order.
    parts
        The share of each part of the examples, in the order of time.

    Examples
    --------
    >>> split_by_time([2001, 2003, 2002, 2002], {"train": 0.5, "test": 0.5}).tolist()
    ['train', 'test', 'train', 'train']
    """
    names, share = _shares(parts)
    _, moment_of, counts = np.unique(_moments(times), return_inverse=True, return_counts=True)
    before = np.cumsum(counts) - counts
    ends = np.cumsum(share) * len(moment_of)
    ends[-1] = np.inf
    return names[np.searchsorted(ends - 1e-9, before, "right")[moment_of]]


def split_at_times(times: Any, starts: Mapping[str, Any]) -> Names:
    """Divide examples at given times.

    Parameters
    ----------
    times
        The time of every example, (n_examples,), as for `split_by_time`.
    starts
        The first time of every part, in order; None for the first part, which has all before.

    Examples
    --------
    >>> split_at_times(["2025-07-31", "2025-08-01"], {"train": None, "test": "2025-08-01"}).tolist()
    ['train', 'test']
    """
    moments, cuts = _moments(times), _moments(list(starts.values())[1:])
    is_first_open = [cut is None for cut in starts.values()] == [True, *(False for _ in cuts)]
    if not is_first_open or (np.sort(cuts) != cuts).any():
        raise ValueError(f"starts must be None for the first part and ascend from there, got {dict(starts)}")
    part = np.zeros(len(moments), np.int64)
    for cut in cuts:
        part += moments >= cut
    return np.array(list(starts))[part]


def label_deviation(labels: Any, split: Any) -> float:
    """Return how far the odds of labels in the parts are from those in all examples, on average.

    The measure LD of Sechidis, Tsoumakas and Vlahavas (2011): the mean over labels and parts of the absolute
    difference of the odds (examples with the label over examples without it).

    Parameters
    ----------
    labels
        0/1 array or sparse matrix (n_examples, n_labels).
    split
        Names of the parts (n_examples,).

    Examples
    --------
    >>> Y = [[1], [1], [0], [0]]
    >>> label_deviation(Y, ["a", "b", "a", "b"]), label_deviation(Y, ["a", "a", "a", "b"])
    (0.0, 1.0)
    """
    matrix = scipy.sparse.csr_array(labels)
    split = np.asarray(split)
    whole = _odds(matrix)
    parts = [_odds(matrix[np.flatnonzero(split == name)]) for name in np.unique(split)]
    return float(np.mean([np.abs(part - whole) for part in parts]))


def _odds(matrix: Any) -> npt.NDArray[np.float64]:
    with_label = np.asarray(matrix.astype(np.int64).sum(axis=0), np.float64).ravel()
    return with_label / np.maximum(matrix.shape[0] - with_label, 1)


def _moments(times: Any) -> npt.NDArray[Any]:
    """Return times in a form that has their order: text of whole numbers, of which 9 comes before 10, as numbers."""
    moments = np.asarray(times)
    if moments.dtype.kind == "U" and moments.dtype.itemsize <= 4 * 18 and np.char.isdecimal(moments).all():
        return moments.astype(np.int64)
    return moments


def _shares(parts: Mapping[str, float]) -> tuple[Names, npt.NDArray[np.float64]]:
    share = np.array(list(parts.values()), np.float64)
    if not len(share) or not np.isfinite(share).all() or (share <= 0).any():
        raise ValueError(f"parts must name positive shares, as in {{'train': 0.8, 'test': 0.2}}, got {dict(parts)}")
    return np.array(list(parts)), share / share.sum()


def _group(groups: Any, n_examples: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the number of each example's group, and the sizes of the groups."""
    if groups is None:
        return np.arange(n_examples), np.ones(n_examples, np.int64)
    if len(groups) != n_examples:
        raise ValueError(f"groups must hold {n_examples} examples to match labels, got {len(groups)}")
    _, group_of, sizes = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    return group_of.astype(np.int64), sizes.astype(np.int64)


def _fill(
    assigned: npt.NDArray[np.int64],
    wanted: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.int64],
    units: npt.NDArray[np.int64],
) -> None:
    """Assign these units, one after the other, to the part that wants most examples."""
    wanted = wanted.copy()
    for unit in units:
        part = int(np.argmax(wanted))
        assigned[unit] = part
        wanted[part] -= sizes[unit]
