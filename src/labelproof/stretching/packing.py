"""Evidence of many label sets in flat arrays, as results hold it, and back."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from labelproof.proof.examples import Examples
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.stretch_bar import Bar
from labelproof.proof.stretch_result import Stretch
from labelproof.stretching.search import Evidence

__all__ = ["evidence_of", "flat_parts", "pack"]


def pack(
    layer: OutputLayer,
    sets: LabelSets,
    examples: Examples,
    evidence: list[Evidence],
    bar: Bar[Stretch] | None = None,
) -> Stretch:
    """Return the result for label sets, from the evidence of each."""
    mixtures = flat_parts([found.mixture[0] for found in evidence], np.int64)
    weighted = flat_parts([found.weighted[0] for found in evidence], np.int64)
    return Stretch(
        layer,
        sets,
        examples,
        np.array([found.lower for found in evidence], np.float64),
        np.array([found.upper for found in evidence], np.float64),
        *mixtures,
        flat_parts([found.mixture[1] for found in evidence], np.float64)[1],
        *weighted,
        flat_parts([found.weighted[1] for found in evidence], np.float64)[1],
        *flat_parts([found.conflict for found in evidence], np.int64),
        bar,
    )


def evidence_of(s: Stretch) -> list[Evidence]:
    """Return the evidence of each set of a result, of which there is at least one."""
    pieces = zip(
        zip(s.lower.tolist(), s.upper.tolist(), strict=True),
        _pieces(s.mixture_ptr, s.mixture_examples, s.mixture_weights),
        _pieces(s.weighted_ptr, s.weighted_labels, s.multipliers),
        _pieces(s.conflict_ptr, s.conflict_rows),
        strict=True,
    )
    return [Evidence(low, high, mixture, weighted, conflict) for (low, high), mixture, weighted, (conflict,) in pieces]


def _pieces(ends: npt.NDArray[np.int64], *arrays: npt.NDArray[Any]) -> Iterator[Any]:
    return zip(*(np.split(array, ends[1:-1]) for array in arrays), strict=True)


def flat_parts(parts: list[npt.NDArray[Any]], dtype: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    """Return where each part ends in one array of all, after a 0, and that array."""
    ends = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return ends, np.concatenate([np.empty(0, dtype), *parts]).astype(dtype)
