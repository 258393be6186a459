"""Where blocks of label sets are decided: by threads of this process, or by Ray on a cluster, with the same answers."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from itertools import islice
from numbers import Integral
from threading import Event
from typing import Literal, get_args

import numpy as np

from labelproof.foundation.threads import as_threads_are_free, usable_cores
from labelproof.proof.labels import LabelSets
from labelproof.proof.regions import OutputLayer
from labelproof.proof.result import Verification
from labelproof.search.questions import Question

__all__ = ["Engine", "answers", "block_of", "part_size_of", "require_engine", "require_threads"]

Engine = Literal["local", "ray"]
NUMBERS_A_PART = 5_000_000_000  # sets × weights that are decided in some seconds
LEAST_PART, LARGEST_PART = 256, 10_000  # sets; the first 48 of a part tell which rows matter for the others


def part_size_of(layer: OutputLayer) -> int:
    """Return how many label sets are decided together: so many that a few seconds are lost when a run is killed."""
    return int(np.clip(NUMBERS_A_PART // layer.weight.size, LEAST_PART, LARGEST_PART))


def require_engine(engine: Engine) -> None:
    """Refuse an engine that there is not."""
    if engine not in get_args(Engine):
        raise ValueError(f"engine must be 'local' or 'ray', got {engine!r}")


def require_threads(n_jobs: int | None) -> None:
    """Refuse what is no number of threads."""
    if n_jobs is not None and not (isinstance(n_jobs, Integral) and n_jobs >= 1):
        raise ValueError(f"n_jobs must be a positive number of threads, got {n_jobs}")


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
    """Yield the answer to every block in order; blocks are taken as there is somebody to decide them.

    Parameters
    ----------
    n_blocks
        How many there are: with fewer blocks than threads, several threads decide one block.
    n_jobs
        Threads; Ray takes what its cluster has.
    advance
        Told how many more sets are decided.
    """
    if engine == "ray":
        from labelproof.search.on_ray import answers_on_ray

        yield from answers_on_ray(question, blocks, advance)
        return
    n_threads, ended = n_jobs or usable_cores(), Event()

    def step(done: int) -> None:
        if ended.is_set():
            raise InterruptedError  # nobody waits for this block any more
        advance(done)

    def work(block: LabelSets) -> Verification:
        return question.answer(block, n_jobs=-(-n_threads // max(1, n_blocks - 1)), advance=step)

    rest = iter(blocks)
    for first in islice(rest, 1):  # numba must not be imported by two threads at once: they wait for each other forever
        yield question.answer(first, n_jobs=n_threads, advance=advance)
    yield from as_threads_are_free(work, rest, min(n_threads, max(1, n_blocks - 1)), stop=ended.set)
