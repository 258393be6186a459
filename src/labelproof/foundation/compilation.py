"""Compile loops with numba: kept on disk where that is possible, and with a word when the first call waits for it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "KERNELS",
    "announcing_compilation",
    "compiled",
    "compiled_part",
    "numba_is_tested",
    "plain",
    "seconds_of_compilation",
]

KERNELS: list[Any] = []  # every kernel of the modules imported so far, in order
_UNKEPT = (
    "labelproof: no folder for compiled code can be written, so each process compiles what it uses anew; "
    "set NUMBA_CACHE_DIR to a folder that can be written"
)
_told: list[str] = []
_stopwatch: list[Any] = []  # numba's, of all compilation in this process, once numba is there
_TESTED = {(0, 68)}  # versions of numba whose private parts we use


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator for a kernel: compiled code that Python calls, and that lets go of the interpreter's lock.

    Machine code is kept in numba's cache. Where that has no folder to write to, each process compiles for itself, and
    standard error says so once.

    Parameters
    ----------
    options
        As for numba.njit; `_nrt` (count references to arrays) is only used in versions of numba that were tested.
    """

    def compile_and_keep(function: Callable[..., Any]) -> Any:
        kernel = _njit()(nogil=True, no_cfunc_wrapper=True, **_known(options))(function)
        KERNELS.append(kernel)
        if hasattr(kernel, "enable_caching"):  # not where NUMBA_DISABLE_JIT leaves the function as it is
            try:
                kernel.enable_caching()
            except RuntimeError:  # numba's "no locator available"
                _say_once(_UNKEPT)
        return kernel

    return compile_and_keep


def compiled_part(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Make a decorator for what only compiled code calls: it is compiled into its kernels and kept with them alone.

    It has no entry for Python, which would take a tenth of the time to compile, and is optimised in its kernels alone:
    numba would do that in the part, in every part that calls it, and once more in the kernel.
    """

    def compile_for_kernels(function: Callable[..., Any]) -> Any:
        unentered = {"no_cpython_wrapper": True} if numba_is_tested() else {}
        part = _njit()(nogil=True, no_cfunc_wrapper=True, **unentered, **_known(options))(function)
        if unentered and hasattr(part, "py_func"):
            kind: Any = type(part)
            part.__class__ = _closed_to_python(kind)
        return part

    return compile_for_kernels


@cache
def _closed_to_python(dispatcher: Any) -> Any:
    """Return a kind of dispatcher that refuses calls by Python, where there is nothing to call."""

    def refuse(part: Any, *_args: Any) -> None:
        raise TypeError(f"{part.py_func.__name__} is a part of kernels, and must be called by compiled code")

    def compile_without_optimising(part: Any, signature: Any) -> Any:
        with _leaving_optimisation_to_kernels(part.targetctx.codegen()):
            return dispatcher.compile(part, signature)

    return type(dispatcher.__name__, (dispatcher,), {"__call__": refuse, "compile": compile_without_optimising})


@contextmanager
def _leaving_optimisation_to_kernels(codegen: Any) -> Iterator[None]:
    """Make numba's code generator leave what it compiles as it is until a kernel takes it in."""
    from numba.core.compiler_lock import global_compiler_lock

    with global_compiler_lock:
        before = codegen._library_class
        codegen._library_class = _unoptimised(type(codegen)._library_class)
        try:
            yield
        finally:
            codegen._library_class = before


@cache
def _unoptimised(library: Any) -> Any:
    """Return a kind of code library that is only linked into others: never optimised, and no machine code made of it.

    Machine code would be found by its name, and used, by a kernel of this process that calls the part.
    """

    class Part(library):  # type: ignore[misc]
        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

        @property
        def codegen(self) -> Any:
            return self  # which is asked for nothing but the next

        def set_env(self, name: str, env: Any) -> None:
            """Leave out the place of Python objects, which these parts do not have."""

    return Part


def numba_is_tested() -> bool:
    """Whether numba's private parts are known to be what we take them for."""
    import numba

    return tuple(int(number) for number in numba.__version__.split(".")[:2]) in _TESTED


def seconds_of_compilation() -> float:
    """Return how long this process has compiled kernels so far, in seconds; no time limit counts them."""
    return float(_stopwatch[0].duration) if _stopwatch and _stopwatch[0].done else 0.0


def _njit() -> Any:
    """Return numba.njit, whose types leave out some of its options; numba is imported when it is first used."""
    from numba import njit
    from numba.core import event as untyped

    event: Any = untyped
    if not _stopwatch:
        _stopwatch.append(event.TimingListener())
        event.register("numba:compile", _stopwatch[0])
    return njit


def _known(options: dict[str, Any]) -> dict[str, Any]:
    return options if numba_is_tested() else {name: value for name, value in options.items() if name != "_nrt"}


def plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array as it is if it is C-contiguous and may be written to, else a copy of it.

    numba compiles a kernel once more for each layout, and once more for arrays that are only read.

    Examples
    --------
    >>> import numpy as np
    >>> plain(np.eye(2)[:, :1]).flags.c_contiguous
    True
    """
    return array if array.flags.carray else np.require(array, requirements=["C", "W"])  # which takes microseconds


@contextmanager
def announcing_compilation() -> Iterator[None]:
    """Say on standard error that the search is being compiled, at the moment when numba finds nothing in its cache."""
    from numba.core import event

    class Notice(event.Listener):
        told = False

        def on_start(self, event: Any) -> None:  # noqa: ARG002
            if not self.told:
                print("compiling the search, once for this installation …", file=sys.stderr, flush=True)
                self.told = True

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Notice()):
        yield


def _say_once(sentence: str) -> None:
    if sentence not in _told:
        _told.append(sentence)
        print(sentence, file=sys.stderr, flush=True)
