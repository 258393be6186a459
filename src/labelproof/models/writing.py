"""A folder that is there complete, or as it was before: written beside its place, then renamed."""

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path

__all__ = ["write_folder"]


def write_folder(path: Path, write: Callable[[Path], None], *, may_replace: Callable[[Path], bool]) -> None:
    """Write a folder in one step.

    Parameters
    ----------
    path
        Of the folder. Folders above it are made.
    write
        Writes all files into the empty folder that it is given. Whatever it raises, nothing is left of its work.
    may_replace
        Says whether the folder that is at ``path`` already may be replaced; an empty one always is.

    Raises
    ------
    ValueError
        If something else is in the way.
    OSError
        If it cannot be written.
    """
    path = Path(path).resolve()  # of a link, what it points to
    if path.exists() and not (path.is_dir() and (not any(path.iterdir()) or may_replace(path))):
        raise ValueError(f"{path} is in the way: expected a free name, an empty folder or a model to replace")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    draft.mkdir()
    try:
        write(draft)
        for file in (*draft.rglob("*"), draft):
            _flush(file)
        _put_in_place(draft, path)
        _flush(path.parent)
    except OSError as error:  # such as a full disk, of which Python says no name
        raise OSError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _put_in_place(draft: Path, path: Path) -> None:
    if not path.exists():
        draft.rename(path)
        return
    before = path.with_name(f".{path.name}.{secrets.token_hex(8)}.old")
    path.rename(before)
    try:
        draft.rename(path)
    except OSError:
        before.rename(path)
        raise
    shutil.rmtree(before)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
