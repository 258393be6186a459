"""When the compiled loops stand in for plain torch, what they take, and how threads share their rows."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from labelproof.activations.on_cpu import is_wrapped
from labelproof.losses.targets import SparseTargets
from labelproof.parallel.threads import run_together

__all__ = ["applies", "over_rows", "row_blocks", "target_arrays"]

_ROWS_PER_BLOCK = 256  # sums over more rows than this are not left to float32
_WORTH_A_THREAD = 1 << 18  # logits; fewer take too little time to be handed over


def applies(logits: Tensor, *data: Tensor | SparseTargets) -> bool:
    """Return whether the loops can be used: float32 logits on the CPU that torch.compile and torch.func leave alone.

    Targets and weights must be data: their gradients are left to plain torch.
    """
    if torch.compiler.is_compiling() or logits.device.type != "cpu" or logits.dtype != torch.float32:
        return False
    tensors = [part for part in data if isinstance(part, Tensor)]
    return not any(map(is_wrapped, [logits, *tensors])) and not any(part.requires_grad for part in tensors)


def target_arrays(targets: Tensor | SparseTargets) -> tuple[Any, Any, Any]:
    """Return (rows, row ends, columns): dense rows and no columns, or columns and no rows."""
    if isinstance(targets, SparseTargets):
        return np.empty((0, targets.n_labels), np.float32), targets.indptr.numpy(), targets.columns.numpy()
    nothing = np.empty(0, np.int64)
    return targets.contiguous().numpy(), nothing, nothing


def row_blocks(n_rows: int, n_columns: int) -> list[tuple[int, int]]:
    """Return (start, stop) of blocks of rows: one for each thread that pays, and more where those would be long."""
    threads = max(1, min(torch.get_num_threads(), n_rows * n_columns // _WORTH_A_THREAD))
    n_blocks = max(1, threads, -(-n_rows // _ROWS_PER_BLOCK))
    bounds = [n_rows * b // n_blocks for b in range(n_blocks + 1)]
    return list(pairwise(bounds))


def over_rows(work: Callable[[int, int, int], None], blocks: list[tuple[int, int]]) -> None:
    """Call ``work(block, start, stop)`` for every block, in threads if torch uses some."""

    def every(first: int, step: int) -> None:
        for b in range(first, len(blocks), step):
            work(b, *blocks[b])

    threads = min(torch.get_num_threads(), len(blocks))
    if threads == 1:
        every(0, 1)
    else:
        run_together([partial(every, first, threads) for first in range(threads)])
