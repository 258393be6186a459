"""MS-COCO: the categories of the objects in an image, from instances_train2017.json and its kin."""

import re
from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, collect
from labelproof.data.jsondocument import iter_members
from labelproof.data.part_files import join_parts
from labelproof.data.textfile import LIMITS, Limits
from labelproof.errors import DataFormatError

__all__ = ["read_coco"]

_PARTS = {"train": "train", "val": "valid", "test": "test"}


def read_coco(path: Path, limits: Limits = LIMITS) -> Dataset:
    """Read one file of annotations, or those in a folder or its folder ``annotations`` as parts.

    Images without objects are kept. The image of an example is ``<folder>/train2017/<file_name>``, whether it is
    there or not, where ``train2017`` is how the file of annotations ends, and the folder is that around
    ``annotations`` for a file in a folder of this name.
    """
    if path.is_file():
        folder = path.parent
        return _read(path, folder.parent if folder.name == "annotations" else folder, limits)
    inside = path / "annotations" if (path / "annotations").is_dir() else path
    parts = {}
    for name, called in _PARTS.items():
        for file in sorted(inside.glob(f"instances_{name}*.json*")):
            if called in parts:
                raise DataFormatError(f"{inside.name}: expected one file instances_{name}*.json, got several")
            parts[called] = _read(file, path, limits)
    if not parts:
        raise DataFormatError(f"{path.name}: expected files instances_*.json in this folder, got none")
    return join_parts(parts)


def _read(path: Path, root: Path, limits: Limits) -> Dataset:
    files: dict[int, str] = {}
    labels: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    try:
        for section, item in iter_members(path, limits):
            if section == "images":
                if item["id"] in files:
                    raise DataFormatError(f"{path.name}: expected every image once, got image {item['id']} twice")
                files[item["id"]] = str(item["file_name"])
            elif section == "annotations":
                labels.setdefault(item["image_id"], []).append(item["category_id"])
            elif section == "categories":
                names[item["id"]] = item["name"]
    except (KeyError, TypeError) as error:
        raise DataFormatError(
            f"{path.name}: expected images, annotations and categories with their keys ({error})"
        ) from error
    unknown = labels.keys() - files.keys()
    if unknown:
        raise DataFormatError(
            f"{path.name}: expected annotations of images in the file, got image {min(map(str, unknown))}"
        )
    wrong = {category for found in labels.values() for category in found} - names.keys()
    if wrong:
        raise DataFormatError(f"{path.name}: expected categories in the file, got category {min(map(str, wrong))}")
    match = re.search(r"instances_(\w+)\.json", path.name)
    folder = root / match[1] if match else root
    return collect(
        (
            Example(tuple(names[c] for c in labels.get(i, ())), image_path=str(folder / file))
            for i, file in files.items()
        ),
        label_names=list(names.values()),
    )
