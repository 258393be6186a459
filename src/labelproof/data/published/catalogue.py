"""The published data sets by name; a folder of such a name is read in that format."""

import os
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example
from labelproof.data.published.arxiv import iter_arxiv, read_arxiv
from labelproof.data.published.bioasq import iter_bioasq, read_bioasq
from labelproof.data.published.coco import read_coco
from labelproof.data.published.corpora import iter_corpus, read_corpus
from labelproof.data.published.debian import iter_debian, read_debian
from labelproof.data.published.mimic import read_mimic
from labelproof.data.published.open_images import read_open_images
from labelproof.data.published.posters import read_posters
from labelproof.data.published.pubmed import iter_pubmed, read_pubmed
from labelproof.data.published.reuters import iter_reuters, read_reuters
from labelproof.data.published.sentence_pairs import iter_sick, iter_snli, read_sick, read_snli
from labelproof.data.published.voc import read_voc
from labelproof.data.textfile import Limits
from labelproof.errors import DataFormatError

__all__ = ["FORMATS", "STREAMS", "find_named"]

SHIPPED = Path(__file__).parents[1] / "shipped"

FORMATS: dict[str, Callable[[Path, Limits], Dataset]] = {
    "arxiv": read_arxiv,
    "bioasq": read_bioasq,
    "chemical_exposure": read_corpus,
    "coco": read_coco,
    "debian_packages": read_debian,
    "debtags": read_debian,
    "hallmarks_of_cancer": read_corpus,
    "mesh_pubmed": read_pubmed,
    "mimic": read_mimic,
    "open_images": read_open_images,
    "posters": read_posters,
    "reuters21578": read_reuters,
    "sick": read_sick,
    "snli": read_snli,
    "voc": read_voc,
}
STREAMS: dict[str, Callable[[Path, Limits], Iterator[Example]]] = {
    "arxiv": iter_arxiv,
    "bioasq": iter_bioasq,
    "chemical_exposure": iter_corpus,
    "debtags": iter_debian,
    "hallmarks_of_cancer": iter_corpus,
    "mesh_pubmed": iter_pubmed,
    "reuters21578": iter_reuters,
    "sick": iter_sick,
    "snli": iter_snli,
}


def find_named(name: str) -> Path:
    """Return the folder of this name under LABELPROOF_DATA, or among the data sets that come with the package."""
    root = os.environ.get("LABELPROOF_DATA")
    for place in (*((Path(root),) if root else ()), SHIPPED):
        if name and (place / name).is_dir():
            return place / name
    where = f"a folder of this name under {root}" if root else "a data set under LABELPROOF_DATA, which is not set"
    known = [path.name for place in (*((Path(root),) if root else ()), SHIPPED) for path in place.glob("[!._]*")]
    near = get_close_matches(name, known, 1)
    meant = f"; the nearest is {near[0]}" if near else ""
    raise DataFormatError(f"{name}: no such file or folder, nor {where}{meant}")
