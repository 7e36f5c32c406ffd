"""The world of one script over a cluster that always answers the same, in this process, and the verdict on what the
script could have held."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import resource
import signal
import sys
import types
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final

from kubescript.guest import toolbox
from kubescript.guest.sdk import client
from kubescript.guest.sdk.calls import session
from kubescript.guest.sdk.compat import modules
from kubescript.guest.sdk.objects import helpers
from kubescript.guest.sdk.values import context
from kubescript.wire import exchanges
from kubescript_sandbox.guest import channel
from kubescript_sandbox.language import compiler, formatting, guards
from kubescript_sandbox.library import builtins, stdlib
from security_tests import reach

__all__ = ["ATTEMPT", "SDK", "Verdict", "World", "judge", "shared"]


SECONDS: Final = 0.3
"""Processor time of one program. A loop in Python is stopped; grammar.py writes none that would run long in C."""


MEMORY: Final = 512 << 20


DEPTH: Final = 150


TOOLS: Final = frozenset(
    f"kubescript.guest.{name}" for name in ("toolbox", "tool_errors", "kubectl.describe.describer", "helm.script")
)
"""Modules of the classic tools whose types a script may meet."""


SDK: Final = TOOLS | frozenset(
    f"kubescript.guest.sdk.{name}"
    for name in (
        "client",
        "values.ages",
        "values.context",
        "values.exceptions",
        "objects.base_view",
        "objects.list_view",
        "objects.list_objects",
        "objects.to_dict",
        "objects.views",
        "calls.api_class",
        "calls.methods",
        "calls.watch",
        "discovery.dynamic",
        "compat.kubeconfig",
        "compat.models",
        "compat.modules",
    )
)
"""Modules of the SDK whose types a script may meet: not the transport, nor the session."""


POD: Final = (
    b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"},'
    b'"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}'
)


@dataclass(frozen=True)
class Answer:
    """A canned answer."""

    body: bytes
    reply: ClassVar = exchanges.Reply(200, "OK", "application/json")

    def chunks(self) -> Iterator[bytes]:
        """The body, whole."""
        yield self.body

    def stop(self) -> None:
        """Nothing is on its way."""


class Stage:
    """A transport that leads nowhere. No script may ever hold it."""

    quiet = False
    left = channel.Left(1_000, 1 << 30, 1 << 16)

    def batch(self, calls: Sequence[exchanges.Call]) -> list[Answer]:
        """Each as `call`."""
        return [self.call(call) for call in calls]

    def call(self, call: exchanges.Call) -> Answer:
        """One pod, or a list with one."""
        if "web" in str(call.path):
            return Answer(POD)
        return Answer(b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[' + POD + b"]}")


GUARDS: Final = ("_getattr_", "_private_", "_special_", "_protocol_", "getattr", "vars")


@dataclass
class World:
    """The globals of one program, and what was seen in it."""

    seen: list[tuple[str, object]] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        k8s = client.K8s(session.Session(Stage()), extensions=toolbox.EXTENSIONS)
        importable = {name: modules.VirtualModule(name, members) for name, members in modules.exports(k8s).items()}
        ctx = context.Context("test", "shop", 20_000, lambda *_: None)
        extra = {"k8s": k8s, "handle": reach.Handle(), "namespace": "shop", "ctx": ctx, **helpers.GLOBALS}
        self.scope = builtins.build_globals(print_=self.print, extra=extra, importable=importable)
        for guard in GUARDS:
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


@functools.cache
def shared() -> list[object]:
    """What every program can reach: the walk of test_language_escapes.py has judged it, and need not be done again."""
    return [value for _, value in reach.reachable()]


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


ATTEMPT: Final = "def attempt(f):\n    try:\n        return f()\n    except Exception as e:\n        return e\n"


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
    known = [*shared(), *world.builtins.values()]
    held = [*roots, *world.seen]
    with contextlib.suppress(TimeUp), bounded():
        for step in reach.walk(list(held), 3, known=known, most=60):
            held.append(step)
    # what was found before the time was up is judged outside the bounds: no code of the program runs any more
    held = [(path, value) for path, value in held if not _opaque(path, value)]
    found = [f"{path}: {why}" for path, value in held if (why := reach.leak(value, homes))]
    return Verdict(fate, tuple(dict.fromkeys([*found, *_changed()])))


def _opaque(path: str, value: object) -> bool:
    """Python itself gives `__exit__` a traceback. A script may hold it, and gets it from no guard, nor anything from it."""
    by_guard = path in {*GUARDS, "dynamic"} or "." in path.rpartition("]")[2]
    return type(value) is types.TracebackType and not by_guard


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


def _changed() -> list[str]:
    """What all scripts share is as it was."""
    return [f"{name}: changed for later scripts" for name, was in SHARED.items() if vars(stdlib.MODULES[name]) != was]
