"""Read what an audit is asked about beside label sets: requirements, and the inputs of a data set."""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from labelproof.cli.files import existing
from labelproof.errors import DataFormatError

__all__ = ["read_inputs", "read_required"]


def read_inputs(source: str, part: str | None, columns: Sequence[str]) -> Any:
    """Return what a model's encoder reads of a data set."""
    from labelproof.data import load_dataset

    named: dict[str, Any] = {"labels": columns[0] if len(columns) == 1 else list(columns)} if columns else {}
    try:
        data = load_dataset(Path(source) if Path(source).exists() else source, **named)
    except DataFormatError as error:
        raise ValueError(f"--reach needs --labels to be a data set with texts, features or images ({error})") from error
    if data.features is None and data.texts is None and data.image_paths is None:
        raise ValueError("--reach needs --labels to be a data set with texts, features or images, got label sets only")
    data = data if part is None else data.part(part)
    if data.features is not None:
        return data.features
    from labelproof.training.data_parts import inputs_of

    return inputs_of(data, "text" if data.texts is not None else "image")


def read_required(path: Path, names: Sequence[str] | None, n_labels: int) -> dict[str, list[Any]]:
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
    from labelproof.data.label_files import read_label_file

    sets = read_label_file(path, label_names=names, n_labels=n_labels).sets
    return {f"line {i + 1}": active.tolist() for i, active in enumerate(sets)}


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
