"""Texts made from a regular expression to be slow for it, and what they cost at one size and at twice that."""

from __future__ import annotations

import ast
import importlib
import itertools
import re
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final

__all__ = ["Pattern", "cost", "patterns", "superlinear"]

_parser: Any = importlib.import_module("re._parser")
"""Python's own reader of regular expressions. It has no public name."""
_LETTERS: Final = b"a1 \"'\\.:-=\t\nA/%_|,;+<{[(`"
"""What stands for a class of letters: the first ones that are in it."""
_REPEATS: Final = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})
_LONG: Final = 16
"""Repeats that may not go on for longer are no danger."""
_TAILS: Final = (b"\0", b'"', b"\r!")
_SIZE: Final = 1_024
_SUSPECT_S: Final = 0.002
"""What a pattern that is no worse than linear seldom needs for that size."""
_CAP_S: Final = 0.2
_RATIO: Final = 2.7
"""Twice the text costs a quadratic pattern four times as much."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression of ours, and how it is applied."""

    where: str
    regex: re.Pattern[Any]
    how: str
    """match, fullmatch or search."""


# What is probed


def patterns(modules: list[ModuleType]) -> list[Pattern]:
    """Every pattern for bytes of these modules: constants, and what is written in calls."""
    found: dict[tuple[object, str], Pattern] = {}
    for module in modules:
        source = Path(str(module.__file__)).read_text("utf-8")
        for name, value in vars(module).items():
            for where, regex in _regexes(f"{module.__name__}.{name}", value):
                for how in _applied(source, name):
                    found.setdefault((regex, how), Pattern(where, regex, how))
        for call in _calls(source):
            regex, how = _written(call)
            found.setdefault((regex, how), Pattern(f"{module.__name__}:{call.lineno}", regex, how))
    return list(found.values())


def _regexes(where: str, value: object) -> Iterator[tuple[str, re.Pattern[Any]]]:
    if isinstance(value, re.Pattern) and isinstance(value.pattern, bytes):
        yield where, value
    elif isinstance(value, tuple | list):
        for at, each in enumerate(value):
            yield from _regexes(f"{where}[{at}]", each)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _regexes(f"{where}[{key!r}]", each)


def _applied(source: str, name: str) -> set[str]:
    """How the source applies a constant; one that is handed on is matched, of `values` as a whole."""
    methods = re.findall(rf"\b{re.escape(name)}(?:\[[^\]]*\])?\.(\w+)\(", source)
    known = {each if each in {"match", "fullmatch"} else "search" for each in methods}
    return known or {"fullmatch" if "_NEVER" in source else "match"}


def _calls(source: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, bytes)
        ):
            yield node


def _written(call: ast.Call) -> tuple[re.Pattern[Any], str]:
    assert isinstance(call.func, ast.Attribute)
    assert isinstance(call.args[0], ast.Constant)
    method = call.func.attr
    how = method if method in {"match", "fullmatch"} else "match" if method == "compile" else "search"
    return re.compile(call.args[0].value), how


# Texts


def _members(items: list[tuple[Any, Any]]) -> bytes:
    """Letters of a class."""
    letters = re.compile(b"".join((b"[", *(_written_item(item) for item in items), b"]")))
    some = bytes(each for each in _LETTERS if letters.match(bytes([each])))
    return some or bytes(each for each in range(256) if letters.match(bytes([each])))[:1]


def _written_item(item: tuple[Any, Any]) -> bytes:
    kind, value = str(item[0]), item[1]
    if kind == "NEGATE":
        return b"^"
    if kind == "LITERAL":
        return b"\\x%02x" % value
    if kind == "RANGE":
        return b"\\x%02x-\\x%02x" % tuple(value)
    names = {"CATEGORY_WORD": b"\\w", "CATEGORY_DIGIT": b"\\d", "CATEGORY_SPACE": b"\\s"}
    name = str(value)
    return names[name] if name in names else names[name.replace("_NOT_", "_")].upper()


def _shortest(items: Any) -> bytes:
    """A text that a sequence matches, more or less."""
    return b"".join(_part(str(kind), value) for kind, value in items)


def _part(kind: str, value: Any) -> bytes:
    if kind == "LITERAL":
        return bytes([value])
    if kind == "NOT_LITERAL":
        return bytes(each for each in _LETTERS if each != value)[:1]
    if kind == "ANY":
        return b"a"
    if kind == "IN":
        return _members(value)[:1]
    if kind in _REPEATS:
        return _shortest(value[2]) * min(int(value[0]), 300)
    if kind == "SUBPATTERN":
        return _shortest(value[3])
    if kind == "ATOMIC_GROUP":
        return _shortest(value)
    return _shortest(value[1][0]) if kind == "BRANCH" else b""


def _pumps(items: Any) -> list[bytes]:
    """What to repeat in place of a repeated sequence."""
    found = [_shortest(items)]
    for kind, value in items:
        name = str(kind)
        if name == "IN":
            found += [bytes([each]) for each in _members(value)[:6]]
        elif name == "NOT_LITERAL" or name == "ANY":
            found += [bytes([each]) for each in _LETTERS[:6] if each != value]
        elif name in _REPEATS:
            found += _pumps(value[2])
        elif name in {"SUBPATTERN", "ATOMIC_GROUP"}:
            found += _pumps(value[3] if name == "SUBPATTERN" else value)
        elif name == "BRANCH":
            for branch in value[1]:
                found += _pumps(branch)[:3]
    return [each for each in dict.fromkeys(found) if each][:10]


def _repeats(items: Any, before: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
    """Each long repeat: a text that leads to it, and one to repeat in it."""
    for kind, value in items:
        name = str(kind)
        if name in _REPEATS:
            if value[1] >= _LONG:
                yield from ((before, pump) for pump in _pumps(value[2]))
            yield from _repeats(value[2], before)
        elif name in {"SUBPATTERN", "ASSERT", "ASSERT_NOT", "ATOMIC_GROUP"}:
            yield from _repeats(value[-1] if name != "ATOMIC_GROUP" else value, before)
        elif name == "BRANCH":
            for branch in value[1]:
                yield from _repeats(branch, before)
        before += _part(name, value)


@dataclass(frozen=True, slots=True)
class _Text:
    """A text that repeats a unit as often as a size has room for it."""

    before: bytes
    unit: bytes
    after: bytes = b""

    def __call__(self, size: int) -> bytes:
        return self.before + self.unit * (size // len(self.unit)) + self.after


def _texts(regex: re.Pattern[bytes]) -> Iterator[_Text]:
    """Texts that are slow for a pattern, should any be."""
    parsed = _parser.parse(regex.pattern, regex.flags)
    repeats = list(dict.fromkeys(_repeats(parsed)))[:10]
    units = [_shortest(parsed), _shortest(parsed)[:-1]]
    for before, pump in repeats:
        yield from (_Text(before, pump, tail) for tail in _TAILS)
        units += [before + pump, before + pump * 8 + b" "]
    yield from (_Text(b"", unit) for unit in dict.fromkeys(units) if unit)
    for (before, one), (_, other) in itertools.islice(itertools.combinations(repeats, 2), 6):
        yield _Text(before, one + other, b"\0")


# Costs


class _TooLongError(Exception):
    """The cap is reached."""


def cost(work: Callable[[], object], cap: float = _CAP_S) -> float:
    """Processor seconds; the cap when it is reached. A pattern at work hears of the signal."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGVTALRM, stop)
    started = time.process_time()
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, cap)
        work()
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except _TooLongError:
        return cap
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    return time.process_time() - started


def _work(pattern: Pattern, text: bytes) -> Callable[[], object]:
    if pattern.how == "search":
        return lambda: sum(1 for _ in pattern.regex.finditer(text))
    return lambda: getattr(pattern.regex, pattern.how)(text)


def superlinear(pattern: Pattern) -> bytes:
    """The beginning of a text of which twice the size costs far more than twice the time, again and again; empty when
    none is known."""
    for make in _texts(pattern.regex):
        if cost(_work(pattern, make(_SIZE))) > _SUSPECT_S and all(_grows(pattern, make) for _ in range(4)):
            return make(60)
    return b""


def _grows(pattern: Pattern, make: Callable[[int], bytes]) -> bool:
    """Whether two doublings cost more than they should; at the cap, much more."""
    costs = [cost(_work(pattern, make(_SIZE << step))) for step in range(3)]
    return costs[-1] >= _CAP_S or (costs[1] > _RATIO * costs[0] and costs[2] > _RATIO * costs[1])
