"""Write files and folders in one step: whoever looks sees what was there before, or all of the new, at every moment.

What is written goes to a *draft* beside its place, then to the disk, and then takes the name. A process that is killed
leaves at most a draft, whose name begins with a dot and ends in ``.part``; writing to the same place a day later
removes it. A folder that is replaced is away for the moment between two renames: a process that is killed just there
leaves it under a name that ends in ``.old``, from which `recover` brings it back.
"""

import errno
import glob
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

__all__ = ["link_files", "recover", "remove_folder", "replacing", "replacing_path", "write_folder", "write_text"]

A_DAY = 86_400.0  # whoever has not written to a draft for so long is dead
ATTEMPTS = 10
NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO)

PathLike = str | os.PathLike[str]


@contextmanager
def replacing(path: PathLike) -> Iterator[IO[bytes]]:
    """Open a new file that takes the place of another once it is complete.

    Parameters
    ----------
    path
        Of the file, in a folder that exists.

    Yields
    ------
    binary stream
        To write to. If anything is raised, the file stays as it was, or absent.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "a"
    ...     with replacing(place) as stream:
    ...         _ = stream.write(b"new")
    ...         before = place.exists()
    ...     before, place.read_bytes()
    (False, b'new')
    """
    with replacing_path(path) as draft, open(draft, "xb") as stream:
        yield stream


@contextmanager
def replacing_path(path: PathLike) -> Iterator[Path]:
    """Give the path of a draft, for writers that open files themselves; it then takes the place of a file.

    Parameters
    ----------
    path
        Of the file, in a folder that exists.

    Raises
    ------
    OSError
        With the name of the file, such as for a full disk, of which Python says no name.
    """
    place = Path(path)
    draft = _draft(place)
    try:
        yield draft
        _to_disk(draft)
        os.replace(draft, place)
        _to_disk(place.parent)
    except OSError as error:
        if error.errno in NO_ROOM or error.filename == os.fspath(draft):
            raise _told(place, error) from error
        raise
    finally:
        with suppress(OSError):  # a file system that cannot be written says so even of a draft that is not there
            draft.unlink()


def write_text(path: PathLike, text: str, *, errors: str = "strict") -> None:
    """Write a text in UTF-8 in one step; line ends stay as they are.

    Parameters
    ----------
    path
        Of the file, in a folder that exists.
    text
        What it shall hold.
    errors
        What becomes of characters that UTF-8 does not have, as in `str.encode`.
    """
    data = text.encode("utf-8", errors)
    with replacing(path) as stream:
        stream.write(data)


def write_folder(
    path: PathLike,
    write: Callable[[Path], None],
    *,
    may_replace: Callable[[Path], bool],
    what: str,
    replaced: Callable[[str], bool] = lambda _: True,
) -> None:
    """Write a folder in one step.

    Parameters
    ----------
    path
        Of the folder. Folders above it are made.
    write
        Writes all files into the empty folder that it is given. Whatever it raises, nothing is left of its work.
    may_replace
        Says whether the folder that is at ``path`` already may be replaced; an empty one always is.
    what
        Such folders are called, such as "a model".
    replaced
        Says of a name in that folder whether it goes; what stays is kept beside the new files.

    Raises
    ------
    ValueError
        If something else is in the way.
    OSError
        If it cannot be written.
    """
    place = Path(path).resolve()  # of a link, what it points to
    recover(place)
    if place.exists() and not (place.is_dir() and (not any(place.iterdir()) or may_replace(place))):
        raise ValueError(f"{place} is in the way: expected a free name, an empty folder or {what} to replace")
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft(place)
    try:
        draft.mkdir()
        write(draft)
        if place.exists():
            link_files(place, draft, but=replaced)
        for file in (*draft.rglob("*"), draft):
            _to_disk(file)
        _put_in_place(draft, place)
        _to_disk(place.parent)
    except OSError as error:
        raise _told(place, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def recover(path: PathLike) -> None:
    """Bring a folder back whose replacement was cut off between two renames; do nothing if it is there.

    Parameters
    ----------
    path
        Of the folder.
    """
    if "\0" in os.fspath(path):  # no file has such a name
        return
    place = Path(path).resolve()
    if place.exists():
        return
    aside = _beside(place, "old")
    if aside:
        with suppress(OSError):  # who looks for it will say that it is not there
            max(aside, key=lambda old: old.stat().st_mtime_ns).rename(place)


def remove_folder(path: PathLike) -> None:
    """Remove a folder in one step, if it is there: it becomes a draft first, so that nobody ever finds half of it.

    Parameters
    ----------
    path
        Of the folder.
    """
    place = Path(path)
    draft = _draft(place)
    with suppress(OSError):  # it is not there, or not ours
        place.rename(draft)
        shutil.rmtree(draft, ignore_errors=True)


def link_files(folder: Path, draft: Path, *, but: Callable[[str], bool]) -> None:
    """Let a draft have the files of a folder that it lacks, without copying where the file system can link.

    Parameters
    ----------
    folder
        With files and folders.
    draft
        Another folder.
    but
        Says of a path within the folder, such as ``"rules/a.json"``, whether to leave it out, with all that it holds.
    """
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        if (draft / name).is_file() or any(but(part.as_posix()) for part in (name, *name.parents[:-1])):
            continue
        if path.is_dir() and not path.is_symlink():
            (draft / name).mkdir(exist_ok=True)
            continue
        try:
            os.link(path, draft / name, follow_symlinks=False)
        except OSError:
            shutil.copy2(path, draft / name, follow_symlinks=False)


def _draft(place: Path) -> Path:
    """Return a new name beside a place, and remove drafts for it that processes left when they were killed."""
    for left in _beside(place, "part"):
        with suppress(OSError):  # it is gone, or not ours
            newest = max(one.lstat().st_mtime for one in (left, *left.rglob("*")))
            if newest < time.time() - A_DAY:
                left.unlink() if left.is_file() else shutil.rmtree(left)
    return place.with_name(f".{place.name}.{secrets.token_hex(8)}.part")


def _beside(place: Path, ending: str) -> list[Path]:
    return list(place.parent.glob(f".{glob.escape(place.name)}.{'[0-9a-f]' * 16}.{ending}"))


def _put_in_place(draft: Path, place: Path) -> None:
    """Rename a folder to a name that another may have; whoever reads meanwhile may bring that one back."""
    for left in reversed(range(ATTEMPTS)):
        before = place.with_name(f".{place.name}.{secrets.token_hex(8)}.old")
        if place.exists():
            place.rename(before)
        try:
            draft.rename(place)
            break
        except OSError:
            if before.exists() and not place.exists():
                before.rename(place)
            if not left:
                raise
    for aside in _beside(place, "old"):
        shutil.rmtree(aside, ignore_errors=True)


def _to_disk(path: Path) -> None:
    """Wait until a file or the names in a folder are on the disk, where the system can."""
    if path.is_symlink() or (os.name == "nt" and path.is_dir()):
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _told(place: Path, error: OSError) -> OSError:
    told = OSError(f"{place} cannot be written: {error.strerror or error}")
    told.errno = error.errno
    return told
