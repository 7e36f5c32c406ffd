"""Layer 1, by chance: scripts made of any allowed construct bind, meet, return, raise and print nothing forbidden.

hypothesis writes programs (grammar.py); what the compiler accepts runs in this process, in the world the worker builds,
over a cluster that always answers the same. Whatever a program could have held is judged by reach.py. The number of
programs is fixed for CI; `KUBESCRIPT_TEST_FUZZ=5000` runs that many.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import importlib
import os
import resource
import signal
import sys
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, cast

import hypothesis
import pytest
from hypothesis import Phase, settings

from kubescript.wire import protocol
from kubescript.worker.language import builtins, compiler, formatting, guards, identifiers, stdlib
from kubescript.worker.sdk import client, context, helpers, modules, operations, session
from kubescript.worker.tools import registry
from security_tests import grammar, reach

pytestmark = pytest.mark.slow

PROGRAMS: Final = int(os.environ.get("KUBESCRIPT_TEST_FUZZ", "100"))
SECONDS: Final = 0.3
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

TOOLS: Final = frozenset(
    f"kubescript.worker.tools.{name}" for name in ("registry", "errors", "describe.describer", "helm.script")
)
"""Modules of the classic tools whose types a script may meet."""
SDK: Final = TOOLS | frozenset(
    f"kubescript.worker.sdk.{name}"
    for name in (
        "client",
        "context",
        "base_view",
        "list_view",
        "lists",
        "views",
        "methods",
        "models",
        "errors",
        "modules",
        "watch",
        "ages",
        "kubeconfig",
        "dynamic",
        "to_dict",
    )
)
"""Modules of the SDK whose types a script may meet: not the transport, nor the session."""


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()
    operations.warm()
    shared()  # as it is before any guard is opened


# --- the world --------------------------------------------------------------------------------------------------------

POD: Final = (
    b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"},'
    b'"creationTimestamp":"2026-01-01T00:00:00Z"},"spec":{"nodeName":"n"},"status":{"phase":"Running"}}'
)


@dataclass(frozen=True)
class Answer:
    """A canned answer."""

    body: bytes
    reply: ClassVar = protocol.Reply(200, "OK", "application/json")

    def chunks(self) -> Iterator[bytes]:
        """The body, whole."""
        yield self.body

    def stop(self) -> None:
        """Nothing is on its way."""


class Stage:
    """A transport that leads nowhere. No script may ever hold it."""

    quiet = False
    left = context.Left(1_000, 1 << 30, 1 << 16)

    def batch(self, calls: Sequence[protocol.Call]) -> list[Answer]:
        """Each as `call`."""
        return [self.call(call) for call in calls]

    def call(self, call: protocol.Call) -> Answer:
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
        k8s = client.K8s(session.Session(Stage()), extensions=registry.EXTENSIONS)
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


ATTEMPT: Final = "def attempt(f):\n    try:\n        return f()\n    except Exception as e:\n        return e\n"
CLIENT: Final = (
    "kubernetes.client.CoreV1Api",
    "kubernetes.client.ApiClient",
    "kubernetes.client.Configuration",
    "kubernetes.client.ApiException",
    "kubernetes.client.V1Pod",
    "kubernetes.config.list_kube_config_contexts",
    "kubernetes.config.load_kube_config",
    "kubernetes.config.new_client_from_config",
    "kubernetes.config.ConfigException",
    "kubernetes.dynamic.DynamicClient",
    "kubernetes.utils.parse_quantity",
    "kubernetes.watch.Watch",
)


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
    assert fates["refused"] < fates.total() * 0.5, f"too few were accepted: {fates}"
    assert fates["ended"] > fates.total() * 0.25, f"too few ran to their end: {fates}"
    assert fates["refused"], "nothing was refused: the programs are tame"
    assert used >= grammar.KINDS, f"never in a program that ran: {grammar.KINDS - used}"


@pytest.mark.promise("L-02")
@pytest.mark.parametrize("name", CLIENT)
def test_what_the_official_client_exports_is_the_sdk_s(name: str) -> None:
    """Chance names a class of the client once in thousands of programs; so each is held and called here."""
    verdict = judge(f"import kubernetes\n{ATTEMPT}held = {name}\ncalled = attempt(held)\n")
    assert verdict == Verdict("ended")


PARTS: Final = (
    "[*pod.keys().mapping.values()]",
    "[*pod.items().mapping.values()]",
    "[*pod.metadata.keys().mapping.values()]",
    "[*pods.items.copy(), *pods.values(), *pods.items()]",
    "[*pod.to_dict().keys().mapping.values()]",
    "{**pod}",
)


@pytest.mark.promise("L-02")
@pytest.mark.parametrize("parts", PARTS)
def test_the_parts_of_an_object_are_data_and_the_sdk_s(parts: str) -> None:
    """However an object of the cluster is taken apart, a script gets decoded data. The first gave msgspec's."""
    read = "pods = k8s.coreV1().list_namespaced_pod('shop')\npod = k8s.coreV1().read_namespaced_pod('web', 'shop')\n"
    assert judge(f"{read}held = {parts}\n") == Verdict("ended")


# --- the fuzzer finds leaks where there are some ----------------------------------------------------------------------


def open_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """`"".format` is handed out raw."""
    monkeypatch.setattr(formatting, "safe", lambda value: value)


def open_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """`x._name` is read from anything."""
    monkeypatch.setitem(guards._GUARDS, identifiers.Access.PRIVATE, guards.read)
    monkeypatch.setitem(builtins._BUILTINS, "_private_", guards.read)


def open_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the names nor the types of frames are refused."""
    monkeypatch.setattr(identifiers, "INTROSPECTION", frozenset())
    _open_types(monkeypatch)


def _open_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """No type of object is refused, neither to be looked into nor to be handed out."""
    for kind in guards.REFUSED_TYPES:
        monkeypatch.delitem(guards.READERS, kind)
    monkeypatch.setattr(guards, "REFUSED_TYPES", frozenset())


def open_dunders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any dunder may be read from anything, by a string at least."""
    monkeypatch.setattr(identifiers, "TEXTS", frozenset(grammar.DANGEROUS))
    _open_types(monkeypatch)


def open_import(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some modules are handed out themselves."""
    for name in ("math", "string", "random", "time", "csv", "heapq", "bisect", "base64", "hashlib", "html", "textwrap"):
        monkeypatch.setitem(cast("dict[str, object]", stdlib.MODULES), name, importlib.import_module(name))


OPENED: Final = {
    "format": (open_format, "'x'.format", "the raw str.format"),
    "private": (open_private, "handle._secret", "the secret of the host object"),
    "frames": (open_frames, "getattr((x for x in [1]), 'gi_' + 'frame')", "a frame"),
    "dunders": (open_dunders, "getattr(lambda: 0, '__code__')", "a code"),
    "import": (open_import, "import math as v\nv", "a module"),
}
"""A guard taken away ▶ a program that notices, and what must be found then."""


@pytest.mark.promise("L-02")
@pytest.mark.parametrize(("opening", "source", "expected"), OPENED.values(), ids=OPENED)
def test_an_open_guard_is_noticed(
    opening: Callable[[pytest.MonkeyPatch], None], source: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is harmless with all guards is caught with what it holds when one is gone."""
    assert judge(source).leaks == ()
    opening(monkeypatch)
    assert any(expected in leak for leak in judge(source).leaks), judge(source)


@pytest.mark.promise("L-02")
@pytest.mark.parametrize("name", ["dunders", "import"])
def test_the_fuzzer_finds_an_open_guard(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a guard gone, chance alone comes upon what it held back."""
    opening, _, expected = OPENED[name]
    opening(monkeypatch)
    search = settings(FUZZ, max_examples=400, phases=[Phase.generate])

    def caught(text: grammar.Text) -> bool:
        return any(leak.endswith(expected) for leak in judge(text.source).leaks)

    assert hypothesis.find(grammar.programs(), caught, settings=search)
