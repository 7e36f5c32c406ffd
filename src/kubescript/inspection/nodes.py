"""The values of a document in two forms: raw, to find changes, and masked, for display.

A masked document has the same structure as the original, so both are walked together. If masking has changed the
structure of a value after all, nothing below it is shown.
"""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

import msgspec

from kubescript.kube import field_paths

__all__ = [
    "Field",
    "Node",
    "fields",
    "is_same",
    "is_withheld",
    "items",
    "join",
    "key_step",
    "label_step",
    "order",
    "text",
]

_WITHHELD: Final = object()
"""The marker of a value that cannot be shown."""
_WITHHELD_TEXT: Final = "(withheld)"
_BLANK: Final = frozenset(
    map(chr, (0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x3164, *range(0xFE00, 0xFE10), 0xFFA0,
              *range(0xE0100, 0xE01F0)))
)  # fmt: skip
"""Characters that count as printable but are invisible: fillers, joiners, variation selectors."""


class Node(NamedTuple):
    """One value."""

    raw: Any
    shown: Any


class Field(NamedTuple):
    """A member of an object."""

    key: Any
    """The displayable form of the key."""
    node: Node


def fields(node: Node | None) -> dict[str, Field]:
    """Returns an object's members by key, in document order; no members if it is not an object."""
    if node is None:
        return {}
    raw, shown = node.raw, node.shown
    members = {}
    if not isinstance(shown, dict) or len(shown) != len(raw):
        # Masking has changed the structure, so nothing below is shown.
        for key, value in raw.items():
            hidden = Node(value, _WITHHELD)
            members[key] = Field(_WITHHELD, hidden)
        return members
    for (key, value), (name, seen) in zip(raw.items(), shown.items(), strict=True):
        members[key] = Field(name, Node(value, seen))
    return members


def join(members: dict[str, Field]) -> Node:
    """Returns an object with these members."""
    raw: dict[str, Any] = {}
    shown: dict[Any, Any] = {}
    for key, field in members.items():
        raw[key] = field.node.raw
        shown[field.key] = field.node.shown
    return Node(raw, shown)


def items(node: Node | None) -> list[Node]:
    """Returns the items of a list; no items if it is not a list."""
    if node is None:
        return []
    raw, shown = node.raw, node.shown
    if not isinstance(shown, list) or len(shown) != len(raw):
        # Masking has changed the structure, so no item is shown.
        return [Node(value, _WITHHELD) for value in raw]
    return list(map(Node, raw, shown))


def text(node: Node) -> tuple[str, bool]:
    """Returns a scalar, or an empty object or list, as JSON, and whether part of it is masked."""
    raw, shown = node.raw, node.shown
    if is_same(raw, shown):
        return _json(raw), False
    if isinstance(raw, str) and isinstance(shown, str):
        return _json(shown), True
    return _json(_WITHHELD_TEXT), True


def is_same(one: Any, other: Any) -> bool:
    """Says whether two values without members are identical in JSON."""
    # Attack: 1 becomes true, or 0 becomes -0.0, which Python considers equal.
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return repr(one) == repr(other)
    return bool(one == other)


def key_step(key: Any) -> str:
    """Returns a member's step in a path; a key that cannot be shown is withheld."""
    if not isinstance(key, str):
        key = _WITHHELD_TEXT
    return field_paths.key_step(key)


def is_withheld(step: str) -> bool:
    """Says whether a step of a path stands for a key or label that cannot be shown."""
    return _WITHHELD_TEXT in step


def label_step(key: str, item: Any) -> str:
    """Returns the step of an item identified by a field; a value that cannot be shown is withheld."""
    label = _label(key, item)
    return field_paths.label_step(key, label)


def order(key: str, items: list[Node]) -> tuple[str, bool]:
    """Returns the labels of a list's items as JSON, and whether part of one is masked."""
    raw = []
    shown = []
    for item in items:
        raw.append(item.raw[key])
        shown.append(_label(key, item.shown))
    return _json(shown), shown != raw


def _label(key: str, item: Any) -> str | int:
    """Returns the value of one field of an item; a value that cannot be shown is withheld."""
    if not isinstance(item, dict):
        return _WITHHELD_TEXT
    value = item.get(key)
    return value if isinstance(value, str | int) else _WITHHELD_TEXT


def _json(value: Any) -> str:
    """Returns JSON in which every character is visible."""
    line = msgspec.json.encode(value).decode()
    if line.isascii() and line.isprintable():
        return line
    # Attack: two values differ in invisible characters, which a terminal or a page does not show.
    hidden = [char for char in set(line) if not char.isprintable() or char in _BLANK]
    escapes = {ord(char): json.dumps(char)[1:-1] for char in hidden}
    return line.translate(escapes)
