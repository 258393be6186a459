"""Check that stored symbols are a code: by counting the ones that rows share, or by comparison with the definition."""

import numpy as np
import numpy.typing as npt

from labelproof.errors import CertificateError
from labelproof.theory.codes import Code, codewords

__all__ = ["covered_ones", "list_columns"]

MOST_STEPS = 4 * 10**9  # of counting; larger codes are compared with their definition


def list_columns(
    symbols: npt.NDArray[np.integer], q: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the columns of the ones of each row, the rows of each column one after the other, and where each ends.

    Examples
    --------
    >>> list_columns(np.array([[0, 1], [0, 0]]), q=2)
    (array([[0, 3],
           [0, 2]], dtype=int32), array([0, 1, 1, 0], dtype=int32), array([0, 2, 2, 3, 4], dtype=int32))
    """
    length = symbols.shape[1]
    ones = symbols.astype(np.int32) + np.arange(0, q * length, q, dtype=np.int32)  # (n, length)
    rows = (np.argsort(ones, axis=None, kind="stable") // length).astype(np.int32)
    ends = np.concatenate([[0], np.cumsum(np.bincount(ones.ravel(), minlength=q * length))])
    return ones, rows, ends.astype(np.int32)


def covered_ones(symbols: npt.NDArray[np.integer], code: Code, k: int) -> int:
    """Return how many ones of a row any k other rows can cover at most; fewer than ``code.length`` prove k.

    Where counting would take too long, the symbols must be those of `codewords`, whose bound is then returned.

    Parameters
    ----------
    symbols : ndarray of int (n_labels, length)
        As they are stored.
    code : Code
        What they should be.
    k : int
        Number of other rows.

    Raises
    ------
    CertificateError
        If the symbols are not from 0 to q - 1, or too many to be counted and not the code's.

    Examples
    --------
    >>> code = Code(q=5, coefficients=2, length=4)
    >>> covered_ones(codewords(20, code), code, k=3)
    3
    """
    n = len(symbols)
    if symbols.shape != (n, code.length) or not ((symbols >= 0) & (symbols < code.q)).all():
        raise CertificateError(
            f"symbols: expected {code.length} for each label, from 0 to {code.q - 1}, got others {symbols.shape}"
        )
    if n * code.length * n // code.q > MOST_STEPS:
        if not np.array_equal(symbols, codewords(n, code)):
            raise CertificateError(f"symbols: expected those of {code}, got others, and too many rows to compare")
        return k * (code.coefficients - 1)
    from labelproof.theory.code_kernels import most_covered

    ones, rows, ends = list_columns(symbols, code.q)
    return int(most_covered(ones, rows, ends, min(k, n - 1))[-1])
