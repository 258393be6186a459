"""Say when numba compiles, since the first call after an installation waits for it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["announcing_compilation"]


@contextmanager
def announcing_compilation() -> Iterator[None]:
    """Say on standard error that the search is being compiled, at the moment when numba finds nothing in its cache."""
    from numba.core import event

    class Notice(event.Listener):
        told = False

        def on_start(self, event: Any) -> None:  # noqa: ARG002
            if not self.told:
                print("compiling the search, once for this installation …", file=sys.stderr, flush=True)
                self.told = True

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Notice()):
        yield
