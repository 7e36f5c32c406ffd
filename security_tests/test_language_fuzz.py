"""Layer 1, by chance: scripts made of any allowed construct bind, meet, return, raise and print nothing forbidden.

hypothesis writes programs (grammar.py); what the compiler accepts runs in this process, in the world the worker builds,
over a cluster that always answers the same. Whatever a program could have held is judged by reach.py. The number of
programs is fixed for CI; `KUBESCRIPT_TEST_FUZZ=5000` runs that many.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import resource
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import hypothesis
import pytest
from hypothesis import Phase, settings

from kubescript.sandbox import compiler, formatting, guards, names, namespace, protocol, stdlib
from kubescript.sdk import client, context, errors, lists, session, tables, virtual
from security_tests import grammar, reach

PROGRAMS: Final = int(os.environ.get("KUBESCRIPT_TEST_FUZZ", "150"))
SECONDS: Final = 0.5
"""Processor time of one program. A loop in Python is stopped; grammar.py writes none that would run long in C."""
MEMORY: Final = 512 << 20
DEPTH: Final = 150

FUZZ: Final = settings(
    max_examples=PROGRAMS,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)

SDK: Final = frozenset(
    f"kubescript.sdk.{name}"
    for name in ("client", "context", "lists", "objects", "methods", "models", "errors", "virtual", "watch", "quantity")
)
"""Modules of the SDK whose types a script may meet: not the transport, nor the session."""


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()
    tables.warm()


# --- the world --------------------------------------------------------------------------------------------------------

POD: Final = (
    b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"},'
    b'"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}'
)


@dataclass
class Answer:
    """A canned answer."""

    body: bytes
    reply: protocol.Reply = protocol.Reply(200, "OK", "application/json")

    def chunks(self) -> Iterator[bytes]:
        """The body, whole."""
        yield self.body


class Stage:
    """A transport that leads nowhere. No script may ever hold it."""

    def call(self, call: protocol.Call) -> Answer:
        """One pod, or a list with one."""
        if "web" in str(call.path):
            return Answer(POD)
        return Answer(b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[' + POD + b"]}")


@dataclass
class World:
    """The globals of one program, and what was seen in it."""

    seen: list[tuple[str, object]] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        k8s = client.K8s(session.Session(Stage()))
        modules = {name: virtual.VirtualModule(name, members) for name, members in virtual.exports(k8s).items()}
        ctx = context.Context("test", "shop", 20_000, lambda *_: None)
        extra = {"k8s": k8s, "handle": reach.Handle(), "namespace": "shop", "ctx": ctx}
        self.scope = namespace.build_globals(print_=self.print, extra=extra, importable=modules)
        for guard in ("_getattr_", "_private_", "_special_", "_protocol_", "getattr", "vars"):
            self.builtins[guard] = self.watched(guard, self.builtins[guard])

    @property
    def builtins(self) -> dict[str, Any]:
        found: dict[str, Any] = self.scope["__builtins__"]
        return found

    def print(self, *values: object, **_options: object) -> None:
        """What a program prints is its way to show us an object."""
        self.see("printed", values)

    def see(self, path: str, values: Iterable[object]) -> None:
        if len(self.seen) < 3000:
            self.seen += [(path, value) for value in values]

    def watched(self, path: str, guard: Callable[..., Any]) -> Callable[..., Any]:
        """The guard, noting what it hands out."""

        def watch(*args: Any) -> Any:
            value = guard(*args)
            self.see(path, [value])
            return value

        return watch


KNOWN: Final = World()
"""Values every program has from the start: the walk of test_language.py has judged them and what they lead to."""


# --- bounds -----------------------------------------------------------------------------------------------------------


class TimeUp(BaseException):
    """Raised in a program again and again until it ends."""


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Little time, memory and depth; the process as it was afterwards."""
    armed = True

    def ring(_signal: int, _frame: object) -> None:
        if armed:
            raise TimeUp

    before = (sys.getrecursionlimit(), resource.getrlimit(resource.RLIMIT_AS), sys.unraisablehook)
    handler = signal.signal(signal.SIGVTALRM, ring)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    sys.setrecursionlimit(_depth() + DEPTH)
    sys.unraisablehook = reach.silent
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1][1]))
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, 0.02)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)
        resource.setrlimit(resource.RLIMIT_AS, before[1])
        sys.setrecursionlimit(before[0])
        sys.unraisablehook = before[2]


def _depth() -> int:
    frame, depth = sys._getframe(), 0
    while frame.f_back:
        frame, depth = frame.f_back, depth + 1
    return depth


# --- one program ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """How one program ended, and what it should not have held."""

    fate: str
    """refused, raised, ended or stopped."""
    leaks: tuple[str, ...] = ()


def judge(source: str) -> Verdict:
    """Compile, run and look at everything the program could have held."""
    try:
        program = compiler.compile_script(source)
    except compiler.ScriptRefused:
        return Verdict("refused")
    world = World()
    start = set(world.scope)
    fate, outcome = contextvars.copy_context().run(_run, program, world)
    roots = [(f"{fate} with", outcome), *((name, world.scope[name]) for name in world.scope if name not in start)]
    homes = reach.HOMES | SDK
    known = [*KNOWN.builtins.values(), *world.builtins.values()]
    with contextlib.suppress(TimeUp), bounded():
        held = [*roots, *world.seen, *reach.walk([*roots, *world.seen], 4, known=known, most=250)]
    # judged outside the bounds: nothing of the program runs any more
    found = [f"{path}: {why}" for path, value in held if (why := reach.leak(value, homes))]
    return Verdict(fate, tuple(dict.fromkeys([*found, *_changed(world)])))


def _run(program: compiler.Program, world: World) -> tuple[str, object]:
    dynamic = guards.dynamic
    guards.dynamic = world.watched("dynamic", dynamic)
    formatting.install(guards.dynamic)
    try:
        with bounded():
            value = compiler.run(program, world.scope)
            return "ended", None if value is compiler.NOTHING else value
    except TimeUp:
        return "stopped", None
    except BaseException as error:
        return "raised", error
    finally:
        guards.dynamic = dynamic
        formatting.install(dynamic)


SHARED: Final = {name: dict(vars(proxy)) for name, proxy in stdlib.MODULES.items()}


def _changed(world: World) -> list[str]:
    """What all scripts share is as it was."""
    return [f"{name}: changed for later scripts" for name, was in SHARED.items() if vars(stdlib.MODULES[name]) != was]


# --- the promise ------------------------------------------------------------------------------------------------------


@pytest.mark.promise("L-02")
def test_no_program_holds_what_it_must_not(record_property: Callable[[str, object], None]) -> None:
    """Whatever a program of allowed constructs binds, meets, returns, raises or prints is data, SDK or allowed library."""
    fates: Counter[str] = Counter()
    used: set[str] = set()
    seen: set[str] = set()

    @settings(FUZZ)
    @hypothesis.given(grammar.programs())
    def fuzz(text: grammar.Text) -> None:
        verdict = judge(text.source)
        assert not verdict.leaks, f"{verdict.leaks[:5]}\n{text.source}"
        if text.source not in seen:
            seen.add(text.source)
            fates[verdict.fate] += 1
            used.update(text.used if verdict.fate == "ended" else ())

    fuzz()
    print(f"{fates.total()} programs: {dict(fates)}")
    record_property("attacks", fates.total())
    assert fates.total() > PROGRAMS / 2
    assert fates["refused"] < fates.total() * 0.6, fates
    assert fates["ended"] > fates.total() * 0.3, fates
    assert fates["refused"], "nothing was refused: the programs are tame"
    assert used >= grammar.KINDS, f"never in a program that ran: {grammar.KINDS - used}"
