"""Targets in any form that users have, as one dense tensor or as the places of the positive labels.

A loss reads its targets here once. Sparse targets stay sparse: nothing of the logits' size is made from them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from struct import error as struct_error
from struct import pack_into
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import scipy.sparse
import torch
from torch import Tensor

from labelproof.activations.on_cpu import is_wrapped
from labelproof.losses.reduction import on_device_of
from labelproof.losses.target_kernels import find_out_of_range, inspect_rows
from labelproof.parallel.dispatch import share

__all__ = [
    "SparseTargets",
    "as_rows",
    "check_range",
    "is_class_indices",
    "promote",
    "read_class_indices",
    "read_targets",
]

Array = npt.NDArray[Any]
_PRECISIONS = torch.float32, torch.float64  # in which losses are computed


@dataclass(frozen=True, eq=False)
class SparseTargets:
    """0/1 targets as the places of their ones, sorted by row: example ``rows[p]`` has the label ``columns[p]``.

    The labels of example i are ``columns[indptr[i]:indptr[i + 1]]``. All tensors are int64 on the logits' device.
    """

    indptr: Tensor  # (n_examples + 1,)
    rows: Tensor  # (n_positives,)
    columns: Tensor  # (n_positives,)
    n_examples: int
    n_labels: int

    @cached_property
    def arrays(self) -> tuple[Array, Array]:
        """The row ends and the columns, of targets on the CPU."""
        return self.indptr.numpy(), self.columns.numpy()


class _ReadTargets(SparseTargets):
    """Targets on the CPU that were read into arrays, of which tensors are made where a loss asks for them."""

    def __init__(self, ends: Array, columns: Array, shape: Sequence[int]) -> None:
        own = self.__dict__  # since the fields cannot be set
        own["arrays"], own["n_examples"], own["n_labels"] = (ends, columns), *shape

    @cached_property
    def indptr(self) -> Tensor:
        return torch.from_numpy(self.arrays[0])

    @cached_property
    def columns(self) -> Tensor:
        return torch.from_numpy(self.arrays[1])

    @cached_property
    def rows(self) -> Tensor:
        return torch.from_numpy(_rows(self.arrays[0]))


def as_rows(tensor: Tensor) -> Tensor:
    """Return (..., n_labels) as (n, n_labels): the tensor itself where it is that, without a step in the graph.

    Examples
    --------
    >>> as_rows(torch.zeros(2, 3, 4)).shape
    torch.Size([6, 4])
    """
    return tensor if tensor.ndim == 2 else tensor.reshape(-1, tensor.shape[-1])


def promote(logits: Tensor) -> Tensor:
    """Return the logits in the precision in which losses are computed: float64 as they are, all else in float32.

    Examples
    --------
    >>> promote(torch.zeros(2, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        raise ValueError(f"logits must be a floating-point tensor, got {_kind(logits)}")
    if logits.ndim == 0 or logits.shape[-1] == 0:
        raise ValueError(f"logits must have shape (..., n_labels) with at least one label, got {_shape(logits)}")
    return logits if logits.dtype in _PRECISIONS else logits.float()


def is_class_indices(logits: Tensor, targets: Any) -> bool:
    """Return whether the targets are a tensor (or array) with one dimension less than the logits."""
    return isinstance(targets, Tensor | np.ndarray) and targets.ndim == logits.ndim - 1


def read_class_indices(
    logits: Tensor, targets: Tensor | np.ndarray[Any, Any], *, ignore_index: int = -100
) -> tuple[Tensor, Tensor | None]:
    """Read one class index for each row of logits.

    Parameters
    ----------
    logits
        Tensor of shape (..., n_labels).
    targets
        Integer tensor or array of shape (...,), with values from 0 to n_labels - 1, or `ignore_index` for no class.

    Returns
    -------
    indices, ignored
        int64 tensor of shape (...,) on the logits' device, 0 for no class; and where there is none, or None where each
        row has one.

    Examples
    --------
    >>> read_class_indices(torch.zeros(2, 5), torch.tensor([4, 0]))
    (tensor([4, 0]), None)
    >>> read_class_indices(torch.zeros(2, 5), torch.tensor([4, -100]))
    (tensor([4, 0]), tensor([False,  True]))
    """
    indices = torch.as_tensor(targets, device=logits.device)
    if indices.shape != logits.shape[:-1] or indices.is_floating_point() or indices.dtype == torch.bool:
        raise ValueError(
            f"targets must be integer class indices of shape {_shape(logits[..., 0])} to match logits "
            f"{_shape(logits)}, got {indices.dtype} of shape {_shape(indices)}"
        )
    indices, n_labels = indices.long(), logits.shape[-1]
    if torch.compiler.is_compiling() or is_wrapped(indices):
        without = indices == ignore_index
        return indices.masked_fill(without, 0), without
    if indices.numel() == 0:
        return indices, None
    ignored: Tensor | None = None
    low, high = _range(indices)
    if low <= ignore_index <= high:
        ignored = indices == ignore_index
        indices = indices.masked_fill(ignored, 0)
        low, high = _range(indices)
    if low < 0 or high >= n_labels:
        _refuse_labels(low, high, n_labels)
    return indices, ignored


def read_targets(logits: Tensor, targets: Any, *, unchecked: bool = False) -> Tensor | SparseTargets:
    """Read targets that say for each example which labels it has.

    Parameters
    ----------
    logits
        Floating-point tensor of shape (..., n_labels).
    targets
        One of: a tensor or array of the logits' shape, with values from 0 to 1; and, for logits of shape
        (n_examples, n_labels): a list (or tuple) with one sequence of active label indices for each example; a scipy
        sparse matrix or a torch sparse CSR tensor of that shape, with values 0 and 1; or ``SparseTargets``.
    unchecked
        Whether to leave the range of dense targets to the caller, who reads them anyway.

    Returns
    -------
    Tensor or SparseTargets
        Dense targets in the precision in which losses are computed, or the places of the ones.

    Examples
    --------
    >>> logits = torch.zeros(2, 4)
    >>> read_targets(logits, [[3, 1], []]).columns
    tensor([1, 3])
    >>> read_targets(logits, torch.eye(2, 4, dtype=torch.bool)).dtype
    torch.float32
    """
    if isinstance(targets, Tensor):
        return _read_tensor(logits, targets, unchecked)
    if isinstance(targets, SparseTargets):
        _check_sparse_shape(logits, (targets.n_examples, targets.n_labels))
        return targets
    if isinstance(targets, list | tuple):
        return _read_lists(logits, targets)
    if isinstance(targets, np.ndarray):
        return _read_dense(logits, on_device_of(logits, targets), unchecked)
    if scipy.sparse.issparse(targets):
        csr = scipy.sparse.csr_array(targets)
        return _read_csr(logits, csr.indptr, csr.indices, csr.data, csr.shape)
    raise ValueError(
        f"targets must be a tensor, an array, a list of index lists or a sparse matrix, got {_kind(targets)}"
    )


def check_range(targets: Tensor) -> None:
    """Refuse dense targets that do not lie between 0 and 1; torch.compile and torch.func take them as they are."""
    if targets.numel() == 0 or torch.compiler.is_compiling() or is_wrapped(targets) or _is_in_range(targets):
        return
    low, high = _range(targets.detach())
    if not (low >= 0 and high <= 1):  # NaN fails both
        raise ValueError(f"targets must lie between 0 and 1, got values from {low:g} to {high:g}")


def _is_in_range(targets: Tensor) -> bool:
    """Return whether the compiled loop has seen that all is well."""
    if targets.device.type != "cpu" or not targets.is_contiguous():
        return False
    values, faults = targets.detach().view(-1).numpy(), np.zeros(1, np.int64)
    options = {"n_items": values.size, "n_numbers": values.size, "n_threads": torch.get_num_threads()}
    share(find_out_of_range, values, faults, **options)
    return not faults[0]


def _read_tensor(logits: Tensor, targets: Tensor, unchecked: bool) -> Tensor | SparseTargets:
    if targets.layout == torch.strided:
        return _read_dense(logits, on_device_of(logits, targets), unchecked)
    if targets.layout != torch.sparse_csr:
        raise ValueError(f"targets must be dense or in the layout torch.sparse_csr, got {targets.layout}")
    parts = (targets.crow_indices(), targets.col_indices(), targets.values().double())
    ends, columns, values = (part.detach().cpu().numpy() for part in parts)
    return _read_csr(logits, ends, columns, values, targets.shape)


def _read_dense(logits: Tensor, targets: Tensor, unchecked: bool) -> Tensor:
    if targets.shape != logits.shape:
        raise ValueError(f"targets must have the shape of logits {_shape(logits)}, got {_shape(targets)}")
    kind = logits.dtype if logits.dtype in _PRECISIONS else torch.float32
    values = targets if targets.dtype == kind else targets.to(kind)
    if not unchecked and targets.dtype != torch.bool:
        check_range(values)
    return values


def _read_lists(logits: Tensor, lists: Sequence[Any]) -> SparseTargets:
    if logits.ndim != 2 or len(lists) != len(logits):
        _check_sparse_shape(logits, (len(lists), logits.shape[-1]))
    try:
        ends = [*accumulate(map(len, lists), initial=0)]
    except TypeError:
        message = "targets as a list must hold one sequence of label indices for each example, got bare values"
        raise ValueError(message) from None
    try:
        numbers = np.empty(len(ends) + ends[-1], np.int64)
        pack_into(f"{len(numbers)}q", numbers, 0, *ends, *chain.from_iterable(lists))  # type: ignore[arg-type]
    except (TypeError, struct_error):
        message = "targets as a list must hold sequences of integer label indices, got something else"
        raise ValueError(message) from None
    return _sparse(logits, numbers[: len(ends)], numbers[len(ends) :])


def _read_csr(logits: Tensor, ends: Array, columns: Array, values: Array, shape: Sequence[int]) -> SparseTargets:
    _check_sparse_shape(logits, shape)
    kept = values != 0
    if not (values[kept] == 1).all():
        raise ValueError("targets in sparse form must have the values 0 and 1, got other values")
    if not kept.all():
        ends, columns = np.concatenate([[0], kept.cumsum()])[ends], columns[kept]
    return _sparse(logits, *(np.require(part, np.int64, ["C", "W"]) for part in (ends, columns)))


def _sparse(logits: Tensor, ends: Array, columns: Array) -> SparseTargets:
    """Sort each row's labels, refuse what is no label, and refuse a label that a row names twice; all is int64."""
    n_labels = logits.shape[1]
    are_labels, ascending = inspect_rows(ends, columns, n_labels)
    if not are_labels:
        _refuse_labels(columns.min(), columns.max(), n_labels)
    if not ascending:
        columns = _sort(_rows(ends), columns, n_labels)
    read = _ReadTargets(ends, columns, logits.shape)
    if logits.is_cpu:
        return read
    device = logits.device
    return SparseTargets(read.indptr.to(device), read.rows.to(device), read.columns.to(device), *logits.shape)


def _rows(ends: Array) -> Array:
    """Return the row of each column."""
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends))


def _sort(rows: Array, columns: Array, n_labels: int) -> Array:
    """Return the columns sorted within each row."""
    places = np.sort(rows * n_labels + columns)
    twice = places[1:][places[1:] == places[:-1]]
    if twice.size:
        row, label = divmod(int(twice[0]), n_labels)
        raise ValueError(f"targets must name a label once for each example, got label {label} twice in example {row}")
    return places % n_labels


def _check_sparse_shape(logits: Tensor, shape: Sequence[int]) -> None:
    if logits.ndim != 2 or logits.shape != shape:
        raise ValueError(
            f"targets in sparse form or as index lists must match logits of shape (n_examples, n_labels), "
            f"got {tuple(shape)} for logits {_shape(logits)}"
        )


def _range(values: Tensor) -> tuple[Any, Any]:
    low, high = torch.aminmax(values)
    return low.item(), high.item()


def _refuse_labels(low: Any, high: Any, n_labels: int) -> NoReturn:
    raise ValueError(f"targets must be label indices from 0 to {n_labels - 1}, got values from {low:d} to {high:d}")


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape)


def _kind(value: Any) -> str:
    return f"a tensor of {value.dtype}" if isinstance(value, Tensor) else type(value).__name__
