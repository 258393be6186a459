"""Read .safetensors files of unknown origin: the header is checked before it is parsed, and tensors are mapped.

A file is eight bytes N (little-endian), N bytes of JSON that give each tensor's dtype, shape and place, and the data.
"""

import json
import math
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.importers.tensors import StoredTensor

__all__ = ["MAX_HEADER", "read_safetensors"]

MAX_HEADER = 32 * 2**20
"""The most bytes of a header that are parsed; headers of real models have some hundred thousand."""

_FLOATS = {"F64": ("float64", "<f8"), "F32": ("float32", "<f4"), "F16": ("float16", "<f2"), "BF16": ("bfloat16", "<u2")}
_BITS = {"F64": 64, "F32": 32, "F16": 16, "BF16": 16, "I64": 64, "I32": 32, "I16": 16, "I8": 8, "U64": 64, "U32": 32}
_BITS |= {"U16": 16, "U8": 8, "BOOL": 8, "F8_E4M3": 8, "F8_E5M2": 8, "C64": 64}


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, StoredTensor]:
    """Return the tensors of a file by name; their numbers stay in the file until they are read.

    Raises
    ------
    ValueError
        If the header is too large or damaged, names a tensor twice, or gives it a place outside the data, one that
        does not fit its shape, or one that another tensor has.
    """
    path = Path(path)
    header, start = _header(path)
    end = path.stat().st_size - start
    entries = {name: _entry(name, entry, end) for name, entry in header.items() if name != "__metadata__"}
    _refuse_overlap(entries)
    return {
        name: StoredTensor(shape, _FLOATS.get(dtype, (dtype, ""))[0], path.name, _loader(path, dtype, shape, start + a))
        for name, (dtype, shape, a, _) in entries.items()
    }


def _header(path: Path) -> tuple[dict[str, Any], int]:
    size = path.stat().st_size
    with open(path, "rb") as stream:
        first = stream.read(8)
        length = int.from_bytes(first, "little")
        if len(first) < 8 or length > size - 8:
            raise ValueError(f"expected the header of a safetensors file within its {size} bytes, got a damaged file")
        if length > MAX_HEADER:
            raise ValueError(f"expected a header of at most {MAX_HEADER} bytes, got {length}")
        text = stream.read(length)
    try:
        header = json.loads(text.decode("utf-8"), object_pairs_hook=_each_once)
    except RecursionError as error:
        raise ValueError("expected a header of names and places, got JSON that is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError("expected a header in JSON, got bytes that are no text") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"expected a header in JSON ({error})") from error
    if not isinstance(header, dict):
        raise ValueError(f"expected a header of names and places, got {type(header).__name__}")
    return header, 8 + length


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"expected each name once in the header, got {twice!r} twice")
    return result


def _entry(name: str, entry: Any, end: int) -> tuple[str, tuple[int, ...], int, int]:
    try:
        dtype, shape, (a, b) = entry["dtype"], entry["shape"], entry["data_offsets"]
    except (TypeError, KeyError, ValueError) as error:
        raise ValueError(f"expected dtype, shape and two data_offsets of the tensor {name!r} in the header") from error
    numbers = [*shape, a, b] if isinstance(shape, list) else [None]
    if not isinstance(dtype, str) or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"expected a dtype, a shape and places of the tensor {name!r}, got {str(entry)[:80]}")
    if not a <= b <= end:
        raise ValueError(f"expected the tensor {name!r} within the {end} bytes of data, got bytes {a} to {b}")
    if dtype in _BITS and (b - a) * 8 != math.prod(shape) * _BITS[dtype]:
        raise ValueError(f"expected the bytes of shape {shape} in {dtype} for the tensor {name!r}, got {b - a}")
    return dtype, tuple(shape), a, b


def _refuse_overlap(entries: dict[str, tuple[str, tuple[int, ...], int, int]]) -> None:
    places = sorted((a, b, name) for name, (_, _, a, b) in entries.items() if b > a)
    for (_, before, first), (start, _, second) in pairwise(places):
        if start < before:
            raise ValueError(f"expected tensors in places of their own, got {first!r} and {second!r} in the same bytes")


def _loader(path: Path, dtype: str, shape: tuple[int, ...], offset: int) -> Any:
    def load() -> npt.NDArray[np.float64]:
        if dtype not in _FLOATS:
            raise ValueError(f"expected numbers in float64, float32, float16 or bfloat16, got {dtype} (quantised?)")
        if 0 in shape:
            return np.zeros(shape)
        stored = np.memmap(path, _FLOATS[dtype][1], "r", offset, shape)
        if dtype == "BF16":  # the upper half of a float32
            return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return stored.astype(np.float64)

    return load
