# mypy: disallow-untyped-decorators=False, disallow-untyped-defs=False, disallow-untyped-calls=False
"""Spread a compiled loop over an OpenMP team, from compiled code and without the interpreter.

A kernel that can be shared takes `team, start, stop` last and hands them on, with a loop over a range of items:

    @compiled()
    def kernel(X, out, team, start, stop):
        spread(_loop, (X, out), team, start, stop)

Writing code for a team takes parts of numba that it does not promise to keep. Where they are not those that this was
tested with, `spread` calls the loop once and `TEAMS` is False: then the caller's own threads share the work.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import base, callconv, cgutils, dispatcher
from numba.extending import intrinsic

from labelproof.foundation.compilation import compiled_part, numba_is_tested

__all__ = ["ALONE", "TEAMS", "spread"]

ALONE = (0, 0, 0, 1, 1)  # no team: one thread, one share

_WORD, _INT, _VOID = ir.IntType(64), ir.IntType(32), ir.VoidType()
_POINTER = ir.IntType(8).as_pointer()
_TASK = ir.FunctionType(_VOID, [_POINTER])
_FORK = ir.FunctionType(_VOID, [_TASK.as_pointer(), _POINTER, _INT, _INT])  # libgomp's GOMP_parallel
_QUERY = ir.FunctionType(_INT, [])  # omp_get_thread_num, omp_get_num_threads


def _spread(typing, loop, args, team, start, stop):
    """Call ``loop(*args, a, b)`` for ranges a to b that cover start to stop, in the threads of a team.

    `team` is (fork, number, size, threads, shares): the addresses of GOMP_parallel, omp_get_thread_num and
    omp_get_num_threads, the threads to ask for, and the number of ranges. OpenMP may give fewer threads than asked for,
    so each takes every size-th range. Without a fork, the caller does all.
    """
    called = typing.resolve_function_type(loop, (*args.types, types.intp, types.intp), {})

    def code(context, builder, _signature, values):
        compiled = loop.dispatcher.get_compile_result(called)
        context.active_code_library.add_linking_library(compiled.library)
        _, given, team, start, stop = values
        fork, number, size, threads, shares = cgutils.unpack_tuple(builder, team)
        work = _Record(builder, [given, start, stop, shares, fork, number, size, _WORD(0)])

        task = ir.Function(builder.module, _TASK, builder.module.get_unique_name(f"{builder.function.name}.task"))
        task.linkage = "internal"
        _write_task(context, task, work.type, compiled.fndesc, called)

        with builder.if_else(_is_set(builder, fork)) as (together, alone):
            with together:
                entry = builder.inttoptr(fork, _FORK.as_pointer())
                builder.call(entry, [task, work.address, builder.trunc(threads, _INT), _INT(0)])
            with alone:
                builder.call(task, [work.address])
        with builder.if_then(_is_set(builder, work.load(_FAILED)), likely=False):
            context.call_conv.return_user_exc(builder, MemoryError, ("a thread found no memory for its lists",))
        return context.get_dummy_value()

    return types.none(loop, args, team, start, stop), code


@compiled_part(inline="always")
def _call_once(loop, args, _team, start, stop):  # pragma: no cover - compiled
    loop(*args, start, stop)


_PARTS = {
    base.BaseContext: ("call_internal_no_propagate", "get_dummy_value"),
    callconv.CPUCallConv: ("return_user_exc",),
    cgutils: ("alloca_once", "alloca_once_value", "for_range_slice", "gep_inbounds", "unpack_tuple"),
    dispatcher.Dispatcher: ("get_compile_result",),
}
TEAMS = numba_is_tested() and all(hasattr(owner, name) for owner, names in _PARTS.items() for name in names)
spread: Any = intrinsic(_spread) if TEAMS else _call_once

_ARGS, _START, _STOP, _SHARES, _TEAM, _NUMBER, _SIZE, _FAILED = range(8)


class _Record:
    """What the threads of a team share: a struct on the stack of the caller."""

    def __init__(self, builder, values):
        self.type = ir.LiteralStructType([value.type for value in values])
        self._builder, self._place = builder, cgutils.alloca_once(builder, self.type)
        for i, value in enumerate(values):
            builder.store(value, cgutils.gep_inbounds(builder, self._place, 0, i))
        self.address = builder.bitcast(self._place, _POINTER)

    def load(self, field):
        return self._builder.load(cgutils.gep_inbounds(self._builder, self._place, 0, field))


def _write_task(context, task, record, fndesc, called):
    """Write the function that each thread of the team runs: its shares of the loop."""
    builder = ir.IRBuilder(task.append_basic_block())
    work = builder.bitcast(task.args[0], record.as_pointer())
    places = [cgutils.gep_inbounds(builder, work, 0, i) for i in range(len(record.elements))]
    fields = [builder.load(place) for place in places]
    start, length, shares = fields[_START], builder.sub(fields[_STOP], fields[_START]), fields[_SHARES]
    args = cgutils.unpack_tuple(builder, fields[_ARGS])
    first, step = cgutils.alloca_once_value(builder, _WORD(0)), cgutils.alloca_once_value(builder, _WORD(1))
    with builder.if_then(_is_set(builder, fields[_TEAM])):
        builder.store(_ask(builder, fields[_NUMBER]), first)
        builder.store(_ask(builder, fields[_SIZE]), step)

    def bound(share):
        return builder.add(start, builder.sdiv(builder.mul(length, share), shares))

    with cgutils.for_range_slice(builder, builder.load(first), shares, builder.load(step), _WORD) as (share, _):
        ends = bound(share), bound(builder.add(share, _WORD(1)))
        status, _ = context.call_internal_no_propagate(builder, fndesc, called, [*args, *ends])
        with builder.if_then(status.is_error, likely=False):
            builder.store(_WORD(1), places[_FAILED])
    builder.ret_void()


def _ask(builder, address):
    """Call a function without arguments that returns an int."""
    return builder.sext(builder.call(builder.inttoptr(address, _QUERY.as_pointer()), []), _WORD)


def _is_set(builder, word):
    return builder.icmp_unsigned("!=", word, _WORD(0))
