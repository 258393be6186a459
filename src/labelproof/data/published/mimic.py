"""MIMIC-III: discharge summaries with the ICD-9 codes of the stay.

Reads NOTEEVENTS.csv, DIAGNOSES_ICD.csv and PROCEDURES_ICD.csv (or .csv.gz) of one folder. Where files such as
train_full_hadm_ids.csv, dev_full_hadm_ids.csv and test_full_hadm_ids.csv (one stay's number per line) stand beside
them, they are the split, and other stays are left out.
"""

import re
from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.delimited import iter_table
from labelproof.data.examples import Example, collect
from labelproof.data.textfile import LIMITS, Limits, at, bare_name, read_lines
from labelproof.errors import DataFormatError

__all__ = ["read_mimic"]

_SPLITS = re.compile(r"(train|dev|test)_full_hadm_ids\.csv")


def read_mimic(folder: Path, limits: Limits = LIMITS) -> Dataset:
    """Read one example for each stay in hospital with a discharge summary; its group is the patient.

    Several summaries of one stay are joined in the order of the file. A stay without codes is kept.
    """
    split = _read_split(folder, limits)
    codes: dict[str, list[str]] = {}
    for name, procedure in (("DIAGNOSES_ICD.csv", False), ("PROCEDURES_ICD.csv", True)):
        for where, row in iter_table(_find(folder, name), limits):
            stay, code = _cell(row, "HADM_ID", where), _cell(row, "ICD9_CODE", where)
            if code:
                codes.setdefault(stay, []).append(_icd9(code, procedure=procedure))
    return collect(
        Example(tuple(codes.get(stay, ())), text="\n".join(notes), group=patient, split=split[stay] if split else None)
        for stay, (patient, notes) in _summaries(folder, split, limits).items()
    )


def _icd9(code: str, *, procedure: bool) -> str:
    """Write a code with its point, which MIMIC leaves out.

    >>> _icd9("4019", procedure=False), _icd9("E8498", procedure=False), _icd9("3893", procedure=True)
    ('401.9', 'E849.8', '38.93')
    """
    head = 2 if procedure else 4 if code.startswith("E") else 3
    return f"{code[:head]}.{code[head:]}" if len(code) > head else code


def _summaries(folder: Path, split: dict[str, str], limits: Limits) -> dict[str, tuple[str, list[str]]]:
    """Return the patient and the discharge summaries of every stay."""
    stays: dict[str, tuple[str, list[str]]] = {}
    for where, row in iter_table(_find(folder, "NOTEEVENTS.csv"), limits):
        if _cell(row, "CATEGORY", where) != "Discharge summary":
            continue
        stay = _cell(row, "HADM_ID", where)
        if stay and (not split or stay in split):
            stays.setdefault(stay, (_cell(row, "SUBJECT_ID", where), []))[1].append(_cell(row, "TEXT", where))
    return stays


def _read_split(folder: Path, limits: Limits) -> dict[str, str]:
    """Return the part of every stay, nothing where there are no files of the split."""
    parts: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        match = _SPLITS.fullmatch(bare_name(path))
        if match is None:
            continue
        for number, line in read_lines(path, limits):
            stay = line.strip()
            if stay and not stay.isdecimal():
                raise DataFormatError(f"{at(path, number)}: expected the number of a stay, got {stay[:40]!r}")
            if parts.setdefault(stay, match[1]) != match[1] and stay:
                raise DataFormatError(f"{at(path, number)}: expected a stay of one part only, got {stay} again")
    parts.pop("", None)
    return {stay: "valid" if part == "dev" else part for stay, part in parts.items()}


def _find(folder: Path, name: str) -> Path:
    found = next((folder / n for n in (name, f"{name}.gz") if (folder / n).is_file()), None)
    if found is None:
        raise DataFormatError(f"{folder.name}: expected a file {name} or {name}.gz in this folder")
    return found


def _cell(row: dict[str, str], column: str, where: str) -> str:
    if column not in row:
        raise DataFormatError(f"{where}: expected a column {column!r}, got {', '.join(row)}")
    value = row[column].strip()
    return value.removesuffix(".0") if column.endswith("_ID") else value
