"""Features that are computed block by block, dense or sparse, put together."""

from typing import Any

import numpy as np
import scipy.sparse

__all__ = ["is_sparse", "stacked"]

WIDE = 2048  # features from which a block may be kept sparse
FEW = 0.1  # share of its numbers that then differ from 0


def is_sparse(block: Any) -> bool:
    """Return whether a dense block (n, d) is better kept as a sparse matrix.

    Examples
    --------
    >>> is_sparse(np.eye(3, 5000)), is_sparse(np.ones((3, 5000))), is_sparse(np.eye(3))
    (True, False, False)
    """
    return bool(block.ndim == 2 and block.shape[1] >= WIDE and np.count_nonzero(block) < FEW * block.size)


def stacked(blocks: list[Any]) -> Any:
    """Return blocks of rows as one matrix: an array, or CSR where one of them is sparse."""
    if any(scipy.sparse.issparse(block) for block in blocks):
        return scipy.sparse.vstack([scipy.sparse.csr_matrix(block) for block in blocks]).tocsr()
    return np.concatenate(blocks)
