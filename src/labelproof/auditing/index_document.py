"""The audit of an embedding index as a document: what its audit.json holds, and all that its report is made from."""

from typing import TypedDict

__all__ = ["FORMAT", "AtDepth", "AtWidth", "Impossible", "IndexDocument", "IndexFacts", "files_of"]

FORMAT = "labelproof-index"


class IndexFacts(TypedDict):
    """Which documents were asked about, and by which queries."""

    name: str
    n_documents: int
    n_features: int
    dtype: str
    cosine: bool  # rows were divided by their lengths, rounded once, and are exact as stored
    n_queries: int
    n_sets: int  # distinct sets of relevant documents
    smallest: int
    largest: int  # documents of a set
    twins: int  # documents with the same vector as another one, at the full width


class AtDepth(TypedDict):
    """For how many queries some vector has all relevant documents among its best k."""

    k: int | None  # None: as many as there are relevant ones
    queries: int  # those with at most k relevant documents
    possible: int
    impossible: int
    open: int


class AtWidth(TypedDict):
    """What remains possible when vectors are cut to their first numbers."""

    width: int
    depths: list[AtDepth]
    check_command: str
    seconds: float


class Impossible(TypedDict):
    """Relevant documents that no query vector ranks above all others."""

    width: int
    queries: list[str]
    documents: list[int]
    rivals: list[int]  # of which one is always ranked above some of the documents
    least: int  # among the best so many they may be at most; proven
    most: int | None  # among the best so many some vector has them all; None if unknown
    sentence: str


class IndexDocument(TypedDict):
    """All of an audit of an index but the proofs."""

    format: str
    version: int
    labelproof: str
    headline: str
    index: IndexFacts
    document_names: list[str] | None
    ks: list[int]
    widths: list[AtWidth]
    narrowest: int | None  # the least width from which on every set is possible
    impossible: list[Impossible]  # at the largest width that has some
    notes: list[str]
    fail_under: float | None
    passed: bool
    seconds: float


def files_of(width: int) -> tuple[str, str]:
    """Return the files of an audit's folder that hold the proofs for a width and the vectors that they are about.

    Examples
    --------
    >>> files_of(64)
    ('proofs-64.npz', 'layer-64.npz')
    """
    return f"proofs-{width}.npz", f"layer-{width}.npz"
