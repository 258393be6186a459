"""Movie posters: MovieGenre.csv with the columns imdbId, Title and Genre (``Action|Comedy``), and images by imdbId."""

from collections.abc import Iterator
from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.delimited import iter_table
from labelproof.data.examples import Example, collect
from labelproof.data.textfile import LIMITS, Limits
from labelproof.errors import DataFormatError

__all__ = ["read_posters"]


def read_posters(path: Path, limits: Limits = LIMITS, *, only_with_image: bool = False) -> Dataset:
    """Read the genres of every film; the image is ``<folder>/posters/<imdbId>.jpg``.

    Parameters
    ----------
    path
        The file, or the folder that holds MovieGenre.csv.
    limits
        How much is read.
    only_with_image
        Whether films whose image is not there are passed over.
    """
    table = path / "MovieGenre.csv" if path.is_dir() else path
    return collect(_examples(table, limits, only_with_image=only_with_image))


def _examples(table: Path, limits: Limits, *, only_with_image: bool) -> Iterator[Example]:
    seen = set()
    for where, row in iter_table(table, limits, encoding="latin-1"):
        missing = {"imdbId", "Title", "Genre"} - row.keys()
        if missing:
            raise DataFormatError(f"{where}: expected a column {min(missing)!r}, got {', '.join(row)}")
        image = table.parent / "posters" / f"{row['imdbId']}.jpg"
        if row["imdbId"] in seen or (only_with_image and not image.is_file()):  # the table lists some films twice
            continue
        seen.add(row["imdbId"])
        genres = tuple(genre.strip() for genre in row["Genre"].split("|") if genre.strip())
        yield Example(genres, text=row["Title"], image_path=str(image))
