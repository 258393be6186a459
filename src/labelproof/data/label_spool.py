"""Label sets of files larger than memory: read once in blocks, matched, and kept in a scratch file meanwhile.

Read in blocks are sparse matrices in .npz files, 0/1 matrices in .npy files, and lists in .jsonl and .txt files. What
else `read_label_file` takes is read as a whole first, and so are lists whose labels are named by numbers, since all of
them together tell what a number means.
"""

import os
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.data.label_columns import read_label_rows
from labelproof.data.label_files import iter_json_rows, kind_of, read_label_file, read_text_lines
from labelproof.data.label_matching import LabelLists, MatchedSets, match_lists
from labelproof.data.textfile import require_file
from labelproof.errors import DataFormatError
from labelproof.foundation.array_files import MAX_BYTES, read_array, read_form, told_in_one_sentence
from labelproof.proof.labels import LabelSets, read_label_sets

__all__ = ["label_sets_on_disk"]

Array = npt.NDArray[Any]
NUMBERS_AT_ONCE = 1 << 22  # of a matrix
SETS_AT_ONCE = 20_000  # of a text


class _WholeFileNeededError(Exception):
    """The file says things that only all of it together can tell."""


def label_sets_on_disk(
    source: str | os.PathLike[str],
    n_labels: int,
    *,
    label_names: Sequence[str] | None = None,
    part: str | None = None,
    columns: Sequence[str] = (),
    scratch: str | os.PathLike[str] | None = None,
) -> MatchedSets:
    r"""Read label sets as `read_label_file` does, but keep them in a file that has no name and ends with the process.

    Parameters
    ----------
    source, label_names, part, columns
        As for `labelproof.data.read_label_file`.
    n_labels
        How many labels the model has.
    scratch
        Folder of the scratch file, which takes four bytes per label and eight per set; default that of temporary files.

    Returns
    -------
    MatchedSets
        Its ``sets`` are memory-mapped.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "sets.txt")
    ...     _ = path.write_text("2 0\n\n1\n")
    ...     found = label_sets_on_disk(path, 3)
    >>> [active.tolist() for active in found.sets]
    [[0, 2], [], [1]]
    """
    path = Path(source)
    blocks = None if part is not None else _blocks(path, n_labels, label_names, columns)
    if blocks is not None:
        try:
            sets = _spooled(blocks, n_labels, scratch)
            return MatchedSets(sets, None if label_names is None else tuple(label_names))
        except _WholeFileNeededError:
            pass
        except ValueError as error:
            raise DataFormatError(f"{path.name}: {error}") from error
    return read_label_file(source, label_names=label_names, n_labels=n_labels, part=part, columns=columns)


def _blocks(
    path: Path, n_labels: int, names: Sequence[str] | None, columns: Sequence[str]
) -> Iterator[LabelSets] | None:
    """Return a reader of blocks, or None if there is none for this file."""
    kind = kind_of(path) if path.is_file() else None
    by_number = names is not None and any(name.isdecimal() for name in names)
    if kind == ".npy":
        return _rows_of_matrix(path, n_labels)
    if kind == ".npz":
        return _sparse_rows(path, n_labels, by_number)
    if kind == ".txt" and not by_number:
        return _lists(path, iter(read_text_lines(path)), n_labels, names)
    if kind in (".jsonl", ".ndjson") and not by_number:
        return _json_lists(path, n_labels, names, columns)
    return None


def _spooled(blocks: Iterator[LabelSets], n_labels: int, scratch: str | os.PathLike[str] | None) -> LabelSets:
    """Write blocks one after the other to scratch files, and map these."""
    with tempfile.TemporaryFile(dir=scratch) as ends, tempfile.TemporaryFile(dir=scratch) as labels:
        total = 0
        np.zeros(1, np.int64).tofile(ends)
        for block in blocks:
            (block.indptr[1:] + total).tofile(ends)
            block.indices.astype(np.int32).tofile(labels)
            total += len(block.indices)
        return LabelSets(n_labels, _mapped(ends, np.int64), _mapped(labels, np.int32))


def _mapped(file: IO[bytes], dtype: type) -> Array:
    file.flush()
    size = os.fstat(file.fileno()).st_size
    return np.memmap(file, dtype, mode="r") if size else np.empty(0, dtype)


# Lists


def _lists(
    path: Path, rows: Iterator[tuple[list[str], str]], n_labels: int, names: Sequence[str] | None
) -> Iterator[LabelSets]:
    while some := list(islice(rows, SETS_AT_ONCE)):
        lists = LabelLists([active for active, _ in some], [place for _, place in some])
        yield match_lists(lists, names, n_labels, source=path.name).sets


def _json_lists(path: Path, n_labels: int, names: Sequence[str] | None, columns: Sequence[str]) -> Iterator[LabelSets]:
    rows = iter_json_rows(path)
    head = list(islice(rows, 1))  # which tells how to read the others
    lists = read_label_rows(head, path.name, names, columns, None)
    if not isinstance(lists, LabelLists):
        raise _WholeFileNeededError
    while lists.sets:
        yield match_lists(lists, names, n_labels, source=path.name).sets
        some = list(islice(rows, SETS_AT_ONCE))
        lists = cast(LabelLists, read_label_rows([*head, *some], path.name, names, columns, None))
        lists = LabelLists(lists.sets[1:], lists.places[1:])


# Arrays


def _rows_of_matrix(path: Path, n_labels: int) -> Iterator[LabelSets]:
    require_file(path)
    with open(path, "rb") as stream:
        shape, by_column, dtype = read_form(stream, path.stat().st_size, path.name)
        if len(shape) != 2 or by_column:
            raise _WholeFileNeededError
        step = max(1, NUMBERS_AT_ONCE // max(1, shape[1]))
        for start in range(0, shape[0], step):
            height = min(step, shape[0] - start)
            numbers = np.fromfile(stream, dtype, height * shape[1]).reshape(height, shape[1])
            yield read_label_sets(numbers.astype(dtype.newbyteorder("="), copy=False), n_labels)


def _sparse_rows(path: Path, n_labels: int, by_number: bool) -> Iterator[LabelSets]:
    """Yield rows of a CSR matrix as scipy saves it, or of index lists, which have no matrix to them."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError) as error:
        raise _WholeFileNeededError from error  # whose reader says what is wrong
    with archive:
        names = {member.filename.removesuffix(".npy") for member in archive.infolist()} - {"_is_array"}
        is_matrix = names == {"format", "shape", "data", "indices", "indptr"}
        if is_matrix:
            is_matrix = _small(archive, "format", path).item() in (b"csr", "csr")
        if not is_matrix and (by_number or names != {"indices", "indptr"}):
            raise _WholeFileNeededError
        width = int(_small(archive, "shape", path)[1]) if is_matrix else n_labels
        with _Numbers(archive, "indices", path) as labels, _Numbers(archive, "data", path, is_matrix) as values:
            ends = _ends(_small(archive, "indptr", path), labels.length)
            for start in range(0, len(ends) - 1, SETS_AT_ONCE):
                some = ends[start : start + SETS_AT_ONCE + 1]
                count = int(some[-1] - some[0])
                block = values.take(count), labels.take(count), some - some[0]
                yield read_label_sets(scipy.sparse.csr_array(block, (len(some) - 1, width)), n_labels)


def _small(archive: zipfile.ZipFile, name: str, path: Path) -> Array:
    with told_in_one_sentence(path.name):
        member = archive.getinfo(f"{name}.npy")
        if member.file_size > MAX_BYTES:
            raise DataFormatError(f"{path.name}: expected at most {MAX_BYTES} bytes of {name}, got {member.file_size}")
        with archive.open(member) as stream:
            return read_array(stream, member.file_size, f"{path.name}: {name}")


def _ends(indptr: Array, length: int) -> npt.NDArray[np.int64]:
    ascends = indptr.ndim == 1 and len(indptr) > 0 and indptr.dtype.kind in "iu" and (indptr[1:] >= indptr[:-1]).all()
    if not ascends or indptr[0] != 0 or indptr[-1] != length:
        raise ValueError(f"expected indptr to ascend from 0 to {length}")
    return indptr.astype(np.int64)


class _Numbers:
    """A list of numbers in an .npz file, read from the beginning piece by piece; ones where there is none."""

    def __init__(self, archive: zipfile.ZipFile, name: str, path: Path, is_there: bool = True) -> None:
        self._stream: IO[bytes] | None = None
        self._path, self._dtype, self.length = path, np.dtype(np.bool_), 0
        if is_there:
            with told_in_one_sentence(path.name):
                member = archive.getinfo(f"{name}.npy")
                self._stream = archive.open(member)
                shape, _, self._dtype = read_form(self._stream, member.file_size, f"{path.name}: {name}")
            if len(shape) != 1 or (name == "indices" and self._dtype.kind not in "iu"):
                raise ValueError(f"expected a list of integers as {name}, got shape {shape}")
            self.length = shape[0]

    def __enter__(self) -> "_Numbers":
        return self

    def __exit__(self, *error: object) -> None:
        if self._stream is not None:
            self._stream.close()

    def take(self, count: int) -> Array:
        """Return the next so many numbers."""
        if self._stream is None:
            return np.ones(count, np.bool_)
        with told_in_one_sentence(self._path.name):
            content = self._stream.read(count * self._dtype.itemsize)
            numbers = np.frombuffer(bytearray(content), self._dtype)
            if len(numbers) != count:
                raise ValueError(f"expected {count} more numbers, got {len(numbers)}")
            return numbers.astype(self._dtype.newbyteorder("="), copy=False)
