"""Layer 1: whatever a library function hands to an object of the script's is data, SDK or allowed library.

Every callable that a script can import is called with objects of classes that a script wrote: plain ones, and ones that
inherit from str, int, dict and the like. Each defines every hook it may, and every method of its base, and notes what it
is given. What arrives is judged like anything else a script holds (reach.py); beyond that it may be no container that the
library or this package shares among all who ask, and no function that the script could not have had anyway.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import json
import re
import signal
import sys
import types
import warnings
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

from kubescript.guest.sdk.values import operations
from kubescript_sandbox.language import compiler, failures, identifiers, reflection
from kubescript_sandbox.library import stdlib
from security_tests import reach
from security_tests.worlds import SDK, World

pytestmark = pytest.mark.promise("L-03")

HOMES: Final = reach.HOMES | SDK
SECONDS: Final = 0.3
"""Processor time of one call."""

# --- the spies --------------------------------------------------------------------------------------------------------

BASES: Final[dict[str, type]] = {
    **{kind.__name__: kind for kind in (object, str, bytes, int, float, dict, list, tuple, set, Exception)},
    **{kind.__name__: kind for kind in (UserDict, UserList)},
}
"""What the spies inherit from."""
FIXED: Final = frozenset({"__init__", "__post_init__", "__getattr__"})
EXACT: Final = frozenset({"__hash__", "__len__", "__index__", "__bool__", "__length_hint__", "__contains__"})
"""Hooks whose answer Python wants plain."""


def _methods(base: type) -> list[str]:
    public = [name for name in dir(base) if not name.startswith("_") and callable(getattr(base, name))]
    return sorted({*public, *identifiers.DEFINABLE} - FIXED)


def _class(name: str, base: type) -> str:
    lines = [f"class Spy_{name}({name}):"]
    lines += [
        f"    def {method}(self, *given, **options): return note('{name}', '{method}', self, given, options)"
        for method in _methods(base)
    ]
    if base is object:
        lines.append("    def __getattr__(self, name): return note('object', '__getattr__', self, (name,), {})")
    return "\n".join(lines)


SCRIPT: Final = "from collections import UserDict, UserList\n" + "\n".join(
    _class(name, base) for name, base in BASES.items()
)


class Room:
    """The world of one script with its spies, and what they have received."""

    def __init__(self) -> None:
        world = World()
        self.scope = world.scope
        self.scope["note"] = self.note
        self.seen: list[tuple[str, object]] = []
        self.hooks: Counter[str] = Counter()
        self.turn = 0
        self.likes = itertools.cycle([None, "a", 1, b"a", [1], {"a": 1}, ("a", 1)])
        compiler.run(compiler.compile_script(SCRIPT), self.scope)
        self.kinds: dict[str, type] = {name: self.scope[f"Spy_{name}"] for name in BASES}

    def spy(self, like: object) -> Any:
        """A spy that holds this value; a plain one for any other."""
        name = type(like).__name__
        kind = self.kinds.get(name, self.kinds["object"])
        return kind() if name not in BASES or name == "object" else kind(like)

    def note(self, kind: str, hook: str, spy: Any, given: tuple[object, ...], options: dict[str, object]) -> object:
        """Keep what a spy was given, and answer like its base."""
        self.hooks[hook] += 1
        for value in (*given, *options.values()):
            self.seen += [(hook, value), *((hook, item) for _, item in reach._items(value))]
        answer = getattr(BASES[kind], hook, None) if kind != "object" else None
        value = self.plain(hook, spy) if answer is None else answer(spy, *given, **options)
        return value if hook in EXACT or type(value) is bool else self.disguised(value)

    def other(self) -> object:
        """A spy of the next kind."""
        return self.spy(next(self.likes))

    def disguised(self, value: object) -> object:
        """The value as one of a spy, so that what is asked next is noted too."""
        return self.spy(value) if type(value) in (str, bytes, int, float, dict, list, tuple, set) else value

    def plain(self, hook: str, spy: object) -> object:
        """What a plain spy says: as much as Python accepts, and yes and no in turns."""
        self.turn += 1
        if hook in PLAIN:
            return PLAIN[hook]
        match hook:
            case "__iter__" | "__reversed__":
                return iter([self.other(), self.other()])
            case "__next__" | "__getitem__" | "__missing__":
                if self.turn % 3 == 0:
                    raise StopIteration if hook == "__next__" else IndexError
                return self.other()
            case "__eq__" | "__ne__" | "__lt__" | "__le__" | "__gt__" | "__ge__" | "__exit__":
                return self.turn % 2 == 0
        return spy


PLAIN: Final[dict[str, object]] = {
    **dict.fromkeys(("__str__", "__repr__", "__format__"), "a"),
    **dict.fromkeys(("__len__", "__index__", "__int__", "__length_hint__", "__round__", "__trunc__"), 1),
    **dict.fromkeys(("__floor__", "__ceil__", "__bool__", "__contains__"), True),
    "__hash__": hash("a"),
    "__float__": 1.0,
    "__complex__": 1j,
    "__bytes__": b"a",
}

# --- what is called, and with what ------------------------------------------------------------------------------------

PAIRS: Final = ("a", 1, b"a", 1.5, [1, 2], {"a": 1}, (1, 2), "2026-01-01", "10.0.0.0/8", "%Y", "sha256", [[1], [2]])
CALLS: Final[list[tuple[Any, ...]]] = [
    (),
    *((value,) for value in PAIRS),
    *itertools.product(("a", 1, b"a", [1, 2], {"a": 1}, str), repeat=2),
    *(
        (len, ["a"]),
        ("2026-01-01", "%Y-%m-%d"),
        ("a", "a", "a"),
        (1, 1, 1),
        (["a"], ["a"], "a"),
        (b"a", b"a", "sha256"),
    ),
]
"""Arguments, of which a callable accepts some: then each of them is replaced by a spy."""
MOST: Final = 4
"""Working calls of one callable that are tried with spies."""
OPTIONS: Final[tuple[object, ...]] = (None, "a", 1)
"""What the spy in an option is like."""


def _callables(room: Room) -> dict[str, Any]:
    """Everything that a script can call without having made it, by its path."""
    found = dict[str, Any](room.scope["__builtins__"])
    found |= {name: value for name, value in room.scope.items() if name not in {"note", "__builtins__"}}
    for module, proxy in [*stdlib.MODULES.items(), *_modules(found)]:
        found |= {f"{module}.{name}": reflection.get(proxy, name, None) for name in reflection.listing(proxy)}
    samples: Any = compiler.run(compiler.compile_script(reach.SAMPLES), room.scope)
    for number, sample in enumerate([*samples, room.scope["k8s"], room.scope["ctx"]]):
        for name in reflection.listing(sample):
            with contextlib.suppress(AttributeError):
                found[f"sample {number}: {type(sample).__name__}.{name}"] = reflection.get(sample, name)
    once: dict[int, tuple[str, Any]] = {}
    for path, value in sorted(found.items()):
        if callable(value) and not path.startswith(("_", "Spy_")):
            once.setdefault(id(value), (path, value))
    return dict(once.values())


def _modules(found: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The modules of the official client, which the SDK stands in for."""
    queue = [(name, value) for name, value in found.items() if stdlib.Module in type(value).__mro__]
    for path, module in queue:
        yield path, module
        inner = [(f"{path}.{name}", reflection.get(module, name, None)) for name in reflection.listing(module)]
        queue += [(name, value) for name, value in inner if stdlib.Module in type(value).__mro__]


@contextlib.contextmanager
def _briefly() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        with contextlib.suppress(Exception, SystemExit, KeyboardInterrupt, GeneratorExit, TooLongError):
            yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


class TooLongError(BaseException):
    """A callable that would loop over its own endless product."""


def _too_long(*_: object) -> None:
    raise TooLongError


def _call(value: Any, arguments: tuple[Any, ...], options: dict[str, Any], spy: Callable[[object], Any]) -> bool:
    """Call it, and go on with what it gives. Whether it accepted the arguments."""
    accepted = False
    with _briefly():
        given = value(*arguments, **options)
        accepted = True
        if hasattr(type(given), "__next__"):
            list(itertools.islice(given, 5))
        elif callable(given) and not isinstance(given, type):
            given(spy("a"))
    return accepted


def _provoke(room: Room, value: Any) -> None:
    calls = list(_spied(room, value))
    for arguments, options in calls:
        _call(value, arguments, options, room.spy)


def _spied(room: Room, value: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls with a spy in each place of a working call, and in each of its options; and with nothing but spies."""
    working = [call for call in CALLS if _call(value, call, {}, lambda like: like)][:MOST]
    for like in (None, *PAIRS[:7]):
        yield (room.spy(like),), {}
        yield (room.spy(like), room.spy(like)), {}
    yield (room.spy(None), room.spy(None), room.spy(None)), {}
    for call in working:
        for place, like in itertools.product(range(len(call)), ("same", None)):
            spy = room.spy(like and call[place])
            yield (*call[:place], spy, *call[place + 1 :]), {}
    for call, option, like in itertools.product(working[:2], _options(value), OPTIONS):
        yield call, {option: room.spy(like)}


def _options(value: Any) -> list[str]:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in parameters if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)]


# --- the verdict ------------------------------------------------------------------------------------------------------

CONTAINERS: Final = frozenset({dict, list, set, bytearray, deque, OrderedDict, defaultdict, Counter})
LIBRARY: Final = frozenset(sys.stdlib_module_names) | {"kubescript", "kubescript_sandbox"}


def _shared() -> dict[int, str]:
    """Containers that belong to modules, their classes and functions: whoever changes one changes it for all."""
    found: dict[int, str] = {}

    def visit(path: str, value: object, depth: int) -> None:
        if type(value) in CONTAINERS:
            found.setdefault(id(value), path)
            inner = value.values() if isinstance(value, dict) else value
            if depth and not isinstance(value, bytearray):
                for item in list(inner)[:1000]:  # type: ignore[call-overload]
                    visit(f"{path}[…]", item, depth - 1)
        elif isinstance(value, type) and depth and value.__module__ == path.rpartition(".")[0]:
            for name, item in list(vars(value).items()):
                visit(f"{path}.{name}", item, depth - 1)
        elif type(value) is types.FunctionType:
            for item in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values(), *_cells(value)):
                visit(f"{path}()", item, 0)

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in LIBRARY:
            for attribute, value in list(vars(module).items()):
                visit(f"{name}.{attribute}", value, 2)
    return found


def _cells(function: types.FunctionType) -> list[object]:
    cells = []
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):
            cells.append(cell.cell_contents)
    return cells


def _fault(value: Any, shared: dict[int, str], known: set[int]) -> str | None:
    """Why the value must not arrive in a hook; None when it may."""
    if id(value) in shared:
        return f"the container {shared[id(value)]}"
    if type(value) is types.FunctionType and id(value) not in known:
        code = value.__code__
        return None if code.co_filename == failures.FILENAME else f"the function {code.co_qualname}"
    return None if type(value) is types.TracebackType else reach.leak(value, HOMES)


def _faults(room: Room, callables: dict[str, Any], known: set[int]) -> set[tuple[str, str, str]]:
    """(callable, hook, why) of everything that a spy was given and must not have been."""
    shared = _shared()
    faults: set[tuple[str, str, str]] = set()
    before = signal.signal(signal.SIGVTALRM, _too_long)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for path, value in callables.items():
                room.seen.clear()
                _provoke(room, value)
                faults |= {(path, hook, why) for hook, each in room.seen if (why := _fault(each, shared, known))}
    finally:
        signal.signal(signal.SIGVTALRM, before)
    return faults


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """As in the fork server."""
    stdlib.warm()
    operations.warm()


def test_what_arrives_in_a_hook_is_data_sdk_or_allowed() -> None:
    """Whatever is called with whatever the script defines, no hook and no method receives what a script must not hold."""
    room = Room()
    callables = _callables(room)
    reachable = [value for _, value in reach.reachable()]
    known = {id(value) for value in (*reachable, *callables.values())}
    assert not _faults(room, callables, known)
    assert len(callables) > 2000, len(callables)
    assert len(room.hooks) > 80, room.hooks


RAW: Final[dict[str, tuple[Callable[..., Any], str]]] = {
    "shared-container": (re.escape, "the container re._special_chars_map"),
    "function": (functools.wraps(len)(lambda spy: spy == json.JSONEncoder.default), "the function JSONEncoder.default"),
    "module": (lambda spy: spy + json, "a module"),
    "option": (lambda text, *, table=None: table and table.update(sys._getframe()), "a frame"),
}


@pytest.mark.parametrize(("function", "why"), RAW.values(), ids=RAW)
def test_a_raw_function_is_noticed(function: Callable[..., Any], why: str) -> None:
    """A function that hands out what it must not is found."""
    assert why in {found for _, _, found in _faults(Room(), {"raw": function}, set())}
