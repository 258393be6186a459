"""Open Images v6: labels of images that people have confirmed, in CSV files.

A folder holds ``*train-annotations-human-imagelabels.csv`` and its kin (``validation``, ``test``), with the columns
ImageID, LabelName and Confidence, and ``*class-descriptions*.csv``, which names the labels.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.delimited import iter_table
from labelproof.data.examples import Example, collect
from labelproof.data.textfile import LIMITS, Limits, bare_name, read_lines
from labelproof.errors import DataFormatError

__all__ = ["read_open_images"]

_PARTS = {"train": "train", "validation": "valid", "test": "test"}


def read_open_images(folder: Path, limits: Limits = LIMITS) -> Dataset:
    """Read the confirmed labels (Confidence 1) of every image that somebody looked at, also those with none.

    The image of an example is ``train/<ImageID>.jpg`` (``validation``, ``test``) in this folder, whether it is there
    or not. Labels with a name of their own are called by it, others by their code.
    """
    names = _label_names(folder, limits)
    return collect(_examples(folder, names, limits), label_names=list(names.values()))


def _examples(folder: Path, names: dict[str, str], limits: Limits) -> Iterator[Example]:
    found = False
    for part, called in _PARTS.items():
        for path in sorted(folder.glob(f"*{part}-annotations-human-imagelabels.csv*")):
            found = True
            for image, labels in _labels(path, names, limits).items():
                place = folder / part / f"{image}.jpg"
                yield Example(tuple(labels), image_path=str(place), split=called)
    if not found:
        raise DataFormatError(f"{folder.name}: expected files *-annotations-human-imagelabels.csv in this folder")


def _labels(path: Path, names: dict[str, str], limits: Limits) -> dict[str, list[str]]:
    images: dict[str, list[str]] = {}
    for where, row in iter_table(path, limits):
        missing = {"ImageID", "LabelName", "Confidence"} - row.keys()
        if missing:
            raise DataFormatError(f"{where}: expected a column {min(missing)!r}, got {', '.join(row)}")
        if names and row["LabelName"] not in names:
            raise DataFormatError(f"{where}: expected a label of the class descriptions, got {row['LabelName']!r}")
        labels = images.setdefault(row["ImageID"], [])
        if row["Confidence"] in ("1", "1.0"):
            labels.append(names.get(row["LabelName"], row["LabelName"]))
        elif row["Confidence"] not in ("0", "0.0"):
            raise DataFormatError(f"{where}: expected a Confidence of 0 or 1, got {row['Confidence']!r}")
    return images


def _label_names(folder: Path, limits: Limits) -> dict[str, str]:
    """Return the names of the labels by their codes; v6 has a header line, earlier versions have none."""
    files = sorted(path for path in folder.glob("*class-descriptions*") if bare_name(path).endswith(".csv"))
    if not files:
        return {}
    pairs = {}
    for _, line in read_lines(files[0], limits):
        code, _, name = line.partition(",")
        if code and code != "LabelName":
            pairs[code] = name.strip('"').replace('""', '"')
    uses = Counter(pairs.values())
    return {code: name if uses[name] == 1 else code for code, name in pairs.items()}
