"""labelproof compile: compile everything ahead, so that no first call waits."""

import time

import typer

from labelproof.cli.console import console, print_json, progress_wanted, table
from labelproof.cli.options import AsJson
from labelproof.foundation.wording import plural

__all__ = ["compile"]

INCOMPLETE = 1


def compile(as_json: AsJson = False) -> None:  # noqa: A001 - the word that users look for
    """Compile everything that is otherwise compiled on first use, for example in a container image.

    What is kept can be used by later processes on a processor of the same kind; NUMBA_CACHE_DIR says where it is kept.
    """
    from labelproof.cli.first_calls import CALLS, import_kernels
    from labelproof.foundation.compilation import KERNELS
    from labelproof.foundation.progress import progress_bar

    seconds, skipped = {}, {}
    with progress_bar("compiling", len(CALLS), show=progress_wanted() and not as_json) as advance:
        for room, call in CALLS.items():
            start = time.perf_counter()
            try:
                call()
                seconds[room] = time.perf_counter() - start
            except ImportError as error:
                skipped[room] = str(error)
            advance(1)
    skipped |= import_kernels()
    forgotten = [_name(kernel) for kernel in KERNELS if not kernel.signatures]
    versions = {_name(kernel): len(kernel.signatures) for kernel in KERNELS if kernel.signatures}
    if as_json:
        print_json({"seconds": seconds, "versions": versions, "skipped": skipped, "not_compiled": forgotten})
    else:
        _print(seconds, skipped, sum(versions.values()))
    if forgotten and not skipped:  # a call is missing in `first_calls`
        raise typer.Exit(INCOMPLETE)


def _name(kernel: object) -> str:
    function = kernel.py_func  # type: ignore[attr-defined]
    return f"{function.__module__}.{function.__name__}"


def _print(seconds: dict[str, float], skipped: dict[str, str], n_versions: int) -> None:
    lines = table("compiled", "seconds")
    for package, taken in seconds.items():
        lines.add_row(f"labelproof.{package}", f"{taken:.1f}")
    console().print(lines)
    console().print(f"{plural(n_versions, 'compiled function')} ready: the first calls do not wait for them.")
    for package, reason in skipped.items():
        console().print(f"skipped {package}: {reason}", soft_wrap=True)
