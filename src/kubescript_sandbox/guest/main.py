"""The worker: one locked-down process that receives START, compiles and runs one script, and sends DONE.

To the host, everything that happens in this process is hostile. The fork server calls `warm` once, and `main` in each
child; `main` never returns.
"""

from __future__ import annotations

import dataclasses
import os
import random
import sys
from collections.abc import Callable
from typing import Final, NoReturn

import msgspec

from kubescript_sandbox.confinement import lockdown, scheduling
from kubescript_sandbox.guest import channel, faults, warmup
from kubescript_sandbox.guest.contract import Guest, Rehearsal, Session
from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import stdlib
from kubescript_sandbox.wire import framing, outline, protocol

__all__ = ["Evaluate", "Prepare", "Rehearse", "main", "prepare", "warm"]

_BASE_DEPTH: Final = 40
"""The number of this package's frames below and above the script's."""

# The number of runs after which CPython 3.11 and later have specialized a function's bytecode.
_WARMUP_RUNS: Final = 8

_LEAST_SCRIPT: Final = "1 + 1"
"""Its rehearsal copies 500 of the memory pages to which all scripts write, before a script waits for that. One with a
call of the API would copy 300 more, whether the script makes calls or not."""

# Leaves room in the frame for the other fields of Done.
_MAX_RESULT_BYTES: Final = protocol.CAPS[protocol.FrameType.DONE] - 1024
_LESS: Final = "return counts, names or the first few rows"

# A script itself may raise a LimitExceeded with any other code, or with none.
_LIMITS: Final = frozenset({"limit.bytes", "limit.calls", "limit.output", "limit.watches"})
"""The codes of a worker's own LimitExceeded."""
_LIMIT_HINTS: Final = {
    "limit.memory": "keep only the fields you need, page with limit=500, or aggregate while you iterate",
    "limit.depth": "use a loop instead of deep recursion",
}

Evaluate = Callable[[protocol.Start], None]
"""Runs one script and sends its DONE."""
Prepare = Callable[[Guest, channel.Channel], Evaluate]
"""Does all work that does not depend on the script, once, in the fork server. Each worker gets a copy by its fork."""
Rehearse = Callable[[], protocol.Done]
"""Runs a script on canned frames."""


def warm(guest: Guest) -> Rehearse:
    """Loads, in the fork server, everything that scripts may use, and rehearses a worker's part. The returned function
    rehearses what all scripts do, for spare workers."""
    stdlib.warm()
    guest.warm()
    rehearse_call = _make_rehearse(guest, guest.rehearsal)
    rehearse = _make_rehearse(guest, dataclasses.replace(guest.rehearsal, script=_LEAST_SCRIPT))
    for run in (rehearse_call, rehearse) * _WARMUP_RUNS:
        fault = run().fault
        if fault is not None:  # each script would do the work instead, and nothing would say so
            raise RuntimeError(f"the rehearsal has failed: {fault.message}")
    return rehearse


def main(
    descriptor: int,
    confinement: lockdown.Confinement,
    inherited: tuple[protocol.Layer, ...],
    *,
    link: channel.Channel,
    rehearse: Rehearse,
    evaluate: Evaluate,
) -> NoReturn:
    """Locks this process down, runs its one script, and ends."""
    scheduling.lengthen_time_slices()
    rehearse()
    sock = lockdown.adopt_socket(descriptor)
    link.connect(framing.FrameSocket(sock))
    layers = inherited + lockdown.apply(lockdown.WORKER_STEPS, confinement)
    random.seed()  # otherwise the scripts of all workers would get the same numbers
    try:
        link.ready(protocol.Ready(protocol.VERSION, layers))
        evaluate(link.start())
    except (protocol.ProtocolError, OSError):
        os._exit(1)  # the host closed the socket, so the error cannot be reported
    os._exit(0)


def prepare(guest: Guest, link: channel.Channel) -> Evaluate:
    """Opens a session; the returned function runs the script in it under RestrictedPython and sends its DONE."""
    session = guest.open(link)

    def evaluate(start: protocol.Start) -> None:
        done = _run_within_memory(guest, session, start)
        _finish(link, session, done)

    return evaluate


def _make_rehearse(guest: Guest, rehearsal: Rehearsal) -> Rehearse:
    """Opens a session for rehearsals; the returned function runs one in it as `evaluate` runs a script."""
    link = channel.Channel(guest.reply)
    session = guest.open(link)

    # No `_run_within_memory`: after its reserve of a megabyte is freed, malloc takes such blocks from the heap, whose
    # pages each worker would have to copy, and not from fresh mappings.
    def rehearse() -> protocol.Done:
        with warmup.open_socket(rehearsal) as frames:
            link.connect(frames)
            start = link.start()
            done = _run(guest, session, start, session.begin(start))
            _finish(link, session, done)
            return done

    return rehearse


def _finish(link: channel.Channel, session: Session, done: protocol.Done) -> None:
    report = msgspec.json.encode(session.report())
    with_report = msgspec.structs.replace(done, report=msgspec.Raw(report))
    link.finish(with_report)


def _run_within_memory(guest: Guest, session: Session, start: protocol.Start) -> protocol.Done:
    names = session.begin(start)
    reserve = [bytes(1 << 20)]  # freed when memory runs out, so that there is room for the report
    sys.setrecursionlimit(start.depth + _BASE_DEPTH)
    try:
        return _run(guest, session, start, names)
    except MemoryError:
        reserve.clear()
        mebibytes = start.memory_bytes >> 20
        return _limit_fault("limit.memory", f"the script needed more than its {mebibytes} MiB of memory")


def _run(guest: Guest, session: Session, start: protocol.Start, names: dict[str, object]) -> protocol.Done:
    """Compiles and runs the script; returns its result or its failure."""
    try:
        program = compiler.compile_script(start.script)
    except compiler.ScriptRefused as error:
        return protocol.Done(fault=protocol.Failure(error.code, str(error)))
    try:
        value = compiler.run(program, names)
        session.complete()
        return _result(guest, value, program, start.output_bytes)
    except MemoryError:
        raise
    except BaseException as error:  # a script may raise anything, even SystemExit: that ends the script, not the worker
        return _failure(guest, error, start)


def _result(guest: Guest, value: object, program: compiler.Program, output_bytes: int) -> protocol.Done:
    if value is compiler.NOTHING:
        return protocol.Done(hint=program.hint)
    if value is None:
        return protocol.Done(hint=program.none_hint)
    encoded = guest.encode(value)
    size = len(encoded)
    if size > _MAX_RESULT_BYTES:
        message = f"the result is {size >> 20} MiB of JSON"
        return _limit_fault("limit.output", message, _LESS)
    most = outline.most_values(output_bytes)
    values = outline.outline(encoded, most)
    if values is None:
        return _limit_fault("limit.output", f"the result has more than {most:,} values", _LESS)
    if outline.has_long_numbers(values):
        return _limit_fault("limit.output", "the result has integers of too many digits", "return str(x), or fewer")
    result = msgspec.Raw(encoded)
    return protocol.Done(result=result)


def _failure(guest: Guest, error: BaseException, start: protocol.Start) -> protocol.Done:
    if isinstance(error, RecursionError):
        return _limit_fault("limit.depth", f"the script nested more than {start.depth} calls")
    explained = guest.explain(error)
    if explained is not None:
        return protocol.Done(fault=explained)
    told = compiler.describe_failure(error)
    frames = tuple(protocol.Frame(line, function) for line, function in told.frames)
    fault = protocol.Failure(
        _fault_code(error),
        told.message,
        told.type,
        told.hint,
        frames,
        told.outer,
        brief=told.brief,
        by_worker=told.by_worker,
    )
    return protocol.Done(fault=fault)


def _fault_code(error: BaseException) -> str:
    if isinstance(error, faults.LimitExceeded):
        code: object = error.code
        if isinstance(code, str) and code in _LIMITS:
            return code
    return "script.exception"


def _limit_fault(code: str, what: str, hint: str = "") -> protocol.Done:
    """Returns a DONE that says which limit the script reached, and what to do about it."""
    advice = hint or _LIMIT_HINTS[code]
    fault = protocol.Failure(code, what, hint=f"; {advice}", by_worker=True)
    return protocol.Done(fault=fault)
