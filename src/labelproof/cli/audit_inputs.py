"""Read what an audit is asked about beside label sets: requirements, and the inputs of a data set."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labelproof.cli.files import existing
from labelproof.errors import DataFormatError
from labelproof.foundation.json_files import parse_json

if TYPE_CHECKING:
    from labelproof.data import Dataset
    from labelproof.importers import ImportedLayer

__all__ = ["read_data", "read_required"]

WORDS = {"text": "texts", "image": "images", "features": "features"}


def read_data(layer: "ImportedLayer", source: str | Path, columns: Sequence[str]) -> "Dataset":
    """Read a data set with the inputs that a model reads, by the columns of its training where it tells them."""
    from labelproof.data import load_dataset
    from labelproof.data.model_inputs import model_inputs
    from labelproof.data.separators import USUAL

    named = {role: column for role, column in (layer.columns or {}).items() if column is not None}
    if layer.columns is not None:
        named.setdefault("separator", USUAL)  # nothing is guessed that the training did not guess
    if columns:
        named["labels"] = columns[0] if len(columns) == 1 else list(columns)
    if layer.features is None:
        raise ValueError(f"--data needs a model that can be run here, got {layer.kind}: use --labels and --features")
    try:
        data = load_dataset(Path(source) if Path(source).exists() else str(source), **named)
    except DataFormatError as error:
        raise ValueError(f"--data must be a data set with texts, features or images ({error})") from error
    if layer.reads is not None and model_inputs(data, layer.reads) is None:
        raise ValueError(f"--data must hold what the model reads, {WORDS[layer.reads]}, got none in {source}")
    return data


def read_required(path: Path, names: Sequence[str] | None, n_labels: int) -> dict[str, list[Any]]:
    """Read label sets that must be predictable, by name.

    ==========  ======================================================================================
    file        holds
    ==========  ======================================================================================
    .csv, .tsv  a header with ``name`` and ``labels``; labels are separated by semicolons
    .jsonl      one object per line: ``{"name": "...", "labels": [...]}``
    others      one set per line, as for ``--labels``
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
                one = parse_json(line)
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
