"""One script in one locked-down process: reads START, compiles, runs, answers its calls' results to it, sends DONE.

From the host's point of view everything here is hostile. From the script's point of view this is the whole world. The
fork server calls `warm` once and `main` in each child; nothing returns from `main`.
"""

from __future__ import annotations

import collections
import os
import socket
import sys
from collections.abc import Callable
from typing import Final, NoReturn

import msgspec

from kubescript.sandbox import channel, compiler, lockdown, namespace, protocol, rehearsal, stdlib
from kubescript.sdk import client, context, errors, helptext, plain, session, tables, virtual

__all__ = ["Evaluate", "Prepare", "main", "prepare", "warm"]

_BASE_DEPTH: Final = 40
"""Frames of our own below and above the script's."""

_AT_HAND: Final = {"Counter": collections.Counter, "defaultdict": collections.defaultdict}
"""What scripts forget to import."""

_REHEARSALS: Final = 8
"""Runs after which CPython 3.11 and later have specialized a function."""

_LIMIT_HINTS: Final = {
    "limit.memory": "keep only the fields you need, page with limit=500, or aggregate while you iterate",
    "limit.depth": "use a loop instead of deep recursion",
}


def warm() -> None:
    """Load, in the fork server, all that scripts may use: after the lockdown no file can be opened.

    Rehearsed a few times, the interpreter has specialized its bytecode, and workers copy a quarter fewer pages.
    """
    stdlib.warm()
    tables.warm()
    nowhere, other = socket.socketpair()
    with nowhere, other:
        for _ in range(_REHEARSALS):
            prepare(channel.Channel(protocol.FrameSocket(nowhere)))


Evaluate = Callable[[protocol.Start], None]
"""Runs one script and sends its DONE."""
Prepare = Callable[[channel.Channel], Evaluate]
"""Does ahead of time, in a spare worker, what does not depend on the script."""


def main(
    descriptor: int, confinement: lockdown.Confinement, inherited: tuple[protocol.Layer, ...], prepare: Prepare
) -> NoReturn:
    """Lock this process down, run its one script, and end."""
    frames = protocol.FrameSocket(lockdown.adopt(descriptor))
    layers = inherited + lockdown.apply(lockdown.WORKER_STEPS, confinement)
    link = channel.Channel(frames)
    evaluate = prepare(link)
    try:
        link.ready(protocol.Ready(protocol.VERSION, layers))
        evaluate(link.start())
    except (protocol.ProtocolError, OSError):
        os._exit(1)  # the host hung up: nobody is left to tell
    os._exit(0)


def prepare(link: channel.Channel) -> Evaluate:
    """Build a script's world; the returned function runs the script in it under RestrictedPython and sends its DONE."""
    rehearsal.play(lambda k8s: _scope(link, k8s))
    scope = _scope(link, client.K8s(session.Session(link)))

    def evaluate(start: protocol.Start) -> None:
        ctx = context.Context(start.context, start.namespace, start.timeout_ms, link.progress)
        link.finish(_bounded(start, {**scope, "ctx": ctx, "namespace": start.namespace}))

    return evaluate


def _scope(link: channel.Channel, k8s: client.K8s) -> dict[str, object]:
    modules = {name: virtual.VirtualModule(name, members) for name, members in virtual.exports(k8s).items()}
    extra = {**_AT_HAND, "k8s": k8s, "help": lambda subject=k8s: link.print(helptext.help_text(subject))}
    return namespace.build_globals(print_=link.print, extra=extra, importable=modules)


def _bounded(start: protocol.Start, scope: dict[str, object]) -> protocol.Done:
    reserve: list[bytes] = [bytes(1 << 20)]  # freed when memory runs out, so that there is room to say so
    sys.setrecursionlimit(start.depth + _BASE_DEPTH)
    try:
        return _outcome(start, scope)
    except MemoryError:
        reserve.clear()
        return _limit("limit.memory", f"the script needed more than its {start.memory_bytes >> 20} MiB of memory")


def _outcome(start: protocol.Start, scope: dict[str, object]) -> protocol.Done:
    try:
        program = compiler.compile_script(start.script)
    except compiler.ScriptRefused as error:
        return protocol.Done(fault=protocol.ScriptFault(error.code, str(error)))
    try:
        return _result(compiler.run(program, scope), program)
    except MemoryError:
        raise
    except BaseException as error:  # a script may raise anything, SystemExit included: this is its end, never ours
        return _failure(error, program, start)


def _result(value: object, program: compiler.Program) -> protocol.Done:
    if value is compiler.NOTHING or value is None:
        return protocol.Done(hint=program.hint if value is compiler.NOTHING else "the last expression is None")
    encoded = plain.encode(value)
    if len(encoded) > protocol.CAPS[protocol.Kind.DONE] - 1024:
        size = f"the result is {len(encoded) >> 20} MiB of JSON"
        return _limit("limit.output", size, "return counts, names or the first few rows")
    return protocol.Done(result=msgspec.Raw(encoded))


def _failure(error: BaseException, program: compiler.Program, start: protocol.Start) -> protocol.Done:
    if isinstance(error, RecursionError):
        return _limit("limit.depth", f"the script nested more than {start.depth} calls")
    kind, message = compiler.describe_failure(error, program)
    code = error.code if isinstance(error, errors.LimitExceeded) else "script.exception"
    return protocol.Done(fault=protocol.ScriptFault(code, message, kind))


def _limit(code: str, what: str, hint: str = "") -> protocol.Done:
    return protocol.Done(fault=protocol.ScriptFault(code, f"{what}; {hint or _LIMIT_HINTS[code]}"))
