"""What views are made from: how often terms occur in texts, or given numbers without gaps.

A base learns only what has nothing to do with any label: which terms there are, what stands for a missing value.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer

from labelproof.encoders.matrices import read_matrix
from labelproof.encoders.texts import read_texts

__all__ = ["BASES", "Base", "GivenNumbers", "TermCounts"]

Floats = npt.NDArray[np.float64]


class Base(ABC):
    """A matrix made from raw inputs, one row for each."""

    kind: ClassVar[str]

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns."""

    @abstractmethod
    def matrix(self, inputs: Any) -> Any:
        """Return the rows of inputs: a CSR array or an array of float64, (n_examples, width)."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return what rebuilds the base, ready for JSON."""

    @classmethod
    @abstractmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the base that `facts` tell of."""


@dataclass(frozen=True, eq=False)
class TermCounts(Base):
    """How often terms occur in a text, counted by scikit-learn's CountVectorizer.

    Parameters
    ----------
    analyzer
        "word", or "char_wb" for runs of letters within words.
    ngrams
        Shortest and longest run of words or letters that is a term.
    terms
        In the order of the columns.

    Examples
    --------
    >>> base, counts = TermCounts.learned(["a red fox", "red wine", "red red"], "word", (1, 1), least=1)
    >>> base.terms, counts.toarray().tolist()
    (('fox', 'red', 'wine'), [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 2.0, 0.0]])
    """

    analyzer: str
    ngrams: tuple[int, int]
    terms: tuple[str, ...]
    kind: ClassVar[str] = "terms"

    @classmethod
    def learned(
        cls, texts: Sequence[str], analyzer: str, ngrams: tuple[int, int], *, least: int = 2, most: int = 50_000
    ) -> tuple[Self, Any]:
        """Return the terms that are in at least so many texts, the most frequent ones, and their counts."""
        vectorizer = CountVectorizer(
            analyzer=analyzer, ngram_range=ngrams, min_df=min(least, len(texts)), max_features=most, dtype=np.float64
        )
        counts = vectorizer.fit_transform(read_texts(texts))
        return cls(analyzer, ngrams, tuple(vectorizer.get_feature_names_out().tolist())), scipy.sparse.csr_array(counts)

    @property
    def width(self) -> int:
        """Number of terms."""
        return len(self.terms)

    def matrix(self, inputs: Any) -> Any:
        """Return the counts of texts as a CSR array."""
        vectorizer = CountVectorizer(
            analyzer=self.analyzer, ngram_range=self.ngrams, vocabulary=self.terms, dtype=np.float64
        )
        return scipy.sparse.csr_array(vectorizer.transform(read_texts(inputs)))

    def facts(self) -> dict[str, Any]:
        """Return analyzer, ngrams and terms."""
        return {"analyzer": self.analyzer, "ngrams": list(self.ngrams), "terms": list(self.terms)}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the base, checking what was read."""
        terms, ngrams = facts["terms"], facts["ngrams"]
        if facts["analyzer"] not in ("word", "char_wb") or len(ngrams) != 2 or not all(type(n) is int for n in ngrams):
            raise ValueError(f"expected an analyzer and its ngrams, got {facts['analyzer']!r} and {ngrams!r}")
        if not terms or not all(isinstance(term, str) for term in terms) or len(set(terms)) != len(terms):
            raise ValueError("expected different terms, got others")
        return cls(facts["analyzer"], (ngrams[0], ngrams[1]), tuple(terms))


@dataclass(frozen=True, eq=False)
class GivenNumbers(Base):
    """Features as they are given; a missing value (NaN) is the column's mean, and a column more says that it was.

    Parameters
    ----------
    means
        float64 (n_features,): what stands for a missing value of each column.
    gaps
        int64 (n_gaps,): columns with missing values in the training data, which get a column more.
    sparse
        Whether the training data were sparse, as which sparse features with gaps then stay.

    Examples
    --------
    >>> base = GivenNumbers.learned(np.array([[1.0, np.nan], [3.0, 4.0]]))
    >>> base.matrix(np.array([[np.nan, np.nan]]))
    array([[2., 4., 1.]])
    """

    means: Floats
    gaps: npt.NDArray[np.int64]
    sparse: bool = False
    kind: ClassVar[str] = "numbers"

    @classmethod
    def learned(cls, features: Any) -> Self:
        """Return the base of training features."""
        if scipy.sparse.issparse(features):
            return cls(*_sparse_means(scipy.sparse.csr_array(features)), sparse=True)
        missing = np.isnan(features)
        total = np.where(missing, 0.0, features).sum(axis=0)
        return cls(total / np.maximum((~missing).sum(axis=0), 1), np.flatnonzero(missing.any(axis=0)))

    @property
    def n_features(self) -> int:
        """Number of columns that are given."""
        return len(self.means)

    @property
    def width(self) -> int:
        """Number of columns, with those that tell of missing values."""
        return self.n_features + len(self.gaps)

    def matrix(self, inputs: Any) -> Any:
        """Return features without gaps."""
        if scipy.sparse.issparse(inputs):
            sparse = self._sparse_matrix(scipy.sparse.csr_array(inputs))
            return sparse if self.sparse or not len(self.gaps) else sparse.toarray()
        given = np.array(inputs, np.float64, ndmin=2)
        missing = np.isnan(given)
        if given.shape[1] == self.n_features:
            given = np.where(missing, self.means, given)
        given = read_matrix(given, self.n_features)
        return np.column_stack([given, missing[:, self.gaps]]) if len(self.gaps) else given

    def _sparse_matrix(self, given: Any) -> Any:
        values, missing = given.data.astype(np.float64), np.isnan(given.data)
        if given.shape[1] == self.n_features:
            values[missing] = self.means[given.indices[missing]]
        filled = scipy.sparse.csr_array((values, given.indices, given.indptr), shape=given.shape)
        filled = read_matrix(filled, self.n_features)
        if not len(self.gaps):
            return filled
        tells = filled.copy()
        tells.data = missing.astype(np.float64)
        tells.eliminate_zeros()
        return scipy.sparse.hstack([filled, tells[:, self.gaps]], format="csr")

    def facts(self) -> dict[str, Any]:
        """Return gaps, means and whether features are sparse."""
        return {"gaps": self.gaps.tolist(), "means": self.means.tolist(), "sparse": self.sparse}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Self:
        """Return the base, checking what was read."""
        gaps, means = np.array(facts["gaps"], np.int64), np.array(facts["means"], np.float64)
        if means.ndim != 1 or not len(means) or not np.isfinite(means).all():
            raise ValueError("expected a finite mean for each column, got others")
        if gaps.ndim != 1 or not ((gaps >= 0) & (gaps < len(means))).all():
            raise ValueError(f"expected columns below {len(means)}, got others")
        return cls(means, gaps, bool(facts.get("sparse", False)))


def _sparse_means(features: Any) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the mean of each column, its zeros included and its missing values not, and which columns have any."""
    n, width = features.shape
    missing = np.isnan(features.data)
    total = np.bincount(features.indices, np.where(missing, 0.0, features.data), minlength=width)
    counts = np.bincount(features.indices[missing], minlength=width)
    return total / np.maximum(n - counts, 1), np.flatnonzero(counts)


BASES: dict[str, type[Base]] = {base.kind: base for base in (TermCounts, GivenNumbers)}
