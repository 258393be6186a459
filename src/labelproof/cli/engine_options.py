"""The engine that a command line asks for, connected before there is any work."""

import sys
from dataclasses import dataclass
from threading import get_ident
from typing import Any, TextIO

from labelproof.cli.options import Address, EngineName
from labelproof.foundation.engines import Engine, require_engine

__all__ = ["EngineOptions"]


@dataclass(frozen=True)
class EngineOptions:
    """Where to run."""

    engine: EngineName = "local"
    address: Address = None

    def connected(self) -> Engine:
        """Return the engine, connected to the cluster of ``--address``; refuse what does not fit."""
        if self.address is not None and self.engine != "ray":
            raise ValueError("--address goes with --engine ray")
        known = require_engine(self.engine)
        if known == "ray":
            from labelproof.foundation.on_ray import connect

            connect(self.address)
            sys.stdout = _OfThisThread(sys.stdout)
        return known


class _OfThisThread:
    """Standard output for one thread; what others print goes to standard error.

    Ray prints there when a worker dies, from a thread of its own, which would end up within the results.
    """

    def __init__(self, out: TextIO) -> None:
        self._out, self._thread = out, get_ident()

    def write(self, text: str) -> int:
        """Write to the stream for this thread."""
        return (self._out if get_ident() == self._thread else sys.stderr).write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._out, name)
