"""Files of the extreme classification repository.

- one file: a header line ``n_examples n_features n_labels``, then ``3,17 1:0.5 8:1`` (labels, features);
- two files such as ``trn_X_Xf.txt`` and ``trn_X_Y.txt``: each a header line ``n_rows n_columns``, then ``index:value``;
- ``trn.json`` or ``trn.json.gz``: one object a line with ``title``, ``content`` and ``target_ind``, beside ``lbl.json``
  with the labels' titles.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from labelproof.data.dataset import Dataset
from labelproof.data.examples import MAX_LABELS, Example, collect
from labelproof.data.jsonl import iter_objects
from labelproof.data.svmlight import MAX_FEATURES, parse_features
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
        pairs = ((row, *row[1].partition(" ")[::2]) for row in _rows(path, n, limits))
        for (number, _), active, features in pairs:
            if ":" in active:
                active, features = "", f"{active} {features}"
            yield _example(at(path, number), active.split(","), features, n_features, n_labels)
        return
    (n, n_features), (n_sets, n_labels) = _header(path, _FEATURES, limits), _header(labels, _LABELS, limits)
    if n != n_sets:
        raise DataFormatError(f"{at(labels, 1)}: expected {n} rows to match {path.name}, got {n_sets}")
    for (number, features), (_, active) in zip(_rows(path, n, limits), _rows(labels, n, limits), strict=True):
        tokens = [token.partition(":")[0] for token in active.split()]
        yield _example(f"{at(path, number)} and {labels.name}", tokens, features, n_features, n_labels)


def read_xmc_json(path: Path, labels: Path | None = None, limits: Limits = LIMITS) -> Dataset:
    """Read texts from trn.json or tst.json; labels are named by lbl.json, where it is given or stands beside."""
    return collect(iter_xmc_json(path, limits)) if labels is None else _named(path, labels, limits)


def iter_xmc_json(path: Path, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the examples of trn.json or tst.json, with labels by number."""
    empty = True
    for where, row in iter_objects(path, limits):
        empty = False
        targets = row.get("target_ind")
        if not isinstance(targets, list) or not all(type(target) is int and target >= 0 for target in targets):
            raise DataFormatError(f"{where}: expected 'target_ind', a list of label numbers, got {str(targets)[:40]}")
        yield Example(tuple(str(target) for target in targets), text=_text(row))
    if empty:
        raise DataFormatError(f"{path.name}: expected examples, got an empty file")


def _named(path: Path, labels: Path, limits: Limits) -> Dataset:
    rows = [row for _, row in iter_objects(labels, limits)]
    titles = [str(row.get("title", "")) for row in rows]
    uses = Counter(titles)
    names = [
        title if title and uses[title] == 1 else str(row.get("uid", i))
        for i, (title, row) in enumerate(zip(titles, rows, strict=True))
    ]
    data = collect(iter_xmc_json(path, limits), label_names=[str(i) for i in range(len(names))])
    if data.n_labels != len(names):
        raise DataFormatError(
            f"{path.name}: expected label numbers below {len(names)}, as {labels.name} has, got {data.label_names[-1]}"
        )
    return data.with_labels(data.labels, names)


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


def _example(where: str, tokens: list[str], features: str, n_features: int, n_labels: int) -> Example:
    try:
        row = parse_features(features)
        active = [int(token) for token in tokens if token.strip()]
    except ValueError as error:
        raise DataFormatError(f"{where}: {error}") from error
    if len(row.indices) and row.indices.max() >= n_features:
        raise DataFormatError(f"{where}: expected features below {n_features}, got {row.indices.max()}")
    if active and not 0 <= min(active) <= max(active) < n_labels:
        wrong = next(label for label in active if not 0 <= label < n_labels)
        raise DataFormatError(f"{where}: expected labels below {n_labels}, got {wrong}")
    return Example(tuple(str(label) for label in active), features=row)
