"""Decide blocks of label sets, wherever that is done: by threads of this process, or by Ray on a cluster."""

from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from dataclasses import fields, replace
from typing import Any

import numpy as np

from labelproof.foundation.engines import Engine, of_blocks
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.result import Verification
from labelproof.search.questions import Question

__all__ = ["answers", "block_of", "part_size_of"]

NUMBERS_A_PART = 5_000_000_000  # sets × weights that are decided in some seconds
LEAST_PART, LARGEST_PART = 256, 10_000  # sets; the first 48 of a part tell which rows matter for the others
KNOWN = ("layer", "label_sets")  # to who asks


def part_size_of(layer: OutputLayer) -> int:
    """Return how many label sets are decided together: so many that a few seconds are lost when a run is killed."""
    return int(np.clip(NUMBERS_A_PART // layer.weight.size, LEAST_PART, LARGEST_PART))


def block_of(sets: LabelSets, start: int, stop: int) -> LabelSets:
    """Return some label sets in arrays of their own, wherever the others are."""
    block = sets.slice(start, min(stop, len(sets)))
    return replace(block, indptr=np.array(block.indptr, np.int64), indices=np.array(block.indices, np.int64))


def answers(
    question: Question,
    blocks: Iterable[LabelSets],
    engine: Engine,
    *,
    n_blocks: int,
    n_jobs: int | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Generator[Verification, None, None]:
    """Yield the answer to every block in order; see `labelproof.foundation.engines.of_blocks`."""
    with closing(
        of_blocks(_evidence, question, blocks, engine, n_blocks=n_blocks, n_jobs=n_jobs, advance=advance)
    ) as found:
        for block, evidence in found:
            yield Verification(layer=question.layer, label_sets=block, **evidence)


def _evidence(question: Question, block: LabelSets, n_jobs: int, advance: Callable[[int], None]) -> dict[str, Any]:
    v = question.answer(block, n_jobs=n_jobs, advance=advance)
    return {field.name: getattr(v, field.name) for field in fields(v) if field.name not in KNOWN}
