"""The hallmarks-of-cancer and chemical-exposure corpora: sentences of abstracts with labels of a taxonomy.

One JSON object per line with ``pmid``, ``sentences`` and ``labels``, a list for each sentence of paths such as
``sustaining proliferative signaling > cell cycle``. A path implies all its beginnings.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, collect
from labelproof.data.hierarchy import prefixes
from labelproof.data.jsonl import iter_objects, string_list
from labelproof.data.textfile import LIMITS, Limits
from labelproof.errors import DataFormatError
from labelproof.foundation.arguments import check_choice

__all__ = ["iter_corpus", "read_corpus"]


def read_corpus(path: Path, limits: Limits = LIMITS, *, level: str = "document") -> Dataset:
    """Read a corpus as documents or as sentences; the group of an example is its document's PubMed number.

    Parameters
    ----------
    path
        The file, or the folder that holds it alone.
    limits
        How much is read.
    level
        ``document``: sentences are joined, and so are their labels; ``sentence``: each stands for itself.
    """
    if path.is_dir():
        files = sorted(path.glob("*.jsonl*"))
        if len(files) != 1:
            raise DataFormatError(f"{path.name}: expected one .jsonl file in this folder, got {len(files)}")
        path = files[0]
    return collect(iter_corpus(path, limits, level=level))


def iter_corpus(path: Path, limits: Limits = LIMITS, *, level: str = "document") -> Iterator[Example]:
    """Yield the documents or sentences of a corpus."""
    check_choice("level", level, ("document", "sentence"))
    for where, row in iter_objects(path, limits):
        sentences, labels, pmid = _fields(row, where)
        if level == "document":
            sentences, labels = [" ".join(sentences)], [[label for paths in labels for label in paths]]
        for sentence, paths in zip(sentences, labels, strict=True):
            yield Example(_closed(paths, where), text=sentence, group=pmid)


def _fields(row: dict[str, Any], where: str) -> tuple[list[str], list[list[str]], str]:
    sentences, labels = string_list(row, "sentences", where), row.get("labels")
    if not isinstance(labels, list) or len(sentences) != len(labels):
        raise DataFormatError(f"{where}: expected 'sentences' and 'labels' to be lists of one length")
    for paths in labels:
        string_list({"labels": paths}, "labels", where)
    return sentences, labels, str(row.get("pmid", ""))


def _closed(paths: list[str], where: str) -> tuple[str, ...]:
    try:
        return tuple(dict.fromkeys(name for path in paths for name in prefixes(path, " > ")))
    except ValueError as error:
        raise DataFormatError(f"{where}: {error}") from error
