"""The terms that an encoder knows, learned from training texts and kept in a JSON file."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.encoders.model_files import read_json
from labelproof.errors import ModelFormatError

__all__ = ["Vocabulary"]

_FILE = "vocabulary.json"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Terms in alphabetical order, with the number of training texts that hold each.

    Parameters
    ----------
    terms
        Different strings.
    document_frequency
        int64 array, one number for each term.
    n_documents
        Number of texts that they were counted in.

    Examples
    --------
    >>> learned = Vocabulary.learned([["to", "be"], ["to", "do", "to"]], most=2)
    >>> learned.terms, learned.document_frequency.tolist(), learned.n_documents
    (('be', 'to'), [1, 2], 2)
    """

    terms: tuple[str, ...]
    document_frequency: npt.NDArray[np.int64]
    n_documents: int

    def __len__(self) -> int:
        return len(self.terms)

    @classmethod
    def learned(
        cls, documents: Iterable[Iterable[str]], *, most: int | None = None, least_frequency: int = 1
    ) -> "Vocabulary":
        """Return the terms of the most documents, alphabetical order deciding between equals.

        Parameters
        ----------
        documents
            The terms of every text, repeated as they occur.
        most
            Number of terms to keep; None keeps all.
        least_frequency
            Number of texts that must hold a term.
        """
        counts: Counter[str] = Counter()
        n_documents = 0
        for document in documents:
            counts.update(set(document))
            n_documents += 1
        frequent = ((term, count) for term, count in counts.items() if count >= least_frequency)
        ranked = sorted(frequent, key=lambda item: (-item[1], item[0]))
        kept = sorted(islice(ranked, most))
        if not kept:
            raise ValueError(
                f"inputs must hold a word that is in at least {least_frequency} of the texts, "
                f"got none in {n_documents} texts"
            )
        return cls(tuple(term for term, _ in kept), np.array([count for _, count in kept], np.int64), n_documents)

    def numbers(self, first: int = 0) -> dict[str, int]:
        """Return the number of every term, counted from the first."""
        return {term: number for number, term in enumerate(self.terms, first)}

    def save(self, folder: Path) -> None:
        """Write vocabulary.json."""
        content = {
            "n_documents": self.n_documents,
            "document_frequency": self.document_frequency.tolist(),
            "terms": self.terms,
        }
        (Path(folder) / _FILE).write_text(json.dumps(content), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path, n_terms: int) -> "Vocabulary":
        """Read vocabulary.json, which must hold this many terms."""
        path = Path(folder) / _FILE
        content = read_json(path)
        fault = _fault(content, n_terms)
        if fault:
            raise ModelFormatError(f"{path}: expected {fault}")
        frequency = np.array(content["document_frequency"], np.int64)
        return cls(tuple(content["terms"]), frequency, content["n_documents"])


def _fault(content: Any, n_terms: int) -> str | None:
    """Return what the content of a vocabulary file should be and is not."""
    names = {"n_documents", "document_frequency", "terms"}
    if not isinstance(content, dict) or set(content) != names:
        return f"an object of {', '.join(sorted(names))}"
    terms, frequency, n_documents = content["terms"], content["document_frequency"], content["n_documents"]
    if not isinstance(terms, list) or not all(isinstance(term, str) for term in terms):
        return "terms to be a list of strings"
    if len(terms) != n_terms or len(set(terms)) != n_terms:
        return f"{n_terms} different terms, got {len(set(terms))}"
    if type(n_documents) is not int or not 1 <= n_documents < 2**63:
        return f"n_documents to be a positive integer, got {n_documents!r}"
    whole = isinstance(frequency, list) and all(type(count) is int for count in frequency)
    if not whole or len(frequency) != n_terms or not all(1 <= count <= n_documents for count in frequency):
        return f"document_frequency to hold {n_terms} integers from 1 to {n_documents}"
    return None
