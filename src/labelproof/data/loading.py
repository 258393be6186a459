"""`load_dataset` and `iter_examples`: which reader a file needs."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from labelproof.data.arff import iter_arff, read_arff
from labelproof.data.arrays import read_npz, read_pair
from labelproof.data.columns import Columns, Rows, read_rows, read_table
from labelproof.data.dataset import Dataset
from labelproof.data.delimited import iter_table
from labelproof.data.examples import Example, collect
from labelproof.data.huggingface_datasets import is_huggingface, iter_huggingface, read_huggingface
from labelproof.data.images import iter_images, labels_table
from labelproof.data.jsondocument import first_character, iter_list
from labelproof.data.jsonl import iter_objects
from labelproof.data.parquet import iter_parquet_rows
from labelproof.data.part_files import join_parts, mulan_xml, read_parts
from labelproof.data.published.catalogue import FORMATS, STREAMS, find_named
from labelproof.data.svmlight import iter_svmlight, read_svmlight
from labelproof.data.textfile import LIMITS, Limits, bare_name, read_lines, refuse_archive
from labelproof.data.xmc import iter_xmc, iter_xmc_json, read_xmc, read_xmc_json
from labelproof.errors import DataFormatError

__all__ = ["OR_NAMED", "iter_examples", "load_dataset"]

ENDINGS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".npz": "npz",
    ".npy": "npz",
    ".arff": "arff",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
OR_NAMED = "; otherwise give format="
PAIRS = ("arff", "npz", "xmc", "xmc-json")


def load_dataset(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002 - the word that users look for
    text: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    image: str | None = None,
    split: str | None = None,
    group: str | None = None,
    time: str | None = None,
    separator: str | None = None,
    index_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    unknown: str = "error",
    limits: Limits = LIMITS,
) -> Dataset:
    r"""Read a data set from files, from a Hugging Face data set, or by its name.

    Parameters
    ----------
    source
        A file; a pair of files (features and labels, or ARFF and XML); a folder whose files are named after its parts;
        a folder of images with labels.csv; a mapping from the names of parts to any of these; a `datasets` object; or
        a name, such as ``bibtex``, of a data set under the folder that the environment variable LABELPROOF_DATA names;
        or ``debian_packages``, which comes with labelproof: 5,893 descriptions with 228 tags.
    format
        ``csv``, ``json``, ``jsonl``, ``parquet``, ``npz``, ``arff``, ``svmlight``, ``xmc``, ``xmc-json``, ``images``,
        or the name of a published data set such as ``reuters21578``; by default the file's name and beginning tell.
    text, labels, features, image, split, group, time, separator
        The columns of a table: see `Columns`.
    index_names
        Names of the labels 0, 1, ..., where a file has them by number.
    label_names
        The labels that the data set shall have, in this order, such as those of a trained model.
    unknown
        With label_names, what happens to other labels: ``error`` names the first, ``drop`` counts them in `dropped`.
    limits
        How much of a file is read before it is refused.

    Returns
    -------
    Dataset

    Raises
    ------
    DataFormatError
        If a file is not what it should be; it names the file and the line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "birds.csv")
    ...     _ = path.write_text("text,labels\na robin,bird\na cat eyes a robin,bird;cat\na stone,\n")
    ...     data = load_dataset(path)
    >>> data
    Dataset(3 examples, 2 labels, texts)
    """
    columns = Columns(text, labels, features, image, split, group, time, separator)
    data = _load(source, format, columns, limits)
    if labels is not None and not isinstance(labels, str) and len(labels) > 1:
        data = data.restrict_to(labels)  # columns of 0 and 1 in the order given, those without a 1 too
    if index_names is not None:
        data = _rename(data, list(index_names))
    return data if label_names is None else data.restrict_to(label_names, unknown=unknown)


def iter_examples(
    source: Any,
    *,
    format: str | None = None,  # noqa: A002
    text: str | Sequence[str] | None = None,
    labels: str | Sequence[str] | None = None,
    features: str | Sequence[str] | None = None,
    image: str | None = None,
    split: str | None = None,
    group: str | None = None,
    time: str | None = None,
    separator: str | None = None,
    limits: Limits = LIMITS,
) -> Iterator[Example]:
    r"""Yield the examples of a file one by one, for files larger than memory.

    Parameters
    ----------
    source, format, text, labels, features, image, split, group, time, separator, limits
        As for `load_dataset`, for one file; npz files, and published sets whose examples stand in several files (such
        as MIMIC-III and the image collections), cannot be read as streams. Reuters has all its topics in a stream.

    Yields
    ------
    Example

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "pets.csv")
    ...     _ = path.write_text("text,labels\na cat and a dog,cat;dog\n")
    ...     [example.labels for example in iter_examples(path)]
    [('cat', 'dog')]
    """
    columns = Columns(text, labels, features, image, split, group, time, separator)
    if is_huggingface(source):
        return iter_huggingface(source, columns)
    paths = _paths(source)
    kind = format or _guess(paths, limits)
    _refuse_second(paths, kind)
    if kind in STREAMS:
        return STREAMS[kind](paths[0], limits)
    if kind in _TABLES:
        return read_rows(_TABLES[kind](paths[0], limits), columns, source=paths[0].name)
    if kind not in _STREAMS:
        known = sorted({*_STREAMS, *_TABLES, *STREAMS})
        raise ValueError(f"format must be one of {', '.join(known)} to be read as a stream, got {kind!r}")
    return _STREAMS[kind](paths, columns, limits)


def _load(source: Any, format: str | None, columns: Columns, limits: Limits) -> Dataset:  # noqa: A002
    if isinstance(source, Mapping):
        return join_parts({str(name): _load(part, format, columns, limits) for name, part in source.items()})
    if is_huggingface(source):
        return read_huggingface(source, columns)
    if isinstance(source, str) and not Path(source).exists():
        source = find_named(source)
    paths = _paths(source)
    if format is None and paths[0].is_dir() and paths[0].name in FORMATS:
        format = paths[0].name  # noqa: A001
    if format not in FORMATS and paths[0].is_dir() and format != "images" and labels_table(paths[0]) is None:
        return read_parts(paths[0], lambda files: _load(files, format, columns, limits))
    kind = format or _guess(paths, limits)
    _refuse_second(paths, kind)
    if kind in FORMATS:
        return _published(kind, paths[0], limits)
    if kind in _TABLES:
        rows = _TABLES[kind](paths[0], limits)
        return _fitting(lambda: read_table(rows, columns, source=paths[0].name), paths[0])
    if kind in _WHOLE:
        return _fitting(lambda: _WHOLE[kind](paths, limits), paths[0])
    if kind in _STREAMS:
        return _fitting(lambda: collect(_STREAMS[kind](paths, columns, limits)), paths[0])
    known = sorted({*_STREAMS, *_TABLES, *_WHOLE, *FORMATS})
    raise ValueError(f"format must be one of {', '.join(known)}, got {kind!r}")


def _published(name: str, path: Path, limits: Limits) -> Dataset:
    data = _fitting(lambda: FORMATS[name](path, limits), path)
    if not len(data):
        raise DataFormatError(f"{path.name}: expected examples, got none")
    return data


def _fitting(read: Callable[[], Dataset], path: Path) -> Dataset:
    """Read a data set; examples of a file that do not fit each other are a fault of the file."""
    try:
        return read()
    except ValueError as error:
        raise DataFormatError(f"{path.name}: {error}") from error


def _paths(source: Any) -> tuple[Path, ...]:
    if isinstance(source, (str, os.PathLike)):
        source = (source,)
    if not isinstance(source, (tuple, list)) or not 1 <= len(source) <= 2:
        given = f"{len(source)} paths" if isinstance(source, (tuple, list)) else type(source).__name__
        raise ValueError(f"source must be a path, a pair of paths, a mapping or a Hugging Face data set, got {given}")
    paths = tuple(Path(part) for part in source)
    for path in paths:
        if not path.exists():
            raise DataFormatError(f"{path}: no such file or folder")
    return tuple(path if path.name else path.absolute() for path in paths)  # errors begin with the name


def _refuse_second(paths: tuple[Path, ...], kind: str) -> None:
    if len(paths) > 1 and kind not in PAIRS:
        raise ValueError(f"source must be one path in the format {kind}, got {paths[0].name} and {paths[1].name}")


def _guess(paths: tuple[Path, ...], limits: Limits) -> str:
    """Return the format that a file's name or its first line tells."""
    path = paths[0]
    if path.is_dir():
        return "images"
    refuse_archive(path)
    ending = Path(bare_name(path)).suffix
    if ending in ENDINGS:
        return ENDINGS[ending]
    if ending == ".json":
        return _guess_json(path, limits)
    if ending == ".txt":
        words = next(iter(read_lines(path, limits)), (1, ""))[1].split()
        if len(words) == 4 - len(paths) and all(word.isdecimal() for word in words):
            return "xmc"
    known = f"{', '.join(ENDINGS)}, .json or .txt of XMC"
    raise DataFormatError(f"{path.name}: expected a file name that shows its format ({known}){OR_NAMED}")


def _guess_json(path: Path, limits: Limits) -> str:
    """Return whether a file is one list, or has one object per line, of the XMC repository or others."""
    if first_character(path, limits) == "[":
        return "json"
    first = next(iter(iter_objects(path, limits)), ("", {}))[1]
    return "xmc-json" if "target_ind" in first else "jsonl"


def _rename(data: Dataset, names: list[str]) -> Dataset:
    numbers = [int(name) if name.isdecimal() else -1 for name in data.label_names]
    wrong = [name for name, i in zip(data.label_names, numbers, strict=True) if not 0 <= i < len(names)]
    if wrong:
        raise ValueError(f"index_names must name every label number, got {len(names)} names and the label {wrong[0]!r}")
    return data.with_labels(data.labels, [names[i] for i in numbers])


def _second(paths: tuple[Path, ...]) -> Path | None:
    return paths[1] if len(paths) > 1 else None


def _arff_xml(paths: tuple[Path, ...]) -> Path | None:
    return _second(paths) or mulan_xml(paths[0])


def _label_titles(paths: tuple[Path, ...]) -> Path | None:
    beside = (paths[0].with_name(name) for name in ("lbl.json", "lbl.json.gz"))
    return _second(paths) or next((path for path in beside if path.is_file()), None)


_Paths = tuple[Path, ...]
_TABLES: dict[str, Callable[[Path, Limits], Rows]] = {
    "csv": iter_table,
    "jsonl": iter_objects,
    "json": iter_list,
    "parquet": iter_parquet_rows,
}
_STREAMS: dict[str, Callable[[_Paths, Columns, Limits], Iterator[Example]]] = {
    "images": lambda paths, columns, limits: iter_images(paths[0], columns, limits),
    "arff": lambda paths, _, limits: iter_arff(paths[0], _arff_xml(paths), limits),
    "svmlight": lambda paths, _, limits: iter_svmlight(paths[0], limits),
    "xmc": lambda paths, _, limits: iter_xmc(paths[0], _second(paths), limits),
    "xmc-json": lambda paths, _, limits: iter_xmc_json(paths[0], _label_titles(paths), limits),
}
_WHOLE: dict[str, Callable[[_Paths, Limits], Dataset]] = {
    "npz": lambda paths, limits: read_pair(*paths, limits) if len(paths) == 2 else read_npz(paths[0], limits),
    "arff": lambda paths, limits: read_arff(paths[0], _arff_xml(paths), limits),
    "svmlight": lambda paths, limits: read_svmlight(paths[0], limits),
    "xmc": lambda paths, limits: read_xmc(paths[0], _second(paths), limits),
    "xmc-json": lambda paths, limits: read_xmc_json(paths[0], _label_titles(paths), limits),
}
