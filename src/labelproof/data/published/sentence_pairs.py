"""Pairs of sentences with one of three classes: SNLI and SICK."""

from collections.abc import Iterator
from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.delimited import iter_table
from labelproof.data.examples import Example, collect
from labelproof.data.jsonl import iter_objects
from labelproof.data.part_files import read_parts
from labelproof.data.textfile import LIMITS, Limits, bare_name
from labelproof.errors import DataFormatError

__all__ = ["iter_sick", "iter_snli", "read_sick", "read_snli"]

CLASSES = ("entailment", "neutral", "contradiction")
_SICK_PARTS = {"TRAIN": "train", "TRIAL": "valid", "TEST": "test"}


def read_snli(path: Path, limits: Limits = LIMITS) -> Dataset:
    """Read a file of SNLI, or the parts in a folder."""
    if path.is_dir():
        return read_parts(path, lambda files: collect(iter_snli(files[0], limits), label_names=CLASSES))
    return collect(iter_snli(path, limits), label_names=CLASSES)


def iter_snli(path: Path, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the pairs of snli_1.0_*.jsonl or .txt, or of a .tsv file with ``premise``, ``hypothesis`` and ``label``.

    Pairs on which the annotators did not agree, marked ``-`` or -1, are passed over.
    """
    rows = iter_objects(path, limits) if bare_name(path).endswith(".jsonl") else iter_table(path, limits)
    for where, row in rows:
        names = ("gold_label", "sentence1", "sentence2") if "gold_label" in row else ("label", "premise", "hypothesis")
        if any(name not in row for name in names):
            raise DataFormatError(f"{where}: expected the columns {', '.join(names)}, got {', '.join(row)}")
        label, premise, hypothesis = (str(row[name]) for name in names)
        if label in ("-", "-1"):
            continue
        yield Example((_class(label, where),), text=premise, text_pair=hypothesis)


def read_sick(path: Path, limits: Limits = LIMITS) -> Dataset:
    """Read SICK.txt, from its folder too."""
    if path.is_dir():
        found = sorted(path.glob("SICK.txt*"))
        if not found:
            raise DataFormatError(f"{path.name}: expected a file SICK.txt in this folder")
        path = found[0]
    return collect(iter_sick(path, limits), label_names=CLASSES)


def iter_sick(path: Path, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the pairs of SICK.txt with the part that SemEval put them into."""
    for where, row in iter_table(path, limits):
        missing = {"sentence_A", "sentence_B", "entailment_label", "SemEval_set"} - row.keys()
        if missing or row["SemEval_set"] not in _SICK_PARTS:
            what = min(missing) if missing else "SemEval_set of TRAIN, TRIAL or TEST"
            raise DataFormatError(f"{where}: expected a column {what}")
        label = _class(row["entailment_label"].lower(), where)
        yield Example(
            (label,), text=row["sentence_A"], text_pair=row["sentence_B"], split=_SICK_PARTS[row["SemEval_set"]]
        )


def _class(label: str, where: str) -> str:
    if label in ("0", "1", "2"):
        return CLASSES[int(label)]
    if label not in CLASSES:
        raise DataFormatError(f"{where}: expected one of {', '.join(CLASSES)} or 0, 1, 2, got {label!r}")
    return label
