"""Word vectors in files: text as GloVe and word2vec write it, .npz, or .safetensors; nothing is unpickled."""

from array import array
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.data.arrays import read_arrays
from labelproof.data.textfile import read_lines
from labelproof.errors import ModelFormatError
from labelproof.foundation.optional_packages import need

__all__ = ["read_matrix_file", "read_word_vectors"]


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words and their vectors.

    Parameters
    ----------
    words
        Different strings.
    vectors
        float32 array (n_words, dim) of finite numbers.
    """

    words: tuple[str, ...]
    vectors: npt.NDArray[np.float32]


def read_word_vectors(path: str | Path, *, keep: Collection[str] | None = None, most: int | None = None) -> WordVectors:
    """Read word vectors from a text file, plain or compressed, or from an .npz file of ``words`` and ``vectors``.

    A line of text holds a word and its numbers with single spaces between them; a first line of two integers (the
    numbers of words and of dimensions) is passed over. The first of equal words counts.

    Parameters
    ----------
    path
        Of the file.
    keep
        The words to keep; None keeps all.
    most
        Number of words to read, from the beginning; None reads all.
    """
    path = Path(path)
    return (_from_npz if path.suffix == ".npz" else _from_text)(path, keep, most)


def read_matrix_file(path: Path) -> npt.NDArray[np.float32]:
    """Read the one matrix (n_tokens, dim) of an .npz or .safetensors file, as float32."""
    if path.suffix == ".safetensors":
        need("safetensors", "the static encoder")
        from safetensors.torch import load_file

        with _damage(path):
            arrays = {name: tensor.float().numpy() for name, tensor in load_file(path).items()}
    else:
        with _damage(path):
            arrays = read_arrays(path)
    matrices = {name: values for name, values in arrays.items() if values.ndim == 2}
    if len(matrices) != 1:
        raise ModelFormatError(
            f"{path}: expected one matrix of token vectors, got {', '.join(sorted(matrices)) or 'none'}"
        )
    return _finite(path, next(iter(matrices.values())))


def _from_npz(path: Path, keep: Collection[str] | None, most: int | None) -> WordVectors:
    with _damage(path):
        arrays = read_arrays(path)
    if not {"words", "vectors"} <= arrays.keys():
        raise ModelFormatError(f"{path}: expected arrays words and vectors, got {', '.join(sorted(arrays)) or 'none'}")
    words, vectors = arrays["words"], arrays["vectors"]
    if words.ndim != 1 or words.dtype.kind != "U" or vectors.ndim != 2 or len(words) != len(vectors):
        raise ModelFormatError(
            f"{path}: expected strings words (n,) and numbers vectors (n, dim), "
            f"got {words.dtype} of shape {words.shape} and {vectors.dtype} of shape {vectors.shape}"
        )
    first: dict[str, int] = {}
    for place, word in enumerate(words[:most].tolist()):
        if keep is None or word in keep:
            first.setdefault(word, place)
    return WordVectors(tuple(first), _finite(path, vectors[list(first.values())]))


def _from_text(path: Path, keep: Collection[str] | None, most: int | None) -> WordVectors:
    words: dict[str, None] = {}
    numbers = array("f")
    dim = 0
    n_read = 0
    for line_number, line in _lines(path):
        if most is not None and n_read >= most:
            break
        if line_number == 1 and _is_header(line):
            continue
        dim = dim or line.count(" ")
        word, *vector = line.rsplit(" ", dim)
        if dim == 0 or len(vector) != dim:
            raise ModelFormatError(
                f"{path}, line {line_number}: expected a word and {dim or 'its'} numbers, got {line[:60]!r}"
            )
        n_read += 1
        if word in words or (keep is not None and word not in keep):
            continue
        words[word] = None
        numbers.extend(_numbers(path, line_number, vector))
    if not n_read:
        raise ModelFormatError(f"{path}: expected a word and its numbers on every line, got no line")
    return WordVectors(tuple(words), np.array(numbers, np.float32).reshape(len(words), dim))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    with _damage(path):
        for line_number, line in read_lines(path):
            yield line_number, line.rstrip(" ")


def _is_header(line: str) -> bool:
    fields = line.split(" ")
    return len(fields) == 2 and all(field.isdecimal() for field in fields)


def _numbers(path: Path, line_number: int, fields: list[str]) -> list[float]:
    largest = float(np.finfo(np.float32).max)
    for field in fields:
        try:
            wrong = not abs(float(field)) <= largest
        except ValueError:
            wrong = True
        if wrong:
            raise ModelFormatError(f"{path}, line {line_number}: expected finite numbers, got {field[:60]!r}")
    return [float(field) for field in fields]


def _finite(path: Path, matrix: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):
        single = matrix.astype(np.float32) if matrix.dtype.kind in "iuf" else np.array(np.nan, np.float32)
    if not np.isfinite(single).all():
        raise ModelFormatError(f"{path}: expected vectors of finite numbers, got others in an array of {matrix.dtype}")
    return single


@contextmanager
def _damage(path: Path) -> Iterator[None]:
    """Turn what goes wrong with a file into one sentence that names it."""
    if not path.is_file():
        raise ModelFormatError(f"{path}: no such file")
    try:
        yield
    except Exception as error:  # archives raise errors of many kinds
        raise ModelFormatError(f"{path}: expected a file of word vectors, got {error}") from error
