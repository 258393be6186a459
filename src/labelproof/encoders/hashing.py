"""Texts as hashed words through an embedding bag: no vocabulary to learn or to keep."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse

from labelproof.encoders.bag_of_words import BagOfWordsEncoder, BagOfWordsOptions, vectorizer_of
from labelproof.encoders.options import hold_whole_numbers
from labelproof.encoders.rows import ragged
from labelproof.encoders.texts import read_texts

__all__ = ["HashingEncoder", "bucket_of"]


@dataclass(frozen=True, kw_only=True)
class HashingOptions(BagOfWordsOptions):
    """Options of `HashingEncoder`, beside those of all bags of words.

    Parameters
    ----------
    n_buckets
        Number of embeddings that the words share.
    """

    n_buckets: int = 2**16

    def __post_init__(self) -> None:
        super().__post_init__()
        hold_whole_numbers(self, "n_buckets")
        if self.n_buckets >= 2**31:
            raise ValueError(f"n_buckets must be below 2**31, got {self.n_buckets}")


class HashingEncoder(BagOfWordsEncoder):
    """Words numbered by a hash that is the same on every machine; words of one number share their embedding.

    Examples
    --------
    >>> encoder = HashingEncoder.fitted(["whatever"], hidden=4, n_buckets=1000)
    >>> encoder.prepare(["unseen words count too"]).ids.tolist()
    [17, 559, 593, 867]
    """

    kind: ClassVar[str] = "hashing"
    Options: ClassVar[type] = HashingOptions
    options: HashingOptions

    def __init__(self, options: HashingOptions) -> None:
        super().__init__(options, options.n_buckets)

    @classmethod
    def _learn(cls, inputs: Any, options: HashingOptions) -> Self:
        read_texts(inputs)
        return cls(options)

    def counts(self, texts: Sequence[str]) -> Any:
        """Return how many terms of each text fall into each bucket."""
        terms, n_buckets = vectorizer_of(self.options).build_analyzer(), self.options.n_buckets
        bucket = lru_cache(maxsize=2**17)(lambda term: bucket_of(term, n_buckets))
        found = ragged(map(bucket, terms(text)) for text in texts)
        counted = scipy.sparse.csr_array((np.ones(len(found.ids)), found.ids, found.indptr), (len(texts), n_buckets))
        counted.sum_duplicates()
        return counted

    def term_weights(self) -> npt.NDArray[np.float64]:
        """Return 1 for every bucket."""
        return np.ones(self.options.n_buckets)

    @classmethod
    def _restore(cls, options: HashingOptions, facts: dict[str, Any], folder: Path) -> Self:  # noqa: ARG003
        return cls(options)


def bucket_of(term: str, n_buckets: int) -> int:
    """Return the bucket of a term: its BLAKE2b hash of eight bytes, modulo the number of buckets.

    Examples
    --------
    >>> bucket_of("fox", 1000)
    746
    """
    digest = blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % n_buckets
