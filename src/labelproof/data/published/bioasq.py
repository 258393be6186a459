"""BioASQ task A: one JSON document ``{"articles": [{"title", "abstractText", "meshMajor", "year", …}, …]}``."""

from collections.abc import Iterator
from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, collect
from labelproof.data.jsondocument import iter_members
from labelproof.data.jsonl import string_list
from labelproof.data.textfile import LIMITS, Limits
from labelproof.errors import DataFormatError

__all__ = ["iter_bioasq", "read_bioasq"]


def read_bioasq(path: Path, limits: Limits = LIMITS) -> Dataset:
    """Read the articles of a training file such as allMeSH_2021.json."""
    return collect(iter_bioasq(path, limits))


def iter_bioasq(path: Path, limits: Limits = LIMITS, *, encoding: str = "utf-8") -> Iterator[Example]:
    """Yield title and abstract of every article with its MeSH headings and the year; the file may be of any size.

    Parameters
    ----------
    path
        The file.
    limits
        How much is read.
    encoding
        How the text is written; some years' files are in ``latin-1``.
    """
    number = 0
    for name, article in iter_members(path, limits, encoding=encoding):
        if name != "articles":
            continue
        number += 1
        where = f"{path.name}, article {number}"
        if not isinstance(article, dict):
            raise DataFormatError(f"{where}: expected an object, got {type(article).__name__}")
        parts = (article.get("title"), article.get("abstractText"))
        text = "\n\n".join(str(part) for part in parts if part)
        yield Example(tuple(string_list(article, "meshMajor", where)), text=text, time=str(article.get("year") or ""))
    if not number:
        raise DataFormatError(f"{path.name}: expected a list 'articles', got none")
