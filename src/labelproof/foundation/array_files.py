"""Read arrays from .npy and .npz files of unknown origin: within limits, and without pickles."""

import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from labelproof.errors import DataFormatError

__all__ = ["MAX_BYTES", "read_array", "read_arrays", "read_form", "told_in_one_sentence"]

Array = npt.NDArray[Any]
MAX_BYTES = 16 * 2**30
"""The most that the arrays of one file may take up in memory."""


def read_arrays(
    path: str | os.PathLike[str], *, only: set[str] | None = None, most_bytes: int | None = None
) -> dict[str, Array]:
    """Read the arrays of an .npz file, refusing pickles, damaged files, and sizes that are not those of the file.

    Parameters
    ----------
    path
        The file.
    only
        Names of the arrays to read; default: all.
    most_bytes
        That all arrays may take up together; default: `MAX_BYTES`.
    """
    name = Path(path).name
    most = MAX_BYTES if most_bytes is None else most_bytes
    with open(path, "rb") as stream, told_in_one_sentence(name), zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        size = sum(member.file_size for member in members)
        if size > most:
            raise DataFormatError(f"{name}: expected at most {most} bytes of arrays, got {size}")
        arrays = {}
        for member in members:
            key = member.filename.removesuffix(".npy")
            if key in arrays:
                raise DataFormatError(f"{name}: expected each array once, got {key!r} twice")
            if only is None or key in only:
                with archive.open(member) as inner:
                    arrays[key] = read_array(inner, member.file_size, f"{name}: {key}")
        return arrays


def read_array(stream: IO[bytes], size: int, name: str) -> Array:
    """Read one array in the .npy format that must fill a stream of this many bytes; pickles are refused."""
    with told_in_one_sentence(name):
        shape, by_column, dtype = read_form(stream, size, name)
        content = bytearray(stream.read(size - stream.tell()))
        array = np.frombuffer(content, dtype).reshape(shape, order="F" if by_column else "C")
        return array.astype(dtype.newbyteorder("="), copy=False)


def read_form(stream: IO[bytes], size: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read what stands before the numbers of such an array: its shape, whether columns come first, its dtype."""
    header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    with told_in_one_sentence(name):
        shape, by_column, dtype = header[np.lib.format.read_magic(stream)](stream)
        if dtype.hasobject:
            raise DataFormatError(f"{name}: expected plain numbers, got pickled Python objects, which are not read")
        expected = math.prod(shape) * dtype.itemsize
        if min(shape, default=0) < 0 or expected != size - stream.tell():
            raise DataFormatError(f"{name}: expected {expected} bytes for shape {shape}, got {size - stream.tell()}")
        return shape, by_column, dtype


@contextmanager
def told_in_one_sentence(name: str) -> Iterator[None]:
    """Turn whatever a damaged file does to a reader into one sentence."""
    try:
        yield
    except (DataFormatError, MemoryError):
        raise
    except Exception as error:
        what = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataFormatError(f"{name}: damaged, or not a file of this kind ({what})") from error
