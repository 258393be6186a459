"""Pascal-VOC: the classes of the objects in an image, from Annotations/*.xml and the lists in ImageSets/Main."""

from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, collect
from labelproof.data.textfile import LIMITS, Limits, read_lines
from labelproof.data.xmlfile import iter_elements
from labelproof.errors import DataFormatError

__all__ = ["read_voc"]

_PARTS = {"train": "train", "val": "valid", "test": "test"}


def read_voc(folder: Path, limits: Limits = LIMITS, *, difficult: bool = True) -> Dataset:
    """Read a folder such as VOC2007; its lists train.txt, val.txt and test.txt, where there are any, are the split.

    Parameters
    ----------
    folder
        It holds ``Annotations`` and perhaps ``ImageSets/Main``.
    limits
        How much is read.
    difficult
        Whether objects that are marked as difficult count.
    """
    split: dict[str, str] = {}
    for name, part in _PARTS.items():
        listed = folder / "ImageSets" / "Main" / f"{name}.txt"
        if listed.is_file():
            split |= {line.split()[0]: part for _, line in read_lines(listed, limits) if line.strip()}
    files = {path.stem: path for path in sorted((folder / "Annotations").glob("*.xml"))}
    if not files:
        raise DataFormatError(f"{folder.name}: expected files Annotations/*.xml in this folder, got none")
    missing = split.keys() - files.keys()
    if missing:
        raise DataFormatError(f"{folder.name}: expected Annotations/{min(missing)}.xml, which a list names")
    chosen = split or dict.fromkeys(files)
    return collect(_example(files[stem], folder, split.get(stem), limits, difficult=difficult) for stem in chosen)


def _example(path: Path, folder: Path, split: str | None, limits: Limits, *, difficult: bool) -> Example:
    annotation = next(iter_elements(path, {"annotation"}, limits), None)
    if annotation is None:
        raise DataFormatError(f"{path.name}: expected an element <annotation>, got none")
    labels = []
    for item in annotation.find_all("object"):
        name, hard = item.find("name"), item.find("difficult")
        if name is None:
            raise DataFormatError(f"{path.name}, line {item.line}: expected <name> in <object>")
        if difficult or hard is None or hard.text != "1":
            labels.append(name.text)
    file = annotation.find("filename")
    image = folder / "JPEGImages" / (f"{path.stem}.jpg" if file is None else Path(file.text).name)
    return Example(tuple(labels), image_path=str(image), split=split)
