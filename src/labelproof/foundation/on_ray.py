"""Work on blocks on a Ray cluster: what is asked goes there once, each block is a task.

Every machine of the cluster needs labelproof. A task uses one core; one whose worker dies is tried again. What is found
comes back in order, and is what the local engine finds for the same blocks, bit for bit.
"""

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass, field
from functools import lru_cache
from secrets import token_hex
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from labelproof.foundation.optional_packages import need
from labelproof.foundation.threads import one_blas_thread

__all__ = ["connect", "on_ray"]

TRIES = 8  # of a task whose worker, or whose machine, dies
AHEAD = 2  # tasks for each core of the cluster that are under way or wait
Asked = TypeVar("Asked")
Block = TypeVar("Block", bound=Sized)
Found = TypeVar("Found")


@dataclass(frozen=True)
class _Shared:
    """What is asked of all blocks, pickled; an array, since workers read those of Ray in place."""

    name: str
    pickled: npt.NDArray[np.uint8] = field(compare=False)


def connect(address: str | None = None) -> None:
    """Connect this process to a Ray cluster, unless it is: the one at an address, or a new one on this machine."""
    need("ray", "the engine 'ray'")
    import ray

    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, include_dashboard=None if address else False)
        except (ConnectionError, RuntimeError) as error:
            raise ValueError(f"address must be that of a Ray cluster, got {address!r} ({error})") from error


def on_ray(
    work: Callable[[Asked, Block, int, Callable[[int], None]], Found],
    asked: Asked,
    blocks: Iterable[Block],
    advance: Callable[[int], None],
) -> Iterator[tuple[Block, Found]]:
    """Yield every block in order, with what is found for it on the cluster; see `engines.of_blocks`."""
    connect()
    import ray

    task = ray.remote(num_cpus=1, max_retries=TRIES)(_found)
    shared = ray.put(_Shared(token_hex(16), np.frombuffer(pickle.dumps(asked), np.uint8)))
    resources: Callable[[], dict[str, float]] = ray.cluster_resources
    most = AHEAD * max(1, int(resources().get("CPU", 1)))
    waiting: deque[tuple[Any, Block]] = deque()

    def next_one() -> tuple[Block, Found]:
        reference, block = waiting.popleft()
        found = _told(reference)
        advance(len(block))
        return block, found

    try:
        for block in blocks:
            waiting.append((task.remote(work, shared, pickle.dumps(block)), block))
            if len(waiting) >= most:
                yield next_one()
        while waiting:
            yield next_one()
    finally:
        for reference, _ in waiting:
            ray.cancel(reference)


def _found(work: Callable[..., Any], shared: _Shared, block: bytes) -> bytes:
    """Work on one block in a worker."""
    with one_blas_thread():
        return pickle.dumps(work(_asked(shared), pickle.loads(block), 1, lambda _: None))  # noqa: S301 - our own


@lru_cache(maxsize=1)
def _asked(shared: _Shared) -> Any:
    """Return what is asked, which a worker keeps for its next block; in arrays that can be written to."""
    return pickle.loads(shared.pickled.data)  # noqa: S301 - our own


def _told(reference: Any) -> Any:
    """Return what a task found, or raise what it raised, as if that had happened here."""
    import ray

    try:
        return pickle.loads(ray.get(reference))  # noqa: S301 - of our own workers
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        raise cause if isinstance(cause, Exception) else error from None
    except ray.exceptions.RayError as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        raise OSError(f"the cluster could not do a task, tried {TRIES + 1} times: {first}") from error
