"""Texts as bags of words, as they are or through one hidden layer: what TF-IDF and hashing share."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from labelproof.encoders.encoder import Encoder
from labelproof.encoders.layers import Bag, dense_rows
from labelproof.encoders.options import check_flag, check_share, hold_whole_numbers
from labelproof.encoders.rows import RaggedRows
from labelproof.encoders.texts import WORDS, ngrams, read_texts, split_words
from labelproof.encoders.weighting import weighted_rows

__all__ = ["BagOfWordsEncoder", "BagOfWordsOptions", "terms_of"]


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
        check_share("dropout", self.dropout)
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
    def term_numbers(self) -> Callable[[str], Iterable[int]]:
        """Return the function that gives the numbers of a text's terms, repeated as they occur."""

    def term_weights(self) -> npt.NDArray[np.float64] | None:
        """Return the weight of every term, or None where all weigh the same."""
        return None

    def prepare(self, inputs: Any) -> RaggedRows:
        """Return the terms of every text and their weights, of unit length."""
        return weighted_rows(
            read_texts(inputs), self.term_numbers(), weights=self.term_weights(), sublinear=self.options.sublinear
        )

    def collate(self, prepared: RaggedRows, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return terms, where each text begins among them, and weights."""
        return prepared.bags(rows)

    def forward(self, *batch: Tensor) -> Tensor:
        """Return the features (n, width) of terms, offsets and weights."""
        return self.dropout(dense_rows(self.width, *batch) if self.bag is None else self.bag(*batch).relu())


def terms_of(options: BagOfWordsOptions) -> Callable[[str], Iterator[str]]:
    """Return the function that gives the terms of a text, repeated as they occur.

    Examples
    --------
    >>> list(terms_of(BagOfWordsOptions(ngrams=2))("A rose is a rose"))
    ['rose', 'is', 'rose', 'rose is', 'is rose']
    """
    words = split_words(WORDS["long"], lowercase=options.lowercase)
    return lambda text: ngrams(words(text), options.ngrams)
