"""PubMed articles with their MeSH headings: NLM's baseline files in XML, or one JSON object per line."""

from collections.abc import Iterator
from pathlib import Path

from labelproof.data.dataset import Dataset
from labelproof.data.examples import Example, collect
from labelproof.data.jsonl import iter_objects, string_list
from labelproof.data.textfile import LIMITS, Limits, bare_name
from labelproof.data.xmlfile import Element, iter_elements
from labelproof.errors import DataFormatError

__all__ = ["iter_pubmed", "read_pubmed"]


def read_pubmed(path: Path, limits: Limits = LIMITS) -> Dataset:
    """Read the articles that have an abstract from a file, or from all files of a folder."""
    files = [path]
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if bare_name(file).endswith((".xml", ".jsonl")))
        if not files:
            raise DataFormatError(f"{path.name}: expected files .xml or .jsonl in this folder, got none")
    return collect(example for file in files for example in iter_pubmed(file, limits))


def iter_pubmed(path: Path, limits: Limits = LIMITS, *, with_abstract: bool = True) -> Iterator[Example]:
    """Yield title and abstract of every article with its MeSH descriptors and the year.

    Parameters
    ----------
    path
        A baseline file such as pubmed20n0014.xml.gz, or .jsonl with ``title``, ``abstract``, ``mesh`` and ``year``.
    limits
        How much is read.
    with_abstract
        Pass over articles without one.
    """
    articles = _from_xml(path, limits) if bare_name(path).endswith(".xml") else _from_json(path, limits)
    for title, abstract, mesh, year in articles:
        if abstract or not with_abstract:
            yield Example(tuple(mesh), text="\n\n".join(part for part in (title, abstract) if part), time=year)


_Article = tuple[str, str, list[str], str]


def _from_json(path: Path, limits: Limits) -> Iterator[_Article]:
    for where, row in iter_objects(path, limits):
        mesh = string_list(row, "mesh", where)
        title, abstract, year = (str(row.get(name) or "") for name in ("title", "abstract", "year"))
        yield title, abstract, mesh, year


def _from_xml(path: Path, limits: Limits) -> Iterator[_Article]:
    for article in iter_elements(path, {"PubmedArticle"}, limits):
        citation = article.find("MedlineCitation")
        if citation is None:
            raise DataFormatError(f"{path.name}, line {article.line}: expected <MedlineCitation> in <PubmedArticle>")
        abstract = " ".join(part.text for part in citation.find_all("Article/Abstract/AbstractText"))
        mesh = [name.text for name in citation.find_all("MeshHeadingList/MeshHeading/DescriptorName")]
        yield _text(citation, "Article/ArticleTitle"), abstract.strip(), list(dict.fromkeys(mesh)), _year(citation)


def _text(element: Element, path: str) -> str:
    found = element.find(path)
    return "" if found is None else found.text


def _year(citation: Element) -> str:
    date = "Article/Journal/JournalIssue/PubDate"
    return _text(citation, f"{date}/Year") or _text(citation, f"{date}/MedlineDate")[:4]
