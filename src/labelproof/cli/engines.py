"""The engine that a command line asks for, connected before there is any work."""

from labelproof.foundation.engines import Engine, require_engine

__all__ = ["connected"]


def connected(engine: str, address: str | None) -> Engine:
    """Return the engine of ``--engine``, connected to the cluster of ``--address``; refuse what does not fit."""
    if address is not None and engine != "ray":
        raise ValueError("--address goes with --engine ray")
    known = require_engine(engine)
    if known == "ray":
        from labelproof.foundation.on_ray import connect

        connect(address)
    return known
