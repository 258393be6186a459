"""Refuse an output that could not be written, before the work is done."""

import os
from collections.abc import Sequence
from pathlib import Path

__all__ = ["require_free_file", "require_free_place", "require_writable_folder"]


def require_free_file(output: Path | None, inputs: Sequence[Path | None], name: str = "--output") -> None:
    """Refuse a file in a folder that does not exist, a folder in its place, and one of the inputs."""
    if output is None:
        return
    if not output.resolve().parent.is_dir() or output.is_dir():
        raise ValueError(f"{name} must be a file in a folder that exists, got {output}")
    _refuse_locked(output, name)
    _refuse_inputs(output, inputs, name)


def require_free_place(output: Path | None, inputs: Sequence[Path | None] = ()) -> None:
    """Refuse a file or folder below a folder that does not exist, and one of the inputs."""
    if output is None:
        return
    if not output.resolve().parent.is_dir():
        raise ValueError(f"--output must be in a folder that exists, got {output}")
    _refuse_locked(output, "--output")
    _refuse_inputs(output, inputs, "--output")


def require_writable_folder(output: Path) -> None:
    """Refuse a folder that cannot be made or written to; folders above it are made."""
    above = next(path for path in (output.absolute(), *output.absolute().parents) if path.exists())
    if not above.is_dir():
        raise ValueError(f"--output must be a folder, got {output}, where {above.name} is a file")
    if not os.access(above, os.W_OK | os.X_OK):
        raise ValueError(f"--output must be a folder that can be written, got {output}")


def _refuse_locked(output: Path, name: str) -> None:
    if not os.access(output.resolve().parent, os.W_OK | os.X_OK):
        raise ValueError(f"{name} must be in a folder that can be written, got {output}")


def _refuse_inputs(output: Path, inputs: Sequence[Path | None], name: str) -> None:
    if any(path is not None and path.exists() and output.resolve() == path.resolve() for path in inputs):
        raise ValueError(f"{name} must not be one of the inputs, got {output}")
