"""Cuts texts to whole lines and values to valid structure: a reader must be able to trust what is there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Cut", "cut_lines", "cut_text", "dump", "shrink"]

_WORTH_CUTTING: Final = 16
"""Bytes below which a part is left out rather than cut."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A text and how much of it is missing."""

    text: str
    bytes: int = 0
    lines: int = 0

    @property
    def kept(self) -> int:
        """Lines that are there."""
        return self.text.count("\n") + 1 if self.text else 0


def cut_text(text: str, room: int, lines: int) -> Cut:
    """The beginning of the text: at most `room` bytes and `lines` lines, whole lines where there are any."""
    data = text.encode("utf-8", "replace")
    at = _end_of_line(text, lines)
    kept = text[:at]
    if len(data) <= room and at == len(text):
        return Cut(text)
    if len(kept.encode("utf-8", "replace")) > room:
        kept = kept.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
        kept = kept[: kept.rfind("\n") + 1] or kept
    kept = kept.rstrip("\n")
    missing = text.rstrip("\n").count("\n") - kept.count("\n")
    return Cut(kept, len(data) - len(kept.encode("utf-8", "replace")), missing)


def _end_of_line(text: str, lines: int) -> int:
    """Where the text's first `lines` lines end."""
    at = -1
    for _ in range(lines):
        at = text.find("\n", at + 1)
        if at < 0:
            return len(text)
    return at if text[at:].strip("\n") else len(text)


def cut_lines(value: Any, lines: int) -> tuple[Any, int]:
    """JSON data with every text in it cut to so many lines, and how many lines are missing in all."""
    if isinstance(value, str):
        if value.count("\n") < lines:
            return value, 0
        cut = cut_text(value, len(value) * 4, lines)
        return (f"{cut.text}\n… {cut.lines} more lines", cut.lines) if cut.lines else (value, 0)
    if isinstance(value, list):
        done = [cut_lines(item, lines) for item in value]
        return [item for item, _ in done], sum(count for _, count in done)
    if isinstance(value, dict):
        pairs = {key: cut_lines(item, lines) for key, item in value.items()}
        return {key: item for key, (item, _) in pairs.items()}, sum(count for _, count in pairs.values())
    return value, 0


def dump(value: Any) -> str:
    """Compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def shrink(value: Any, room: int) -> str:
    """JSON text of `value` in at most `room` bytes: whole where it fits, otherwise with the ends of long parts
    missing."""
    text = dump(value)
    return text if _size(text) <= room else _Shrinking().cut(value, room)


class _Shrinking:
    """One value being shrunk. What a part takes is measured once, for each of two hundred levels holds all below it."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        """By id: the value outlives this."""

    def cut(self, value: Any, room: int) -> str:
        """`value`, which does not fit, with the ends of long parts missing."""
        if isinstance(value, list):
            return "[" + ",".join(self._items(value, room - 2)) + "]"
        if isinstance(value, dict):
            return "{" + ",".join(self._pairs(value, room - 2)) + "}"
        return _shrunk_string(value, room) if isinstance(value, str) else "null"

    def _fitted(self, value: Any, room: int) -> str:
        return dump(value) if self._size(value) <= room else self.cut(value, room)

    def _items(self, items: list[Any], room: int) -> list[str]:
        """The leading items that fit; the first that does not is cut inside when it would otherwise be alone."""
        kept: list[str] = []
        for item in items:
            size = self._size(item)
            if size + 1 > room:
                if not kept and room > _WORTH_CUTTING:
                    kept.append(self._fitted(item, room - 1))
                break
            kept.append(dump(item))
            room -= size + 1
        return kept

    def _pairs(self, pairs: dict[str, Any], room: int) -> list[str]:
        """The small values whole; the large ones share what room is left."""
        sizes = {key: _size(dump(key)) + self._size(item) + 2 for key, item in pairs.items()}
        small = {key for key, size in sizes.items() if size <= room // max(1, len(pairs))}
        left = room - sum(sizes[key] for key in small)
        share = left // max(1, len(pairs) - len(small))
        parts = []
        for key, item in pairs.items():
            space = sizes[key] if key in small else share - _size(dump(key)) - 2
            if space > _WORTH_CUTTING or key in small:
                parts.append(f"{dump(key)}:{self._fitted(item, space)}")
        return parts

    def _size(self, value: Any) -> int:
        """Bytes as JSON."""
        if not value or not isinstance(value, list | dict):
            return _size(dump(value))
        if id(value) not in self._sizes:
            self._sizes[id(value)] = self._sum(value)
        return self._sizes[id(value)]

    def _sum(self, value: list[Any] | dict[str, Any]) -> int:
        """Of a list or an object that is not empty: the parts that have parts one by one, all others at once."""
        items = list(value.values()) if isinstance(value, dict) else value
        deep = [item for item in items if item and isinstance(item, list | dict)]
        flat = [item for item in items if not item or not isinstance(item, list | dict)]
        keys = _size(dump(list(value))) - 1 if isinstance(value, dict) else 0  # each with its colon or comma
        commas = len(items) - 1 - max(0, len(flat) - 1)
        return keys + _size(dump(flat)) + sum(map(self._size, deep)) + commas


def _shrunk_string(value: str, room: int) -> str:
    """What a string needs as JSON is known only when it is written: quotes and newlines take two bytes."""
    return dump(cut_text(value, max(0, room // 2 - 4), len(value) + 1).text + "…")


def _size(text: str) -> int:
    return len(text.encode())
