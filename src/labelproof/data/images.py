"""A folder of images with a table of their labels."""

from collections.abc import Iterator
from pathlib import Path

from labelproof.data.columns import Columns, read_rows
from labelproof.data.delimited import iter_table
from labelproof.data.examples import Example
from labelproof.data.textfile import LIMITS, Limits
from labelproof.errors import DataFormatError

__all__ = ["iter_images", "labels_table"]


def labels_table(folder: Path) -> Path | None:
    """Return the table of a folder's labels: ``labels.csv`` or ``labels.tsv``, or None."""
    return next((folder / name for name in ("labels.csv", "labels.tsv") if (folder / name).is_file()), None)


def iter_images(folder: Path, columns: Columns, limits: Limits = LIMITS) -> Iterator[Example]:
    """Yield the path and labels of every image that the folder's table names; all of them must be there."""
    table = labels_table(folder)
    if table is None:
        raise DataFormatError(f"{folder.name}: expected a file labels.csv or labels.tsv in this folder of images")
    for number, example in enumerate(read_rows(iter_table(table, limits), columns, source=table.name), 1):
        if example.image_path is None:
            raise DataFormatError(f"{table.name}: expected a column 'image', or another named by image=")
        path = folder / example.image_path
        if not path.is_file():
            raise DataFormatError(
                f"{table.name}, example {number}: expected the image {example.image_path!r}, got no such file"
            )
        yield example._replace(image_path=str(path))
