"""Flint's working precision, which is one for the whole process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import flint

__all__ = ["working_bits"]

_LOCK = threading.RLock()


@contextmanager
def working_bits(bits: int) -> Iterator[None]:
    """Compute with this many bits, one thread at a time, then restore the precision.

    Examples
    --------
    >>> with working_bits(200):
    ...     flint.ctx.prec
    200
    """
    with _LOCK, flint.ctx.workprec(bits):
        yield
