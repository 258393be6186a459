"""Texts as the mean or the maximum of given token vectors."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from labelproof.encoders.model_files import read_json, read_text
from labelproof.encoders.options import check_flag, check_path, hold_whole_numbers
from labelproof.encoders.pretrained import PretrainedEncoder, PretrainedOptions
from labelproof.encoders.rows import RaggedRows, ragged
from labelproof.encoders.texts import read_texts, split_words
from labelproof.encoders.vector_files import read_matrix_file, read_word_vectors
from labelproof.errors import ModelFormatError
from labelproof.foundation.arguments import check_choice, whole_number
from labelproof.foundation.optional_packages import need

__all__ = ["StaticEncoder"]

_WORDS, _TOKENIZER = "words.json", "tokenizer.json"
_CHUNK = 1024  # texts that the tokenizer takes at a time


@dataclass(frozen=True, kw_only=True)
class StaticOptions(PretrainedOptions):
    """Options of `StaticEncoder`, beside those of all pretrained encoders.

    Parameters
    ----------
    path
        A directory with tokenizer.json and one .safetensors or .npz file that holds the matrix of token vectors; or a
        file of word vectors, see `read_word_vectors`.
    pooling
        ``mean`` or ``max`` of the vectors of a text's tokens.
    max_tokens
        Number of tokens after which a text is cut off; None takes all.
    max_words
        Number of words to read from a file of word vectors; None reads all.
    lowercase
        Whether words are looked up in lower case; a tokenizer has its own rule.
    """

    path: str | Path | None = None
    pooling: str = "mean"
    max_tokens: int | None = None
    max_words: int | None = None
    lowercase: bool = True
    batch_size: int = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("pooling", self.pooling, ("mean", "max"))
        hold_whole_numbers(self, "max_tokens", "max_words", or_none=True)
        check_path("path", self.path)
        check_flag("lowercase", self.lowercase)


class StaticEncoder(PretrainedEncoder):
    r"""Vectors of a text's tokens, pooled; unknown tokens do not count, and a text without known ones is zeros.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "vectors.txt")
    ...     _ = path.write_text("fox 1 2\ndog 3 4\n")
    ...     encoder = StaticEncoder.fitted([], path=str(path))
    >>> encoder.prepare(["A fox, a dog.", "nothing"]).values
    array([[2., 3.],
           [0., 0.]], dtype=float32)
    """

    kind: ClassVar[str] = "static"
    Options: ClassVar[type] = StaticOptions
    FACTS: ClassVar[tuple[str, ...]] = ("n_tokens", "dim", "splits")
    SOURCES: ClassVar[tuple[str, ...]] = ("path",)
    options: StaticOptions
    model: nn.Embedding

    def __init__(self, options: StaticOptions, n_tokens: int, dim: int, tokens: Any) -> None:
        super().__init__(options, nn.Embedding(n_tokens, dim), dim)
        self.n_tokens = n_tokens
        self.tokens = tokens  # the words in their order, or a tokenizer
        self.splits = "words" if isinstance(tokens, tuple) else "tokens"

    @classmethod
    def _learn(cls, inputs: Any, options: StaticOptions) -> Self:
        read_texts(inputs)
        if options.path is None:
            raise ValueError("path must name a directory or a file of token vectors, got None")
        path = Path(options.path)
        if path.is_dir():
            vectors = read_matrix_file(_matrix_of(path))
            tokens = _read_tokenizer(path / _TOKENIZER, len(vectors))
        else:
            given = read_word_vectors(path, most=options.max_words)
            tokens, vectors = given.words, given.vectors
        encoder = cls(options, vectors.shape[0], vectors.shape[1], tokens)
        with torch.no_grad():
            encoder.model.weight.copy_(torch.from_numpy(vectors))
        return encoder

    def read(self, inputs: Any) -> RaggedRows:
        """Return the numbers of every text's known tokens."""
        texts = read_texts(inputs)
        rows = self._by_words(texts) if self.splits == "words" else self._by_tokenizer(texts)
        return ragged(islice(row, self.options.max_tokens) for row in rows)

    def _by_words(self, texts: Sequence[str]) -> Iterator[list[int]]:
        words = split_words(lowercase=self.options.lowercase)
        numbers = {word: number for number, word in enumerate(self.tokens)}
        return ([numbers[word] for word in words(text) if word in numbers] for text in texts)

    def _by_tokenizer(self, texts: Sequence[str]) -> Iterator[list[int]]:
        unknown = getattr(self.tokens.model, "unk_token", None)
        skip = None if unknown is None else self.tokens.token_to_id(unknown)
        for start in range(0, len(texts), _CHUNK):
            chunk = list(texts[start : start + _CHUNK])
            for encoding in self.tokens.encode_batch(chunk, add_special_tokens=False):
                yield [number for number in encoding.ids if number != skip]

    def gather(self, prepared: RaggedRows, rows: npt.NDArray[np.int64]) -> tuple[Tensor, ...]:
        """Return tokens, and where each text begins among them."""
        return prepared.bags(rows)

    def embed(self, *batch: Tensor) -> Tensor:
        """Return the pooled vectors (n, dim) of tokens and offsets."""
        tokens, offsets = batch
        return embedding_bag(tokens, self.model.weight, offsets, mode=self.options.pooling)

    def save_files(self, folder: Path) -> None:
        """Write words.json, a list, or tokenizer.json."""
        if self.splits == "words":
            (Path(folder) / _WORDS).write_text(json.dumps(self.tokens), encoding="utf-8")
        else:
            (Path(folder) / _TOKENIZER).write_text(self.tokens.to_str(), encoding="utf-8")

    @classmethod
    def _restore(cls, options: StaticOptions, facts: dict[str, Any], folder: Path) -> Self:
        n_tokens = whole_number("n_tokens", facts["n_tokens"], minimum=1)
        dim = whole_number("dim", facts["dim"], minimum=1)
        check_choice("splits", facts["splits"], ("words", "tokens"))
        if facts["splits"] == "words":
            return cls(options, n_tokens, dim, _read_words(folder / _WORDS, n_tokens))
        return cls(options, n_tokens, dim, _read_tokenizer(folder / _TOKENIZER, n_tokens))


def _read_tokenizer(path: Path, n_vectors: int) -> Any:
    need("tokenizers", "the static encoder")
    from tokenizers import Tokenizer

    content = read_text(path)
    try:
        tokenizer = Tokenizer.from_str(content)
    except Exception as error:  # the type that the tokenizers package raises
        raise ModelFormatError(f"{path}: expected a tokenizer, got {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    largest = max(tokenizer.get_vocab().values(), default=-1)
    if largest >= n_vectors:
        raise ModelFormatError(f"{path}: expected tokens below {n_vectors}, the number of vectors, got {largest}")
    return tokenizer


def _matrix_of(folder: Path) -> Path:
    files = sorted(path for path in folder.iterdir() if path.suffix in {".safetensors", ".npz"})
    if len(files) != 1:
        names = ", ".join(path.name for path in files) or "none"
        raise ModelFormatError(f"{folder}: expected one .safetensors or .npz file of token vectors, got {names}")
    return files[0]


def _read_words(path: Path, n_words: int) -> tuple[str, ...]:
    words = read_json(path)
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ModelFormatError(f"{path}: expected a list of strings")
    if len(words) != n_words or len(set(words)) != n_words:
        raise ModelFormatError(f"{path}: expected {n_words} different words, got {len(set(words))}")
    return tuple(words)
