"""Texts as TF-IDF through an embedding bag."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.encoders.bag_of_words import BagOfWordsEncoder, BagOfWordsOptions, vectorizer_of
from labelproof.encoders.options import hold_whole_numbers
from labelproof.encoders.texts import read_texts
from labelproof.encoders.vocabulary import Vocabulary
from labelproof.foundation.arguments import whole_number

__all__ = ["TfidfEncoder"]


@dataclass(frozen=True, kw_only=True)
class TfidfOptions(BagOfWordsOptions):
    """Options of `TfidfEncoder`, beside those of all bags of words.

    Parameters
    ----------
    max_features
        Number of terms to keep, those that are in the most texts; None keeps all.
    min_df
        Number of training texts that must hold a term.
    """

    max_features: int | None = 50_000
    min_df: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        hold_whole_numbers(self, "max_features", or_none=True)
        hold_whole_numbers(self, "min_df")


class TfidfEncoder(BagOfWordsEncoder):
    """Words weighted by (1 + ln t) (ln((1 + n) / (1 + f)) + 1), rows of unit length, then an embedding bag.

    A word occurs t times in the text and in f of the n training texts. The weights are those of scikit-learn's
    TfidfVectorizer with ``sublinear_tf=True``; words that training did not see do not count.

    Examples
    --------
    >>> encoder = TfidfEncoder.fitted(["a red fox", "a red wine"], hidden=4)
    >>> encoder.vocabulary.terms
    ('fox', 'red', 'wine')
    >>> rows = encoder.prepare(["red red fox", ""])
    >>> rows.indptr.tolist(), rows.ids.tolist(), rows.values.round(3).tolist()
    ([0, 2, 2], [0, 1], [0.6389999985694885, 0.7689999938011169])
    """

    kind: ClassVar[str] = "tfidf"
    Options: ClassVar[type] = TfidfOptions
    FACTS: ClassVar[tuple[str, ...]] = ("n_terms",)

    def __init__(self, options: TfidfOptions, vocabulary: Vocabulary) -> None:
        super().__init__(options, len(vocabulary))
        self.vocabulary = vocabulary
        self.n_terms = len(vocabulary)

    @classmethod
    def _learn(cls, inputs: Any, options: TfidfOptions) -> Self:
        documents = map(vectorizer_of(options).build_analyzer(), read_texts(inputs))
        return cls(options, Vocabulary.learned(documents, most=options.max_features, least_frequency=options.min_df))

    def counts(self, texts: Sequence[str]) -> Any:
        """Return how often each known term occurs in each text."""
        return scipy.sparse.csr_array(vectorizer_of(self.options, self.vocabulary.terms).transform(texts))

    def term_weights(self) -> npt.NDArray[np.float64]:
        """Return the inverse document frequency of every term."""
        return np.log((1 + self.vocabulary.n_documents) / (1 + self.vocabulary.document_frequency)) + 1

    def save_files(self, folder: Path) -> None:
        """Write vocabulary.json."""
        self.vocabulary.save(folder)

    @classmethod
    def _restore(cls, options: TfidfOptions, facts: dict[str, Any], folder: Path) -> Self:
        return cls(options, Vocabulary.load(folder, whole_number("n_terms", facts["n_terms"], minimum=1)))
