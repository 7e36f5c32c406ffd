"""The new text that masks hide in a change, and which of it the request itself brings.

A person approves what a mask shows. Attack: a script writes shell code that looks like a secret, so that the person
sees only a mask, and the code runs.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from kubescript.inspection import nodes
from kubescript.kube import body_texts, merge_keys
from kubescript.wire import inspection
from kubescript_masking.text import placeholders
from kubescript_masking.wire import masking

__all__ = ["NOTHING", "Finder", "Hidden", "find_in_path"]

_MASK_IN_PATH: Final = "\\u00ab" + masking.OPENING.decode().removeprefix("«")
"""The beginning of a mask in a path, which has ASCII only."""

_Place = tuple[Any, ...]
"""A field: the keys on the way to it, and the labels or indices of list items."""


class Hidden(NamedTuple):
    """The new text that masks hide in one field."""

    bytes: int = 0
    lines: int = 0
    brought: int | None = None
    """See `inspection.Row.brought`."""


NOTHING: Final = Hidden()


class Finder:
    """Finds what the masks of one change hide. Each object is read only when a mask makes it necessary."""

    def __init__(self, about: inspection.Comparison, before: nodes.Node | None, body: Any) -> None:
        """`before` is the object before the change, and `body` the request's decoded body."""
        self._before = before
        self._body = body
        self._is_secret = about.resource == "secrets" and not about.group
        self._known: Mapping[_Place, set[str]] | None = None
        self._values: dict[bytes, int] | None = None

    def find(self, names: Sequence[Any], new: nodes.Node) -> Hidden:
        """Returns what the mask of a field's new value hides; `names` is the field's unmasked path: keys, labels in
        lists, and indices. Text that the same field hid before is not new."""
        pieces = _list_hidden(new)
        known = self._list_known().get(_place(names), set())
        if known.issuperset(pieces):
            return NOTHING
        text = "\n".join(pieces)
        return Hidden(_size(pieces), text.count("\n") + 1, self._find_brought(new.raw))

    def _list_known(self) -> Mapping[_Place, set[str]]:
        """Returns the texts that masks hide in the object before the change, by their places."""
        if self._known is None:
            self._known = _map_hidden(self._before)
        return self._known

    def _find_brought(self, value: Any) -> int | None:
        """Returns the position of a value among those of the request's body."""
        if self._values is None:
            self._values = self._map_values()
        return self._values.get(msgspec.json.encode(value))

    def _map_values(self) -> dict[bytes, int]:
        """Returns the positions of the values in the request's body, by their JSON."""
        values = body_texts.list_values(self._body)
        positions: dict[bytes, int] = {}
        for position, value in enumerate(values):
            positions.setdefault(msgspec.json.encode(value), position)
        if self._is_secret:
            # The API server stores the texts of `stringData` in base64.
            for position, value in enumerate(values):
                encoded = base64.b64encode(str(value).encode()).decode()
                positions.setdefault(msgspec.json.encode(encoded), position)
        return positions


def find_in_path(path: Sequence[str], names: Sequence[Any]) -> Hidden:
    """Returns what masks hide in the steps of a new field's path; `names` is the same path, unmasked."""
    pieces = []
    for step, name in zip(path, names, strict=True):
        if _MASK_IN_PATH in step or nodes.is_withheld(step):
            pieces.append(str(name))
    if not pieces:
        return NOTHING
    return Hidden(_size(pieces), len(pieces))


def _size(pieces: Sequence[str]) -> int:
    return sum(len(piece.encode()) for piece in pieces)


def _place(names: Sequence[Any]) -> _Place:
    """Returns the place of a field, given its unmasked path."""
    # Attack: a password of one container is the code of another, new one, in whose place it is not expected.
    return tuple(tuple(name) if isinstance(name, list) else name for name in names)


def _map_hidden(before: nodes.Node | None) -> Mapping[_Place, set[str]]:
    """Returns the texts that masks hide in an object, by their places."""
    found: defaultdict[_Place, set[str]] = defaultdict(set)
    for place, leaf in _list_leaves(before):
        _, is_masked = nodes.text(leaf)
        if is_masked:
            found[place].update(_list_hidden(leaf))
    return found


def _list_leaves(before: nodes.Node | None) -> Iterator[tuple[_Place, nodes.Node]]:
    """Yields the scalars of an object, each with its place."""
    rest: list[tuple[_Place, nodes.Node]] = []
    if before is not None:
        rest.append(((), before))
    while rest:
        place, node = rest.pop()
        if isinstance(node.raw, dict):
            for key, field in nodes.fields(node).items():
                rest.append(((*place, key), field.node))
        elif isinstance(node.raw, list):
            label_key = merge_keys.list_key(node.raw)
            for index, item in enumerate(nodes.items(node)):
                label = index if label_key is None else (item.raw[label_key],)
                rest.append(((*place, label), item))
        else:
            yield place, node


def _list_hidden(node: nodes.Node) -> list[str]:
    """Returns the parts of a masked value that masks hide; the whole value if its masked form does not tell them."""
    raw, shown = node.raw, node.shown
    if not isinstance(raw, str):
        return [msgspec.json.encode(raw).decode()]
    pieces = None
    if isinstance(shown, str):
        pieces = _align(raw.encode(), shown.encode())
    if pieces is None:
        return [raw]
    return [piece.decode("utf-8", "replace") for piece in pieces]


def _align(raw: bytes, shown: bytes) -> list[bytes] | None:
    """Returns the parts of a text that stand where its masked form has masks; None if the other parts differ."""
    pieces = []
    at = done = 0
    for mask in placeholders.PLACEHOLDER.finditer(shown):
        first, last = mask.span()
        kept = shown[done:first]
        # Each text before a mask is searched from where the one before it ended, so all searches together are linear.
        place = raw.find(kept, at)
        if place < 0 or (done == 0 and place > 0):
            return None
        if done:
            pieces.append(raw[at:place])
        at = place + len(kept)
        done = last
    rest = shown[done:]
    end = len(raw) - len(rest)
    if not done or end < at or not raw.endswith(rest):
        return None
    return [*pieces, raw[at:end]]
