"""Texts as sequences of word vectors: what the CNN and the GRU share."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from labelproof.encoders.encoder import Encoder
from labelproof.encoders.options import check_dropout, check_flag, check_path, hold_whole_numbers
from labelproof.encoders.rows import RaggedRows, ragged
from labelproof.encoders.texts import read_texts, split_words
from labelproof.encoders.vector_files import read_word_vectors
from labelproof.encoders.vocabulary import Vocabulary
from labelproof.errors import ModelFormatError
from labelproof.foundation.arguments import whole_number

__all__ = ["PADDING", "WordSequenceEncoder", "WordSequenceOptions"]

PADDING, UNKNOWN = 0, 1  # the known words are numbered from 2


@dataclass(frozen=True, kw_only=True)
class WordSequenceOptions:
    """Options that the CNN and the GRU share.

    Parameters
    ----------
    dim
        Number of dimensions of the word vectors.
    vectors
        File of word vectors to start from, see `read_word_vectors`; words that it lacks start at random.
    train_vectors
        Whether training changes the word vectors.
    max_tokens
        Number of words after which a text is cut off.
    max_words
        Number of words to know, those that are in the most texts; None knows all.
    min_df
        Number of training texts that must hold a word.
    lowercase
        Whether upper and lower case are one.
    dropout
        Share of the word vectors' numbers that training sets to zero.
    """

    dim: int = 100
    vectors: str | Path | None = None
    train_vectors: bool = True
    max_tokens: int = 2500
    max_words: int | None = 50_000
    min_df: int = 1
    lowercase: bool = True
    dropout: float = 0.2

    def __post_init__(self) -> None:
        hold_whole_numbers(self, "dim", "max_tokens", "min_df")
        hold_whole_numbers(self, "max_words", or_none=True)
        check_path("vectors", self.vectors)
        check_flag("train_vectors", self.train_vectors)
        check_flag("lowercase", self.lowercase)
        check_dropout(self.dropout)


class WordSequenceEncoder(Encoder):
    """Words of a text → their vectors, in order.

    Words that training did not see share one vector, which starts at zero; an empty text is one padding vector of
    zeros. Padding never changes the output.
    """

    FACTS: ClassVar[tuple[str, ...]] = ("n_terms",)
    SOURCES: ClassVar[tuple[str, ...]] = ("vectors",)
    options: WordSequenceOptions

    def __init__(self, options: WordSequenceOptions, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.options = options
        self.vocabulary = vocabulary
        self.n_terms = len(vocabulary)
        self.embedding = nn.Embedding(self.n_terms + 2, options.dim, padding_idx=PADDING)
        nn.init.uniform_(self.embedding.weight, -0.25, 0.25)
        with torch.no_grad():
            self.embedding.weight[[PADDING, UNKNOWN]] = 0
        self.embedding.weight.requires_grad_(options.train_vectors)
        self.dropout = nn.Dropout(options.dropout)

    @classmethod
    def _learn(cls, inputs: Any, options: WordSequenceOptions) -> Self:
        words = split_words(lowercase=options.lowercase)
        documents = (words(text)[: options.max_tokens] for text in read_texts(inputs))
        vocabulary = Vocabulary.learned(documents, most=options.max_words, least_frequency=options.min_df)
        encoder = cls(options, vocabulary)
        if options.vectors is not None:
            encoder._start_from(Path(options.vectors))
        return encoder

    @torch.no_grad()
    def _start_from(self, path: Path) -> None:
        numbers = self.vocabulary.numbers(first=UNKNOWN + 1)
        given = read_word_vectors(path, keep=numbers)
        if given.vectors.shape[1] != self.options.dim:
            raise ValueError(f"dim must be {given.vectors.shape[1]}, as in the file of vectors, got {self.options.dim}")
        if not given.words:
            raise ModelFormatError(f"{path}: expected vectors of words that are in the training texts, got none")
        rows = torch.tensor([numbers[word] for word in given.words])
        self.embedding.weight[rows] = torch.from_numpy(given.vectors)

    def word_numbers(self) -> Callable[[str], list[int]]:
        """Return the function that gives the numbers of a text's words, cut off at ``max_tokens``."""
        words = split_words(lowercase=self.options.lowercase)
        numbers = self.vocabulary.numbers(first=UNKNOWN + 1)
        return lambda text: [numbers.get(word, UNKNOWN) for word in islice(words(text), self.options.max_tokens)]

    def prepare(self, inputs: Any) -> RaggedRows:
        """Return the numbers of every text's words."""
        return ragged(map(self.word_numbers(), read_texts(inputs)))

    def collate(self, prepared: RaggedRows, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return the words (n, longest text) filled up with padding, and the lengths (n,)."""
        return prepared.padded(rows, padding=PADDING)

    def save_files(self, folder: Path) -> None:
        """Write vocabulary.json."""
        self.vocabulary.save(folder)

    @classmethod
    def _restore(cls, options: WordSequenceOptions, facts: dict[str, Any], folder: Path) -> Self:
        return cls(options, Vocabulary.load(folder, whole_number("n_terms", facts["n_terms"], minimum=1)))
