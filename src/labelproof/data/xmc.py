"""Files of the extreme classification repository.

- one file: a header line ``n_examples n_features n_labels``, then ``3,17 1:0.5 8:1`` (labels, features);
- two files such as ``trn_X_Xf.txt`` and ``trn_X_Y.txt``: each a header line ``n_rows n_columns``, then ``index:value``;
- ``trn.json`` or ``trn.json.gz``: one object per line with ``title``, ``content`` and ``target_ind``, and ``lbl.json``
  with the titles of the labels.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from labelproof.data.dataset import Dataset
from labelproof.data.examples import MAX_LABELS, Example, SparseRow, collect
from labelproof.data.jsonl import iter_objects
from labelproof.data.svmlight import MAX_FEATURES, parse_features, parse_labels
from labelproof.data.textfile import LIMITS, Limits, at, read_lines
from labelproof.errors import DataFormatError

__all__ = ["iter_xmc", "iter_xmc_json", "read_xmc", "read_xmc_json"]

_FEATURES = {"rows": 2**62, "features": MAX_FEATURES}
_LABELS = {"rows": 2**62, "labels": MAX_LABELS}


def read_xmc(path: Path, labels: Path | None = None, limits: Limits = LIMITS) -> Dataset:
    """Read one file with features and labels, or one of features and one of labels."""
    if labels is None:
        _, n_features, n_labels = _header(path, _FEATURES | _LABELS, limits)
    else:
        (_, n_features), (_, n_labels) = _header(path, _FEATURES, limits), _header(labels, _LABELS, limits)
    names = [str(i) for i in range(n_labels)]
    return collect(iter_xmc(path, labels, limits), label_names=names, n_features=n_features)


def iter_xmc(path: Path, labels: Path | None = None, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the examples of one file with features and labels, or of one of features and one of labels."""
    if labels is None:
        n, n_features, n_labels = _header(path, _FEATURES | _LABELS, limits)
        for number, line in _rows(path, n, limits):
            active, _, features = line.partition(" ")
            if ":" in active:
                active, features = "", line
            with _told_of(at(path, number)):
                chosen, row = _labels(parse_labels(active), n_labels), _features(features, n_features)
            yield Example(chosen, features=row)
        return
    (n, n_features), (n_sets, n_labels) = _header(path, _FEATURES, limits), _header(labels, _LABELS, limits)
    if n != n_sets:
        raise DataFormatError(f"{at(labels, 1)}: expected {n} rows to match {path.name}, got {n_sets}")
    for (number, features), (_, active) in zip(_rows(path, n, limits), _rows(labels, n, limits), strict=True):
        with _told_of(at(labels, number)):
            chosen = _labels(_active(active), n_labels)
        with _told_of(at(path, number)):
            row = _features(features, n_features)
        yield Example(chosen, features=row)


def read_xmc_json(path: Path, labels: Path | None = None, limits: Limits = LIMITS) -> Dataset:
    """Read texts from trn.json or tst.json; the titles in lbl.json, where it is given, name the labels."""
    names = None if labels is None else _titles(labels, limits)
    return collect(_texts(path, names, limits), label_names=names)


def iter_xmc_json(path: Path, labels: Path | None = None, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the examples of trn.json or tst.json."""
    return _texts(path, None if labels is None else _titles(labels, limits), limits)


def _texts(path: Path, names: list[str] | None, limits: Limits) -> Iterator[Example]:
    empty = True
    for where, row in iter_objects(path, limits):
        empty = False
        targets = row.get("target_ind")
        if not isinstance(targets, list) or not all(type(target) is int and target >= 0 for target in targets):
            raise DataFormatError(f"{where}: expected 'target_ind', a list of label numbers, got {str(targets)[:40]}")
        if names is not None and max(targets, default=-1) >= len(names):
            raise DataFormatError(f"{where}: expected label numbers below {len(names)}, got {max(targets)}")
        yield Example(tuple(str(target) if names is None else names[target] for target in targets), text=_text(row))
    if empty:
        raise DataFormatError(f"{path.name}: expected examples, got an empty file")


def _titles(labels: Path, limits: Limits) -> list[str]:
    """Return a name for every label: its title if no other has it, else its uid or its number."""
    rows = [row for _, row in iter_objects(labels, limits)]
    titles = [str(row.get("title") or "") for row in rows]
    uses = Counter(titles)
    names = [
        title if title and uses[title] == 1 else str(row.get("uid", i))
        for i, (title, row) in enumerate(zip(titles, rows, strict=True))
    ]
    for name, count in Counter(names).most_common(1):
        if count > 1:
            raise DataFormatError(f"{labels.name}: expected different uids where titles repeat, got {name!r} twice")
    return names


def _text(row: dict[str, Any]) -> str:
    return "\n\n".join(str(row[name]) for name in ("title", "content") if row.get(name))


def _header(path: Path, most: Mapping[str, int], limits: Limits) -> list[int]:
    """Read the sizes in the header line, of which none may be larger than it says here."""
    first = next(iter(read_lines(path, limits)), (1, ""))[1]
    numbers = first.split()
    if len(numbers) != len(most) or not all(number.isdecimal() for number in numbers):
        raise DataFormatError(f"{at(path, 1)}: expected a header of {len(most)} whole numbers, got {first[:40]!r}")
    sizes = [int(number) for number in numbers]
    for (what, limit), size in zip(most.items(), sizes, strict=True):
        if size > limit:
            raise DataFormatError(f"{at(path, 1)}: expected at most {limit} {what}, got {size}")
    return sizes


def _rows(path: Path, n: int, limits: Limits) -> Iterator[tuple[int, str]]:
    """Yield the lines after the header, which must be as many as it says."""
    number = 1
    for number, line in read_lines(path, limits):
        if number > n + 1:
            if line.strip():
                raise DataFormatError(f"{at(path, number)}: expected {n} rows, as the header says, got more")
        elif number > 1:
            yield number, line
    if number < n + 1:
        raise DataFormatError(f"{path.name}: expected {n} rows, as the header says, got {number - 1}")


def _features(text: str, n_features: int) -> SparseRow:
    row = parse_features(text)
    if len(row.indices) and row.indices.max() >= n_features:
        raise ValueError(f"expected features below {n_features}, got {row.indices.max()}")
    return row


def _labels(labels: tuple[str, ...], n_labels: int) -> tuple[str, ...]:
    for label in labels:
        if not label.isdecimal() or int(label) >= n_labels:
            raise ValueError(f"expected whole numbers below {n_labels} as labels, got {label}")
    return labels


def _active(text: str) -> tuple[str, ...]:
    """Return the labels of a row ``index:value``, whose values are 1, or 0 for labels that it does not have."""
    row = parse_features(text)
    wrong = row.values[(row.values != 0) & (row.values != 1)]
    if len(wrong):
        raise ValueError(f"expected labels with the value 0 or 1, got {wrong[0]}")
    return tuple(map(str, row.indices[row.values == 1].tolist()))


@contextmanager
def _told_of(where: str) -> Iterator[None]:
    """Begin what is said against a row with its place."""
    try:
        yield
    except ValueError as error:
        raise DataFormatError(f"{where}: {error}") from error
