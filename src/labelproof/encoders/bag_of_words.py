"""Texts as bags of words, as they are or through one hidden layer: what TF-IDF and hashing share."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction.text import CountVectorizer
from torch import Tensor, nn

from labelproof.encoders.encoder import Encoder
from labelproof.encoders.layers import Bag, dense_rows
from labelproof.encoders.options import check_dropout, check_flag, hold_whole_numbers
from labelproof.encoders.rows import RaggedRows
from labelproof.encoders.texts import read_texts
from labelproof.encoders.views.weightings import Idf
from labelproof.proof.domains import Domain

__all__ = ["BagOfWordsEncoder", "BagOfWordsOptions", "vectorizer_of"]

TEXTS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True)
class BagOfWordsOptions:
    """Options that TF-IDF and hashing share.

    Parameters
    ----------
    hidden
        Width of the hidden layer, which has ReLU; None gives the weighted terms themselves, which are dense within a
        batch.
    dropout
        Share of its outputs that training sets to zero.
    ngrams
        Longest run of words that is a term: 1 for words alone, 2 for words and pairs of neighbours.
    sublinear
        Whether a term that occurs t times in a text counts 1 + ln t instead of t.
    lowercase
        Whether upper and lower case are one.
    """

    hidden: int | None = 256
    dropout: float = 0.2
    ngrams: int = 1
    sublinear: bool = True
    lowercase: bool = True

    def __post_init__(self) -> None:
        hold_whole_numbers(self, "ngrams")
        hold_whole_numbers(self, "hidden", or_none=True)
        check_dropout(self.dropout)
        check_flag("sublinear", self.sublinear)
        check_flag("lowercase", self.lowercase)


class BagOfWordsEncoder(Encoder):
    """Weighted terms of a text → the sum of their embeddings → ReLU and dropout; or the terms alone.

    A text without any known term is a row without entries: its features are those of the bias alone.
    """

    options: BagOfWordsOptions

    def __init__(self, options: BagOfWordsOptions, n_inputs: int) -> None:
        super().__init__()
        self.options = options
        self.width = n_inputs if options.hidden is None else options.hidden
        self.bag = None if options.hidden is None else Bag(n_inputs, self.width, scale=self.width**-0.5)
        self.dropout = nn.Dropout(options.dropout)

    @abstractmethod
    def counts(self, texts: Sequence[str]) -> Any:
        """Return how often each term occurs in each text, as a CSR array of float64 with sorted columns."""

    @abstractmethod
    def term_weights(self) -> npt.NDArray[np.float64]:
        """Return the weight of every term."""

    def prepare(self, inputs: Any) -> RaggedRows:
        """Return the terms of every text and their weights, of unit length."""
        texts, weighting = read_texts(inputs), Idf(self.term_weights(), float(self.options.sublinear))
        ends, ids, values = [np.zeros(1, np.int64)], [np.zeros(0, np.int32)], [np.zeros(0, np.float32)]
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            rows = weighting.features(self.counts(texts[first : first + TEXTS_AT_ONCE]))
            ends.append(ends[-1][-1] + rows.indptr[1:].astype(np.int64))
            ids.append(rows.indices.astype(np.int32))
            values.append(rows.data.astype(np.float32))
        return RaggedRows(np.concatenate(ends), np.concatenate(ids), np.concatenate(values))

    def domain(self) -> Domain:
        """Return that rows have length 1 or, after a hidden layer, that features are nonnegative."""
        return Idf.domain(1.0) if self.bag is None else "nonnegative"

    def collate(self, prepared: RaggedRows, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return terms, where each text begins among them, and weights."""
        return prepared.bags(rows)

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the features (n, width) of terms, offsets and weights."""
        return self.dropout(dense_rows(self.width, *batch) if self.bag is None else self.bag(*batch).relu())


def vectorizer_of(options: BagOfWordsOptions, terms: Sequence[str] | None = None) -> CountVectorizer:
    """Return scikit-learn's vectorizer for the options, with its terms where they are known.

    Examples
    --------
    >>> vectorizer_of(BagOfWordsOptions(ngrams=2)).build_analyzer()("A rose is a rose")
    ['rose', 'is', 'rose', 'rose is', 'is rose']
    """
    return CountVectorizer(
        ngram_range=(1, options.ngrams), lowercase=options.lowercase, vocabulary=terms, dtype=np.float64
    )
