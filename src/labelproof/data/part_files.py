"""The parts of a data set that stand in files of their own: finding them in a folder, and joining them."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from labelproof.data.dataset import Dataset
from labelproof.data.textfile import bare_name
from labelproof.errors import DataFormatError

__all__ = ["join_parts", "mulan_xml", "read_parts"]

DATA_FILES = (
    ".arff",
    ".csv",
    ".json",
    ".jsonl",
    ".ndjson",
    ".npy",
    ".npz",
    ".parquet",
    ".svm",
    ".svmlight",
    ".libsvm",
    ".tsv",
    ".txt",
)
_PART = re.compile(r"(?:^|[-_.])(train|trn|validation|valid|val|dev|test|tst)(?=[-_.])")
_MEANS = {"trn": "train", "validation": "valid", "val": "valid", "dev": "valid", "tst": "test"}


def join_parts(parts: Mapping[str, Dataset]) -> Dataset:
    """Return the examples of all parts in one data set, whose `split` holds the names of the parts.

    Labels that only later parts have follow those of the first. Features that have names must have the same in every
    part; sparse ones without names may differ in width, and are padded.

    Parameters
    ----------
    parts
        Data sets by the names of their parts.

    Examples
    --------
    >>> train = Dataset(scipy.sparse.csr_array([[1]]), ("cat",), texts=("a cat",))
    >>> test = Dataset(scipy.sparse.csr_array([[1]]), ("dog",), texts=("a dog",))
    >>> both = join_parts({"train": train, "test": test})
    >>> both.label_names, both.split.tolist()
    (('cat', 'dog'), ['train', 'test'])
    """
    if not parts:
        raise ValueError("parts must name at least one data set, got none")
    names = list(dict.fromkeys(name for part in parts.values() for name in part.label_names))
    aligned = [part.restrict_to(names) for part in parts.values()]
    split = np.repeat(list(parts), [len(part) for part in aligned])
    joined: dict[str, Any] = {"labels": scipy.sparse.vstack([part.labels for part in aligned], format="csr")}
    for field in ("texts", "text_pairs", "image_paths", "groups", "times"):
        joined[field] = _join([getattr(part, field) for part in aligned], field)
    joined["features"] = _join_features([part.features for part in aligned])
    joined["feature_names"] = _join_feature_names(aligned)
    dropped = sum((Counter(part.dropped) for part in aligned), Counter())
    return replace(aligned[0], **joined, split=split, dropped=dict(dropped))


def read_parts(folder: Path, read: Callable[[tuple[Path, ...]], Dataset]) -> Dataset:
    """Read the files of a folder as the parts that their names say; a file whose name says nothing is no part."""
    parts = {name: read(files) for name, files in _find_parts(folder).items()}
    return parts["all"] if "all" in parts else join_parts(parts)


def _find_parts(folder: Path) -> dict[str, tuple[Path, ...]]:
    """Return the files of every part in a folder, by their names: ``x-train.arff``, ``trn_X_Y.txt``, ``X.tst.npz``.

    Returns
    -------
    dict
        From the name of a part (``train``, ``valid`` or ``test``; ``all`` if no file names one) to its one file, or
        to its files of features and of labels. Beside files that name a part, others are left out.
    """
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and _is_data(bare_name(path))]
    found: dict[str, list[Path]] = {}
    for path in files:
        match = _PART.search(bare_name(path))
        if match:
            found.setdefault(_MEANS.get(match[1], match[1]), []).append(path)
    if not found and files:
        found["all"] = files
    if not found:
        raise DataFormatError(f"{folder.name}: expected files of data in this folder, got none")
    order = {name: found[name] for name in ("train", "valid", "test", "all") if name in found}
    return {name: _one_or_pair(paths, folder) for name, paths in order.items()}


def mulan_xml(path: Path) -> Path | None:
    """Return the XML file of labels beside an ARFF file whose name begins with its whole name, or None."""
    name = bare_name(path)
    beside = [xml for xml in path.parent.glob("*.xml") if re.match(rf"{re.escape(xml.stem.lower())}(?![^\W_])", name)]
    return max(beside, key=lambda xml: len(xml.stem), default=None)


def _is_data(name: str) -> bool:
    return Path(name).suffix in DATA_FILES and not name.startswith("readme") and not name.endswith(".labels.txt")


def _one_or_pair(paths: list[Path], folder: Path) -> tuple[Path, ...]:
    if len(paths) == 1:
        return (paths[0],)
    names = [path.name for path in paths]
    features = [path for path in paths if re.search(r"_X_Xf\b|^X\b", path.name)]
    labels = [path for path in paths if re.search(r"_X_Y\b|^Y\b", path.name)]
    if len(paths) == 2 and len(features) == len(labels) == 1:
        return features[0], labels[0]
    raise DataFormatError(
        f"{folder.name}: expected one file for each part, got {' and '.join(names[:4])}; name the files"
    )


def _join(columns: list[Any], name: str) -> Any:
    if all(column is None for column in columns):
        return None
    if any(column is None for column in columns):
        raise ValueError(f"parts must all have {name} or none")
    if isinstance(columns[0], tuple):
        return tuple(value for column in columns for value in column)
    return np.concatenate(columns)


def _join_feature_names(parts: Sequence[Dataset]) -> tuple[str, ...] | None:
    named = [part.feature_names for part in parts if part.feature_names is not None]
    for names in named[1:]:
        for one, other in zip_longest(named[0], names, fillvalue="nothing"):
            if one != other:
                raise ValueError(f"parts must have the same features in the same order, got {one!r} and {other!r}")
    width = max(part.n_features for part in parts)
    return named[0] if named and len(named[0]) == width else None


def _join_features(matrices: list[Any]) -> Any:
    if all(matrix is None for matrix in matrices):
        return None
    if not all(scipy.sparse.issparse(matrix) for matrix in matrices):
        if any(matrix is None or scipy.sparse.issparse(matrix) for matrix in matrices):
            raise ValueError("parts must all have dense features, or all sparse ones, or none")
        widths = {matrix.shape[1] for matrix in matrices}
        if len(widths) > 1:
            raise ValueError(f"parts must have the same number of features, got {sorted(widths)}")
        return np.concatenate(matrices)
    width = max(matrix.shape[1] for matrix in matrices)
    padded = [scipy.sparse.csr_array((m.data, m.indices, m.indptr), shape=(m.shape[0], width)) for m in matrices]
    return scipy.sparse.vstack(padded, format="csr")
