"""Write data sets: JSON lines, npz, svmlight, the XMC repository's text format, and Parquet.

A file is written aside and then takes its place, so that it is there complete or not at all.
"""

import bz2
import gzip
import json
import lzma
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.data.arrays import arrays_of
from labelproof.data.dataset import Dataset
from labelproof.data.textfile import COMPRESSED, bare_name
from labelproof.foundation.optional_packages import need
from labelproof.foundation.writing import replacing, replacing_path

__all__ = ["ENDINGS", "save_dataset"]

ENDINGS = {
    ".jsonl": "jsonl",
    ".npz": "npz",
    ".parquet": "parquet",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".txt": "xmc",
}
BATCH_ROWS = 4096


def save_dataset(data: Dataset, path: str | os.PathLike[str], *, format: str | None = None) -> list[Path]:  # noqa: A002
    """Write a data set to a file.

    Parameters
    ----------
    data
        The data set.
    path
        The file. JSON lines, svmlight and XMC files are compressed if its name ends in .gz, .bz2 or .xz.
    format
        ``jsonl``, ``npz``, ``parquet``, ``svmlight`` or ``xmc``; by default the file's name tells. Only npz keeps
        everything (but the counts in `dropped`), the order of labels and those that do not occur included. svmlight
        and XMC hold features and have labels by number, so that a second file ``*.labels.txt`` with the names of the
        labels is written beside them. Where both are replaced, a process that is killed between the two leaves no
        data, rather than data with other names.

    Returns
    -------
    list of Path
        The files that were written.

    Examples
    --------
    >>> import tempfile
    >>> from labelproof.data import load_dataset
    >>> data = Dataset(scipy.sparse.csr_array([[1, 0], [1, 1]]), ("bird", "cat"), texts=("a robin", "a hunt"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = save_dataset(data, f"{folder}/animals.jsonl.gz")
    ...     load_dataset(f"{folder}/animals.jsonl.gz").label_sets()
    [('bird',), ('bird', 'cat')]
    """
    path = Path(path)
    kind = _kind(path, format)
    if kind not in ("svmlight", "xmc"):
        with _replacing_packed(path) as stream:
            _WRITERS[kind](data, stream)
        return [path]
    if data.features is None:
        raise ValueError(f"data must have features to be written as {kind}, got {data!r}")
    broken = next((name for name in data.label_names if len(f"{name}.".splitlines()) > 1), None)
    if broken is not None:
        raise ValueError(f"label_names must be of one line each to be written as {kind}, got {broken!r}")
    names = path.with_name(f"{(path.with_suffix('') if path.suffix.lower() in COMPRESSED else path).stem}.labels.txt")
    with _text_told(), replacing_path(path) as draft, replacing_path(names) as beside:
        with open(draft, "xb") as file:
            with _packed(file, path.suffix.lower()) as stream:
                _WRITERS[kind](data, stream)
            file.flush()
            os.fsync(file.fileno())
        told = "".join(f"{name}\n" for name in data.label_names).encode()
        beside.write_bytes(told)
        if path.exists() and not (names.is_file() and names.read_bytes() == told):
            path.unlink()  # from here on there are no data, rather than data with the names of others
    return [path, names]


def _kind(path: Path, format: str | None) -> str:  # noqa: A002
    """Return the format to write; where this cannot be done, say so before there is a file."""
    kind = ENDINGS.get(Path(bare_name(path)).suffix) if format is None else format
    if kind is None:
        raise ValueError(f"path must end in one of {', '.join(ENDINGS)}, or format be given, got {path.name!r}")
    if kind not in _WRITERS:
        raise ValueError(f"format must be one of {', '.join(_WRITERS)}, got {format!r}")
    if kind in ("npz", "parquet") and path.suffix.lower() in COMPRESSED:
        raise ValueError(f"path must not end in {path.suffix}, as {kind} compresses by itself, got {path.name!r}")
    if not path.parent.is_dir():
        raise ValueError(f"path must be in a folder that exists, got {path}")
    return kind


def _write_jsonl(data: Dataset, stream: IO[bytes]) -> None:
    for row in _rows(data):
        stream.write(f"{json.dumps(row, ensure_ascii=False, allow_nan=False)}\n".encode())


def _write_npz(data: Dataset, stream: IO[bytes]) -> None:
    np.savez_compressed(stream, allow_pickle=False, **arrays_of(data))


def _write_parquet(data: Dataset, stream: IO[bytes]) -> None:
    need("pyarrow", "writing a Parquet file")
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema(_parquet_fields(data, pyarrow))
    with pyarrow.parquet.ParquetWriter(stream, schema) as writer:
        for start in range(0, len(data), BATCH_ROWS):
            batch = list(_rows(data.select(slice(start, start + BATCH_ROWS))))
            writer.write_table(pyarrow.Table.from_pylist(batch, schema=schema))


def _parquet_fields(data: Dataset, arrow: Any) -> list[tuple[str, Any]]:
    sparse = arrow.struct([("indices", arrow.list_(arrow.int32())), ("values", arrow.list_(arrow.float32()))])
    dense = arrow.list_(arrow.float32())
    fields = [(name, arrow.string()) for name in _string_columns(data)]
    if data.features is not None:
        fields.append(("features", sparse if scipy.sparse.issparse(data.features) else dense))
    return [*fields, ("labels", arrow.list_(arrow.string()))]


def _write_svmlight(data: Dataset, stream: IO[bytes]) -> None:
    for labels, features in _lines(data):
        stream.write(f"{labels} {features}".rstrip().encode() + b"\n" if labels or features else b" 0:0\n")


def _write_xmc(data: Dataset, stream: IO[bytes]) -> None:
    stream.write(f"{len(data)} {data.n_features} {data.n_labels}\n".encode())
    for labels, features in _lines(data):
        stream.write(f"{labels} {features}\n".encode())


_WRITERS: dict[str, Callable[[Dataset, IO[bytes]], None]] = {
    "jsonl": _write_jsonl,
    "npz": _write_npz,
    "parquet": _write_parquet,
    "svmlight": _write_svmlight,
    "xmc": _write_xmc,
}


def _rows(data: Dataset) -> Iterator[dict[str, Any]]:
    """Yield every example as the mapping that `read_rows` reads."""
    present = _string_columns(data)
    for i, labels in enumerate(data.label_sets()):
        row: dict[str, Any] = {name: str(values[i]) for name, values in present.items()}
        if scipy.sparse.issparse(data.features):
            a, b = data.features.indptr[i : i + 2]
            row["features"] = {
                "indices": data.features.indices[a:b].tolist(),
                "values": _without_nan(data.features.data[a:b]),
            }
        elif data.features is not None:
            row["features"] = _without_nan(data.features[i])
        yield {**row, "labels": list(labels)}


def _without_nan(values: npt.NDArray[Any]) -> list[float | None]:
    """Return numbers as JSON has them, null for a missing one."""
    return [None if value != value else value for value in values.tolist()]


def _string_columns(data: Dataset) -> dict[str, Any]:
    """Return the columns of strings that a data set has, by the names of `Columns`."""
    columns: dict[str, Any] = {"text": data.texts, "text_pair": data.text_pairs, "image_path": data.image_paths}
    columns |= {"split": data.split, "group": data.groups, "time": data.times}
    return {name: values for name, values in columns.items() if values is not None}


def _lines(data: Dataset) -> Iterator[tuple[str, str]]:
    """Yield the labels and the features of every example as svmlight writes them, numbered from 0."""
    features = scipy.sparse.csr_array(data.features)
    for i in range(len(data)):
        active = data.labels.indices[data.labels.indptr[i] : data.labels.indptr[i + 1]].tolist()
        a, b = features.indptr[i : i + 2]
        tokens = features.data[a:b].astype(np.float32).astype(str).tolist()
        pairs = zip(features.indices[a:b].tolist(), tokens, strict=True)
        yield ",".join(map(str, active)), " ".join(f"{index}:{value}" for index, value in pairs)


@contextmanager
def _replacing_packed(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing, compressed if its ending says so; it takes its place when all has been written."""
    with _text_told(), replacing(path) as file, _packed(file, path.suffix.lower()) as stream:
        yield stream


@contextmanager
def _text_told() -> Iterator[None]:
    """Say in one sentence which text cannot be written."""
    try:
        yield
    except UnicodeEncodeError as error:
        character = error.object[error.start]
        raise ValueError(f"data must hold text that can be written in UTF-8, got {character!r}") from error


def _packed(file: IO[bytes], ending: str) -> AbstractContextManager[Any]:
    """Return a stream that compresses as the name's ending says; the same data gives the same bytes."""
    if ending == ".gz":
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    opened: Any = {".bz2": bz2.open, ".xz": lzma.open}.get(ending)
    return nullcontext(file) if opened is None else opened(file, "wb")
