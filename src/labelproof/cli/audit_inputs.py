"""Read what an audit is asked about: label sets alone, or a data set with labels by name; and requirements."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labelproof.cli.files import existing, read_labels
from labelproof.data import Dataset, load_dataset
from labelproof.errors import DataFormatError

__all__ = ["inputs_of", "read_audit_labels", "read_required"]


def read_audit_labels(
    source: str,
    names: Sequence[str] | None,
    *,
    part: str | None = None,
    label_column: Sequence[str] | None = None,
) -> Any:
    """Read label sets as `read_labels` does, or else a data set, whose labels have names of their own."""
    path = Path(source)
    if not label_column and part is None and path.is_file() and _holds_label_sets_only(path):
        return read_labels(path, names)
    columns = list(label_column or _columns_of_names(path, names))
    data = _load(path if path.exists() else source, columns)
    if part is not None and part not in data.parts:
        have = ", ".join(data.parts) or "no parts"
        raise DataFormatError(f"{path.name}: expected the part {part!r} of a split, got {have}")
    return data if part is None else data.part(part)


def _load(source: Any, columns: list[str]) -> Dataset:
    try:
        return load_dataset(source, **({"labels": columns[0] if len(columns) == 1 else columns} if columns else {}))  # type: ignore[arg-type]
    except DataFormatError as error:
        raise DataFormatError(str(error).replace("labels=", "--label-column")) from error


def _columns_of_names(path: Path, names: Sequence[str] | None) -> list[str]:
    """Return the columns of a table that are called as the model's labels: one of 0 and 1 for each."""
    if path.suffix not in (".csv", ".tsv") or not path.is_file() or names is None:
        return []
    with open(path, encoding="utf-8-sig", errors="replace", newline="") as stream:
        header = next(csv.reader(stream, delimiter="\t" if path.suffix == ".tsv" else ","), [])
    known = set(names)
    found = [column for column in header if column in known]
    return found if len(found) > 1 and "labels" not in header else []


def _holds_label_sets_only(path: Path) -> bool:
    if path.suffix in (".npy", ".npz", ".txt"):
        return True
    if path.suffix not in (".csv", ".tsv", ".jsonl"):
        return False
    with open(path, encoding="utf-8-sig", errors="replace") as stream:
        first = stream.readline(1_000_000).strip()
    if path.suffix == ".jsonl":
        return first.startswith("[")
    return bool(first) and all(cell.strip() in ("0", "1", "0.0", "1.0") for cell in first.replace("\t", ",").split(","))


def inputs_of(data: Any) -> Any:
    """Return what a model's encoder reads of a data set."""
    if not isinstance(data, Dataset) or (data.features is None and data.texts is None and data.image_paths is None):
        raise ValueError("--reach needs --labels to be a data set with texts, features or images, got label sets only")
    from labelproof.training.data_parts import inputs_of as encoder_inputs

    if data.features is not None:
        return data.features
    return encoder_inputs(data, "text" if data.texts is not None else "image")


def read_required(path: Path, names: Sequence[str] | None) -> dict[str, list[Any]]:
    """Read label sets that must be predictable, by name.

    ==========  ======================================================================================
    file        holds
    ==========  ======================================================================================
    .csv, .tsv  a header with ``name`` and ``labels``; labels are separated by semicolons
    .jsonl      one object a line: ``{"name": "...", "labels": [...]}``
    others      one set a line, as for ``--labels``
    ==========  ======================================================================================
    """
    existing(path)
    if path.suffix in (".csv", ".tsv"):
        return _read_table(path)
    if path.suffix == ".jsonl":
        return _read_lines(path)
    return {f"line {i + 1}": list(active) for i, active in enumerate(read_labels(path, names))}


def _read_table(path: Path) -> dict[str, list[Any]]:
    required: dict[str, list[Any]] = {}
    with open(path, encoding="utf-8-sig", newline="") as stream:
        rows = csv.DictReader(stream, delimiter="\t" if path.suffix == ".tsv" else ",")
        if not {"name", "labels"} <= set(rows.fieldnames or ()):
            found = ", ".join(rows.fieldnames or ()) or "nothing"
            raise DataFormatError(f"{path.name}: expected a header with the columns name and labels, got {found}")
        for row in rows:
            where = f"{path.name}, line {rows.line_num}"
            _add(required, row["name"], (row["labels"] or "").split(";"), where)
    return required


def _read_lines(path: Path) -> dict[str, list[Any]]:
    required: dict[str, list[Any]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        where = f"{path.name}, line {number}"
        if line.strip():
            try:
                one = json.loads(line)
            except ValueError as error:
                raise DataFormatError(f"{where}: expected JSON: {error}") from error
            if not isinstance(one, dict) or not isinstance(one.get("labels"), list):
                raise DataFormatError(f"{where}: expected an object with a name and a list of labels, got {line[:60]}")
            _add(required, one.get("name", f"line {number}"), one["labels"], where)
    return required


def _add(required: dict[str, list[Any]], name: Any, labels: list[Any], where: str) -> None:
    if not isinstance(name, str) or not name.strip() or name in required:
        raise DataFormatError(f"{where}: expected a new name of the requirement, got {name!r}")
    stripped = [label.strip() if isinstance(label, str) else label for label in labels]
    required[name] = [label for label in stripped if label != ""]
    if not required[name]:
        raise DataFormatError(f"{where}: expected at least one label in {name!r}, got none")
