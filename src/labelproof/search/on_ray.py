"""Decide blocks of label sets on a Ray cluster: the layer goes there once, each block is a task.

Every machine of the cluster needs labelproof. A task uses one core; one whose worker dies is tried again. The answers
come back in order, and are those of the local engine for the same blocks, bit for bit.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np

from labelproof.foundation.optional_packages import need
from labelproof.proof.labels import LabelSets
from labelproof.proof.result import Verification
from labelproof.search.questions import Question

__all__ = ["answers_on_ray", "connect"]

TRIES = 8  # of a task whose worker, or whose machine, dies
AHEAD = 2  # tasks for each core of the cluster that are under way or wait
Answer = dict[str, Any]


def connect(address: str | None = None) -> None:
    """Connect this process to a Ray cluster, unless it is: the one at an address, or a new one on this machine."""
    need("ray", "the engine 'ray'")
    import ray

    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, include_dashboard=None if address else False)
        except (ConnectionError, RuntimeError) as error:
            raise ValueError(f"address must be that of a Ray cluster, got {address!r} ({error})") from error


def answers_on_ray(
    question: Question, blocks: Iterable[LabelSets], advance: Callable[[int], None]
) -> Iterator[Verification]:
    """Yield the answer to every block in order, from the cluster that this process is connected to."""
    connect()
    import ray

    task = ray.remote(num_cpus=1, max_retries=TRIES)(_answer)
    shared = ray.put(question)
    most = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))  # type: ignore[no-untyped-call]
    waiting: deque[tuple[Any, LabelSets]] = deque()

    def next_answer() -> Verification:
        reference, block = waiting.popleft()
        found = ray.get(reference)
        advance(len(block))
        return Verification(layer=question.layer, label_sets=block, **found)

    try:
        for block in blocks:
            waiting.append((task.remote(shared, block.indptr, block.indices), block))
            if len(waiting) >= most:
                yield next_answer()
        while waiting:
            yield next_answer()
    finally:
        for reference, _ in waiting:
            ray.cancel(reference)


def _answer(question: Question, indptr: Any, indices: Any) -> Answer:
    """Decide one block in a worker; the layer stays there, and arrays are copied, since Ray's cannot be written to."""
    layer = replace(question.layer, weight=np.array(question.layer.weight))
    sets = LabelSets(layer.n_labels, np.array(indptr), np.array(indices))
    v = replace(question, layer=layer).answer(sets, n_jobs=1)
    return {field.name: getattr(v, field.name) for field in fields(v) if field.name not in ("layer", "label_sets")}
