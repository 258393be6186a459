"""Where blocks of work are done: by threads of this process, or by Ray on a cluster, with the same answers."""

from collections.abc import Callable, Generator, Iterable, Sized
from itertools import islice
from numbers import Integral
from threading import Event
from typing import Literal, TypeVar, cast

from labelproof.foundation.arguments import check_choice
from labelproof.foundation.threads import as_threads_are_free, one_blas_thread, usable_cores

__all__ = ["Engine", "of_blocks", "require_engine", "require_threads"]

Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = ("local", "ray")
Advance = Callable[[int], None]
Asked = TypeVar("Asked")
Block = TypeVar("Block", bound=Sized)
Found = TypeVar("Found")
Work = Callable[[Asked, Block, int, Advance], Found]


def require_engine(engine: str) -> Engine:
    """Return an engine that there is, and refuse others."""
    check_choice("engine", engine, ENGINES)
    return cast("Engine", engine)


def require_threads(n_jobs: int | None) -> None:
    """Refuse what is no number of threads."""
    if n_jobs is not None and not (isinstance(n_jobs, Integral) and n_jobs >= 1):
        raise ValueError(f"n_jobs must be a positive number of threads, got {n_jobs}")


def of_blocks(
    work: Work[Asked, Block, Found],
    asked: Asked,
    blocks: Iterable[Block],
    engine: Engine = "local",
    *,
    n_blocks: int,
    n_jobs: int | None = None,
    one_at_a_time: bool = False,
    advance: Advance = lambda _: None,
) -> Generator[tuple[Block, Found], None, None]:
    """Yield every block in order, with what is found for it; blocks are taken as there is somebody to work on them.

    Parameters
    ----------
    work
        A function of a module, called with what is asked, a block, a number of threads, and who is told how much of
        the block is done. What it finds must not depend on the number of threads.
    asked
        What all blocks have in common, such as weights and features: Ray gets it once.
    blocks
        Each with a length, which is what ``advance`` counts.
    engine
        "local" or "ray".
    n_blocks
        How many there are: with fewer blocks than threads, several threads work on one block.
    n_jobs
        Threads; Ray takes what its cluster has.
    one_at_a_time
        Let all threads work on one block, where blocks take much memory or share their work well.
    advance
        Told how much more is done.

    Examples
    --------
    >>> def share(whole, block, n_jobs, advance):
    ...     return sum(block) / whole
    >>> list(of_blocks(share, 10, [range(3), range(3, 5)], n_blocks=2))
    [(range(0, 3), 0.3), (range(3, 5), 0.7)]
    """
    require_engine(engine)
    if engine == "ray":
        from labelproof.foundation.on_ray import on_ray

        yield from on_ray(work, asked, blocks, advance)
        return
    if one_at_a_time:
        for block in blocks:
            yield block, work(asked, block, n_jobs or usable_cores(), advance)
        return
    n_threads, ended = n_jobs or usable_cores(), Event()

    def step(done: int) -> None:
        if ended.is_set():
            raise InterruptedError  # nobody waits for this block any more
        advance(done)

    def one(block: Block) -> tuple[Block, Found]:
        return block, work(asked, block, -(-n_threads // max(1, n_blocks - 1)), step)

    rest = iter(blocks)
    for first in islice(rest, 1):  # numba must not be imported by two threads at once: they wait for each other forever
        with one_blas_thread():
            found = work(asked, first, n_threads, advance)
        yield first, found
    yield from as_threads_are_free(one, rest, min(n_threads, max(1, n_blocks - 1)), stop=ended.set)
