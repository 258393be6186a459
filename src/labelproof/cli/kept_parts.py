"""Parts of a result that are done, kept beside the output until it is written: the same command goes on from there."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labelproof.foundation.writing import remove_folder

__all__ = ["kept_beside"]


@contextmanager
def kept_beside(output: Path | None) -> Iterator[Path | None]:
    """Give the name of a folder for parts, which is removed at the end; whatever ends the work earlier leaves it."""
    if output is None:
        yield None
        return
    place = output.resolve()
    folder = place.with_name(f".{place.name}.parts")
    try:
        yield folder
    except KeyboardInterrupt:
        if not folder.is_dir():
            raise
        raise KeyboardInterrupt(f"what is done is kept in {folder}; run the same command again to continue") from None
    remove_folder(folder)
