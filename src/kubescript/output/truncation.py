"""Cuts texts to whole lines and values to valid structure: a reader must be able to trust what remains.

`render` cuts every answer here.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, Final

import orjson

__all__ = ["Cut", "cut_lines", "cut_text", "dump", "load", "shrink"]

_WORTH_CUTTING: Final = 16
"""The size in bytes below which a part is omitted rather than cut."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A text and how much of it is missing."""

    text: str
    bytes: int = 0
    lines: int = 0

    @property
    def kept(self) -> int:
        """The number of lines kept."""
        return self.text.count("\n") + 1 if self.text else 0


def cut_text(text: str, room: int, lines: int) -> Cut:
    """Returns the beginning of the text: at most `room` bytes and `lines` lines, whole lines where possible."""
    size = len(text.encode("utf-8", "replace"))
    end = _end_of_line(text, lines)
    if size <= room and end == len(text):
        return Cut(text)
    kept = text[:end]
    data = kept.encode("utf-8", "replace")
    if len(data) > room:
        # A character that the cut splits is dropped, and the cut is moved back to the end of a line.
        kept = data[:room].decode("utf-8", "ignore")
        last_line = kept.rfind("\n") + 1
        kept = kept[:last_line] or kept
    kept = kept.rstrip("\n")
    missing_bytes = size - len(kept.encode("utf-8", "replace"))
    missing_lines = text.rstrip("\n").count("\n") - kept.count("\n")
    return Cut(kept, missing_bytes, missing_lines)


def _end_of_line(text: str, lines: int) -> int:
    """Returns where the text's first `lines` lines end."""
    at = -1
    for _ in range(lines):
        at = text.find("\n", at + 1)
        if at < 0:
            return len(text)
    # If only the line feeds at the text's end are cut, nothing is missing.
    return at if text[at:].strip("\n") else len(text)


def cut_lines(value: Any, lines: int) -> tuple[Any, int]:
    """Returns JSON data with every string in it cut to `lines` lines, and the total number of missing lines."""
    if isinstance(value, str):
        return _cut_string(value, lines)
    missing = 0
    if isinstance(value, list):
        items = []
        for item in value:
            kept, count = cut_lines(item, lines)
            items.append(kept)
            missing += count
        return items, missing
    if isinstance(value, dict):
        pairs = {}
        for key, item in value.items():
            pairs[key], count = cut_lines(item, lines)
            missing += count
        return pairs, missing
    return value, 0


def _cut_string(value: str, lines: int) -> tuple[str, int]:
    """Returns one string cut to `lines` lines, and how many are missing."""
    if value.count("\n") < lines:
        return value, 0
    # Characters take at most four bytes, so only lines are cut here.
    most_bytes = 4 * len(value)
    cut = cut_text(value, most_bytes, lines)
    if not cut.lines:
        return value, 0
    return f"{cut.text}\n… {cut.lines} more lines", cut.lines


def dump(value: Any) -> str:
    """Returns compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def load(result: bytes | str) -> Any:
    """Returns the value of a JSON text that is known to be valid."""
    try:
        return orjson.loads(result)
    except orjson.JSONDecodeError:
        # Valid, but not for orjson: integers beyond 64 bits, halves of surrogate pairs, 1e400.
        return json.loads(result, parse_float=_finite, parse_constant=str)


def _finite(digits: str) -> float | str:
    """Returns the number; one too large for a float stays a string, because Infinity is not JSON."""
    number = float(digits)
    return number if math.isfinite(number) else digits


def shrink(value: Any, room: int) -> str:
    """Returns JSON text of `value` in at most `room` bytes; long parts lose their ends if it does not fit."""
    text = dump(value)
    if _size(text) <= room:
        return text
    return _Shrinking().cut(value, room)


class _Shrinking:
    """A shrinker for one value."""

    def __init__(self) -> None:
        self._sizes: dict[int, int] = {}
        """The sizes by id, which stays valid because the value outlives this object."""

    def cut(self, value: Any, room: int) -> str:
        """Returns JSON text of `value`, which is too long, without the ends of long parts."""
        if isinstance(value, list):
            items = self._items(value, room - 2)
            return "[" + ",".join(items) + "]"
        if isinstance(value, dict):
            pairs = self._pairs(value, room - 2)
            return "{" + ",".join(pairs) + "}"
        if isinstance(value, str):
            return _shrink_string(value, room)
        return "null"

    def _fit(self, value: Any, room: int) -> str:
        """Returns JSON text of `value`, cut if it does not fit."""
        if self._size(value) <= room:
            return dump(value)
        return self.cut(value, room)

    def _items(self, items: list[Any], room: int) -> list[str]:
        """Returns the leading items that fit. If not even the first fits, it is cut inside."""
        kept: list[str] = []
        for item in items:
            size = self._size(item)
            if size + 1 > room:  # with the comma
                if not kept and room > _WORTH_CUTTING:
                    kept.append(self._fit(item, room - 1))
                break
            kept.append(dump(item))
            room -= size + 1
        return kept

    def _pairs(self, pairs: dict[str, Any], room: int) -> list[str]:
        """Returns the small values whole; the large ones share the remaining room."""
        sizes = {}
        for key, item in pairs.items():
            name = dump(key)
            # Two more bytes are for the colon and the comma.
            sizes[key] = _size(name) + self._size(item) + 2
        equal_share = room // max(1, len(pairs))
        small = {key for key, size in sizes.items() if size <= equal_share}
        left = room - sum(sizes[key] for key in small)
        large_count = len(pairs) - len(small)
        share = left // max(1, large_count)
        parts = []
        for key, item in pairs.items():
            name = dump(key)
            is_small = key in small
            space = sizes[key] if is_small else share - _size(name) - 2
            if is_small or space > _WORTH_CUTTING:
                value = self._fit(item, space)
                parts.append(f"{name}:{value}")
        return parts

    def _size(self, value: Any) -> int:
        """Returns the bytes that the value takes as JSON."""
        if not value or not isinstance(value, list | dict):
            return _size(dump(value))
        # Each part is measured once: values may be two hundred levels deep, and each level contains all those below it.
        size = self._sizes.get(id(value))
        if size is None:
            size = self._sum(value)
            self._sizes[id(value)] = size
        return size

    def _sum(self, value: list[Any] | dict[str, Any]) -> int:
        """Returns the size of a list or an object that is not empty.

        Nested parts are measured one by one, all others at once, with the commas between them.
        """
        items = value
        keys = 0
        if isinstance(value, dict):
            items = list(value.values())
            keys = _size(dump(list(value))) - 1  # each key with its colon or comma
        deep: list[Any] = []
        flat: list[Any] = []
        for item in items:
            if item and isinstance(item, list | dict):
                deep.append(item)
            else:
                flat.append(item)
        flat_size = _size(dump(flat))
        deep_size = sum(map(self._size, deep))
        other_commas = len(items) - 1 - max(0, len(flat) - 1)
        return keys + flat_size + deep_size + other_commas


def _shrink_string(value: str, room: int) -> str:
    """Returns the beginning of a string as JSON, in at most `room` bytes."""
    # As JSON, a quote or newline takes two bytes, so half of the room is safe.
    safe = max(0, room // 2 - 4)
    cut = cut_text(value, safe, len(value) + 1)
    return dump(cut.text + "…")


def _size(text: str) -> int:
    return len(text.encode())
