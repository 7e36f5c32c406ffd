"""The worker: one locked-down process that receives START, compiles and runs one script, and sends DONE.

To the host, everything that happens in this process is hostile. The fork server calls `warm` once, and `main` in each
child; `main` never returns.
"""

from __future__ import annotations

import collections
import functools
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Final, NoReturn

import msgspec

from kubescript.confinement import lockdown, scheduling
from kubescript.wire import framing, outline, protocol
from kubescript.worker import channel, warmup
from kubescript.worker.language import builtins, compiler, stdlib
from kubescript.worker.sdk import (
    builtin_kinds,
    client,
    context,
    errors,
    futures,
    helpers,
    helptext,
    masks,
    modules,
    operations,
    serialize,
    session,
)
from kubescript.worker.tools import errors as tool_errors
from kubescript.worker.tools import registry

__all__ = ["Evaluate", "Prepare", "main", "prepare", "warm"]

_BASE_DEPTH: Final = 40
"""Frames of this package below and above those of the script."""

_EXTRA_GLOBALS: Final = {"Counter": collections.Counter, "defaultdict": collections.defaultdict}
"""Names that scripts often use without importing them."""

_WARMUP_RUNS: Final = 8
"""Number of runs after which CPython 3.11 and later have specialized the bytecode of a function."""

_MAX_RESULT_BYTES: Final = protocol.CAPS[protocol.FrameType.DONE] - 1024
"""Leaves room in the frame for the other fields of Done."""
_LESS: Final = "return counts, names or the first few rows"

_LIMITS: Final = frozenset({"limit.bytes", "limit.calls", "limit.output", "limit.watches"})
"""Codes of the LimitExceeded that the SDK raises. A script may raise one with any other code, or with none."""
_LIMIT_HINTS: Final = {
    "limit.memory": "keep only the fields you need, page with limit=500, or aggregate while you iterate",
    "limit.depth": "use a loop instead of deep recursion",
}


def warm() -> None:
    """Load, in the fork server, everything that scripts may use, and run a worker's part against canned frames."""
    # After the lockdown no file can be opened.
    stdlib.warm()
    operations.warm()
    builtin_kinds.of_model("V1Pod")
    # With specialized bytecode workers copy a quarter fewer pages, and none has to work out the types of its messages.
    for _ in range(_WARMUP_RUNS):
        worker_end, host_end = socket.socketpair()
        with worker_end, host_end:
            warmup.send_host_frames(framing.FrameSocket(host_end))
            host_end.shutdown(socket.SHUT_WR)  # so that finish() finds the end of the stream and does not wait
            link = channel.Channel(framing.FrameSocket(worker_end))
            prepare(link)
            warmup.exchange_frames(link)


Evaluate = Callable[[protocol.Start], None]
"""Runs one script and sends its DONE."""
Prepare = Callable[[channel.Channel], Evaluate]
"""Does, in a spare worker and ahead of time, all work that does not depend on the script."""


def main(
    descriptor: int, confinement: lockdown.Confinement, inherited: tuple[protocol.Layer, ...], *, prepare: Prepare
) -> NoReturn:
    """Lock this process down, run its one script, and end."""
    scheduling.lengthen_time_slices()
    sock = lockdown.adopt_socket(descriptor)
    frames = framing.FrameSocket(sock)
    layers = inherited + lockdown.apply(lockdown.WORKER_STEPS, confinement)
    link = channel.Channel(frames)
    evaluate = prepare(link)
    try:
        link.ready(protocol.Ready(protocol.VERSION, layers))
        evaluate(link.start())
    except (protocol.ProtocolError, OSError):
        os._exit(1)  # the host closed the socket, so the error cannot be reported
    os._exit(0)


def prepare(link: channel.Channel) -> Evaluate:
    """Build the globals of a script; the returned function runs the script in them under RestrictedPython and sends its
    DONE."""
    warmup.run_script(lambda k8s: _script_globals(link, k8s))
    k8s = client.K8s(session.Session(link), extensions=registry.EXTENSIONS)
    globals_ = _script_globals(link, k8s)
    compiler.compile_script("0")  # touches the pages that the next script's tree will lie on

    def evaluate(start: protocol.Start) -> None:
        timeout = start.timeout_ms / 1000
        k8s._session.deadline = time.monotonic() + timeout
        k8s._session.report = link.progress
        k8s._announce(start.contexts)
        ctx = context.Context(
            start.context,
            start.namespace,
            start.timeout_ms,
            link.progress,
            link.left,
        )
        complete = functools.partial(futures.complete, k8s._session.relay)
        variables = {"ctx": ctx, "namespace": start.namespace}
        done = _run_within_memory(start, globals_ | variables, complete)
        link.finish(msgspec.structs.replace(done, saw_masks=masks.handed_out()))

    return evaluate


def _script_globals(link: channel.Channel, k8s: client.K8s) -> dict[str, object]:
    importable = {}
    for name, members in modules.exports(k8s).items():
        importable[name] = modules.VirtualModule(name, members)
    extra = {
        "k8s": k8s,
        "_asked_": masks.count,
        "_tested_": masks.forget_tested,
        **helpers.GLOBALS,
        "help": _make_help(link, k8s),
        **_EXTRA_GLOBALS,
    }
    return builtins.build_globals(print_=link.print, extra=extra, importable=importable)


def _make_help(link: channel.Channel, k8s: client.K8s) -> Callable[..., None]:
    def help(subject: object = k8s) -> None:  # noqa: A001  the name that error messages show
        """A few lines about an object, a method, or a kind named as for k8s.explain, printed."""
        if type(subject) is str and subject not in operations.models():
            text = _describe(k8s, subject)
        else:
            text = helptext.help_text(subject)
        link.print(text)

    return help


def _describe(k8s: client.K8s, name: str) -> str:
    """Describe an API method, a kind or a field of that name; else list the API methods that it is a part of."""
    for api in operations.apis():
        if name in operations.operations(api):
            operation = operations.operation(api, name)
            return helptext.method(operation)
    try:
        return k8s.explain(name)
    except errors.NotFoundException:
        methods = "" if "." in name else k8s.search(name)
        if not methods.startswith("k8s."):
            raise
        return methods


def _run_within_memory(
    start: protocol.Start, globals_: dict[str, object], complete: Callable[[], None]
) -> protocol.Done:
    reserve = [bytes(1 << 20)]  # freed when memory runs out, so that there is room for the report
    sys.setrecursionlimit(start.depth + _BASE_DEPTH)
    try:
        return _run(start, globals_, complete)
    except MemoryError:
        reserve.clear()
        mebibytes = start.memory_bytes >> 20
        return _limit_fault("limit.memory", f"the script needed more than its {mebibytes} MiB of memory")


def _run(start: protocol.Start, globals_: dict[str, object], complete: Callable[[], None]) -> protocol.Done:
    try:
        program = compiler.compile_script(start.script)
    except compiler.ScriptRefused as error:
        return protocol.Done(fault=protocol.Failure(error.code, str(error)))
    try:
        value = compiler.run(program, globals_)
        complete()  # writes with async_req whose result the script did not wait for
        return _result(value, program, start.output_bytes)
    except MemoryError:
        raise
    except BaseException as error:  # a script may raise anything, also SystemExit: that ends it, not the worker
        return _failure(error, start)


def _result(value: object, program: compiler.Program, output_bytes: int) -> protocol.Done:
    if value is compiler.NOTHING:
        return protocol.Done(hint=program.hint)
    if value is None:
        return protocol.Done(hint=program.none_hint)
    encoded = serialize.encode(value)
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


def _failure(error: BaseException, start: protocol.Start) -> protocol.Done:
    if isinstance(error, RecursionError):
        return _limit_fault("limit.depth", f"the script nested more than {start.depth} calls")
    if isinstance(error, tool_errors.ToolError):  # says what to do by itself; no line of the script explains it
        return protocol.Done(fault=protocol.Failure(error.code, str(error), error.type))
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
    if isinstance(error, errors.LimitExceeded):
        code: object = error.code
        if isinstance(code, str) and code in _LIMITS:
            return code
    return "script.exception"


def _limit_fault(code: str, what: str, hint: str = "") -> protocol.Done:
    return protocol.Done(fault=protocol.Failure(code, what, hint=f"; {hint or _LIMIT_HINTS[code]}", by_worker=True))
