"""The rows of `patterns.toml` at work: a probe tells where, a pattern tells what, a judge decides.

A row's pattern runs once over each line in which one of its probes ended, so its cost is bounded by the text, however
many probes end there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubescript.masker import extents, linear, names, values
from kubescript.masker.spans import Span

__all__ = ["JUDGES", "ROWS", "Row", "compiled", "whole"]

_AROUND: Final = 8_448
"""Bytes on each side of a probe's end that a row reads at most: a line may be megabytes long."""
_OVERLAP: Final = 512
"""Bytes of such a line that are read again with the next part of it."""
_ADDRESS: Final = linear.compiled(
    rb"[\d.:,TZ+/-]+|[\w.+-]+@[\w.-]+|[a-z0-9-]+(?:[.:/][a-z0-9-]+)+|.*\(.*\)|[~.]{0,2}/.*|sha\d+:.*"
)
"""A host, a person's address, a path, a time, a call: what sentences tell beside passwords."""


def _any(value: bytes, kind: str) -> bool:
    """Whatever stands there."""
    return bool(value)


def _typed(value: bytes, kind: str) -> bool:
    """Letters and digits mixed, as people type a password."""
    return values.is_mixed(value) and values.is_secret_in_prose(value, kind)


def _random(value: bytes, kind: str) -> bool:
    return values.is_random(value)


def _drawn(value: bytes, kind: str) -> bool:
    """Drawn by lot: a key, a UUID."""
    return values.is_weak_secret(value, "key")


def _said(value: bytes, kind: str) -> bool:
    """Of a password, what people type or four words without grammar; of anything else, what is drawn by lot."""
    if b" " in value:
        return extents.is_passphrase(value)
    if _ADDRESS.fullmatch(value) or not values.is_secret_in_prose(value, kind):
        return False
    return values.is_odd(value) if kind == "password" else values.is_random(value) or values.is_drawn(value)


JUDGES: Final[dict[str, Callable[[bytes, str], bool]]] = {
    "any": _any,
    "secret": values.is_secret,
    "prose": values.is_secret_in_prose,
    "typed": _typed,
    "random": _random,
    "drawn": _drawn,
    "said": _said,
}
"""Whether a value that stands in a credential's place, of this kind, is one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rule."""

    id: str
    probes: tuple[str, ...]
    """hyperscan's patterns; each ends at one place per candidate."""
    wide: str
    """A pattern that ends wherever they do, and elsewhere (probes.py)."""
    pattern: linear.Pattern
    """RE2's; finds a credential with what is around it."""
    values: tuple[int, ...]
    """Its groups `value`, `value2`, …: those that took part are masked."""
    each: linear.Pattern | None
    """What is masked within them, where it is not the whole."""
    name: int
    """Its group `name`, which must name a credential; 0 when there is none."""
    kind: str
    """What the value is where no name tells it."""
    judge: Callable[[bytes, str], bool]
    lines: int
    """Lines before and behind the probe's that are read with it."""
    example: str
    """A text; what stands in «» is masked."""
    counter: str
    """A text that stays as it is."""

    def spans(self, text: bytes, end: int, done: int) -> tuple[list[Span], int]:
        """What is secret in the line around a probe's end, and how far the line was read; `done`: how far it was
        already."""
        if end <= done:
            return [], done
        start, stop = self._place(text, end)
        start = max(start, done - _OVERLAP)
        before = max(0, start - 1)  # one byte for what looks at a line's beginning
        found = self.pattern.finditer(text[before:stop], start - before)
        return [_placed(span, before, start) for span in self._judged(text[before:stop], found)], stop

    def _place(self, text: bytes, end: int) -> tuple[int, int]:
        lowest, highest = max(0, end - _AROUND), min(len(text), end + _AROUND)
        start, stop = end, max(0, end - 1)
        for _ in range(self.lines + 1):
            start = max(lowest, text.rfind(b"\n", lowest, max(lowest, start - 1)) + 1)
            line_end = text.find(b"\n", stop, highest)
            stop = highest if line_end < 0 else line_end + 1
        return start, stop

    def _judged(self, text: bytes, found: Iterator[linear.Match]) -> Iterator[Span]:
        for match in found:
            name = match[self.name].decode("utf-8", "replace") if self.name else ""
            for start, end in self._found(text, match):
                kind = names.kind(name) or self.kind or _weak(name, text[start:end])
                if kind and self.judge(text[start:end], kind):
                    yield Span(start, end, kind)

    def _found(self, text: bytes, match: linear.Match) -> Iterator[tuple[int, int]]:
        for start, end in (match.span(group) for group in self.values):
            if start >= 0 and self.each is not None:
                yield from (each.span(1) for each in self.each.finditer(text, start, end))
            elif start >= 0:
                yield start, end


def _placed(span: Span, before: int, start: int) -> Span:
    """A span of a piece in its text; one that begins where a piece does that was cut may begin before."""
    at = span.start + before
    return Span(at, span.end + before, span.kind, begins_before=0 < start == at)


def _weak(name: str, value: bytes) -> str:
    """What is drawn by lot is a key under a name that alone would not tell."""
    return "key" if names.weak(name) and values.is_weak_secret(value, name) else ""


def compiled(pattern: str) -> linear.Pattern:
    """RE2's pattern, with the parts that it names."""
    return linear.compiled(whole(pattern).encode())


def whole(pattern: str) -> str:
    """The pattern with its parts in it, `(?&part)`; a part may name those below it."""
    for name, part in _PARTS.items():
        pattern = pattern.replace(f"(?&{name})", f"(?:{part})")
    return pattern


def _read(data: dict[str, Any]) -> Row:
    probe = data["probe"]
    pattern = compiled(data["pattern"])
    groups = pattern.groupindex
    return Row(
        id=data["id"],
        probes=tuple(whole(each) for each in ([probe] if isinstance(probe, str) else probe)),
        wide=whole(data.get("wide", "")),
        pattern=pattern,
        values=tuple(number for group, number in groups.items() if group.startswith(b"value")),
        each=compiled(data["each"]) if "each" in data else None,
        name=groups.get(b"name", 0),
        kind=data.get("kind", ""),
        judge=JUDGES[data.get("judge", "secret")],
        lines=data.get("lines", 0),
        example=data["example"],
        counter=data["counter"],
    )


_FILE: Final = tomllib.loads(Path(__file__).with_name("patterns.toml").read_text("utf-8"))
_PARTS: Final[dict[str, str]] = {**_FILE["parts"], "names": f"(?i:{names.PATTERN})"}
ROWS: Final[dict[str, Row]] = {each["id"]: _read(each) for each in _FILE["patterns"]}
"""By their ids."""
