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

from kubescript.masker import linear, names, values
from kubescript.masker.spans import Span

__all__ = ["JUDGES", "ROWS", "Row"]

_AROUND: Final = 4_096
"""Bytes on each side of a probe's end that a row reads at most: a line may be megabytes long."""
_OVERLAP: Final = 512
"""Bytes of such a line that are read again with the next part of it."""


def _any(value: bytes, kind: str) -> bool:
    """Whatever stands there."""
    return bool(value)


def _typed(value: bytes, kind: str) -> bool:
    """Letters and digits mixed, as people type a password."""
    return values.is_mixed(value) and values.is_secret(value, kind)


def _random(value: bytes, kind: str) -> bool:
    return values.is_random(value)


JUDGES: Final[dict[str, Callable[[bytes, str], bool]]] = {
    "any": _any,
    "secret": values.is_secret,
    "prose": values.is_secret_in_prose,
    "typed": _typed,
    "random": _random,
}
"""Whether a value that stands in a credential's place, of this kind, is one."""


@dataclass(frozen=True, slots=True)
class Row:
    """One rule."""

    id: str
    probes: tuple[str, ...]
    """hyperscan's patterns; each ends at one place per candidate."""
    pattern: linear.Pattern
    """RE2's; finds a credential with what is around it."""
    values: tuple[int, ...]
    """Its groups `value`, `value2`, …: each that took part is masked."""
    name: int
    """Its group `name`, which must name a credential; 0 when there is none."""
    kind: str
    """What the value is; empty where the name tells it."""
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
        return list(self._judged(self.pattern.finditer(text, start, stop), start)), stop

    def _place(self, text: bytes, end: int) -> tuple[int, int]:
        lowest, highest = max(0, end - _AROUND), min(len(text), end + _AROUND)
        start, stop = max(0, end - 1), max(0, end - 1)
        for _ in range(self.lines + 1):
            start = max(text.rfind(b"\n", lowest, max(lowest, start)), lowest - 1)
            line_end = text.find(b"\n", stop, highest)
            stop = highest if line_end < 0 else line_end + 1
        return (start + 1 if start >= lowest else lowest), stop

    def _judged(self, found: Iterator[linear.Match], start: int) -> Iterator[Span]:
        """The values that count; one that begins where the reading began, in the middle of a line, begins before."""
        for match in found:
            kind = names.kind(match[self.name].decode("utf-8", "replace")) if self.name else self.kind
            for value in self.values:
                if kind and match.start(value) >= 0 and self.judge(match[value], kind):
                    yield Span(*match.span(value), kind, begins_before=match.start() == match.start(value) == start > 0)


def _read(data: dict[str, Any]) -> Row:
    probe = data["probe"]
    pattern = linear.compiled(data["pattern"].encode())
    groups = pattern.groupindex
    return Row(
        id=data["id"],
        probes=tuple([probe] if isinstance(probe, str) else probe),
        pattern=pattern,
        values=tuple(number for group, number in groups.items() if group.startswith(b"value")),
        name=groups.get(b"name", 0),
        kind=data.get("kind", ""),
        judge=JUDGES[data.get("judge", "secret")],
        lines=data.get("lines", 0),
        example=data["example"],
        counter=data["counter"],
    )


ROWS: Final[dict[str, Row]] = {
    each["id"]: _read(each)
    for each in tomllib.loads(Path(__file__).with_name("patterns.toml").read_text("utf-8"))["patterns"]
}
"""By their ids."""
