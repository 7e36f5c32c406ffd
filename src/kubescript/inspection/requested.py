"""Which fields a request names: what else its dry run changes, the API server has changed by itself.

Where it is not certain that a request leaves a field alone, the field counts as named: a person looks harder at what
was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from kubescript.inspection import nodes
from kubescript.kube import merge_keys
from kubescript.wire import inspection

__all__ = ["Asked", "ItemAsked", "of"]

_NOTHING: Final = object()
_EVERYTHING: Final = object()
_WHOLE: Final = ("$patch", "$retainKeys")
"""Directives of a strategic merge patch about the object in which they stand."""
_PART: Final = ("$deleteFromPrimitiveList/", "$setElementOrder/")
"""Those about the member whose name follows."""
_TWINS: Final = {
    "data": "stringData", "serviceAccountName": "serviceAccount", "serviceAccount": "serviceAccountName",
}  # fmt: skip
"""Fields that the API server fills from others."""


class Asked(NamedTuple):
    """What a request says about one place of an object."""

    node: Any
    """The part of its body, or one of the two marks."""
    replaces: bool = False
    """Whether what it leaves out here goes away, or falls back to its default."""

    def names(self, *, existed: bool) -> bool:
        """Says whether it names the value at this place; `existed`: there was one before."""
        # Attack: an apply that no longer names a field, which the API server then sets to its default.
        return self.node is not _NOTHING or (existed and self.replaces)

    def field(self, key: str) -> Asked:
        """Returns what it says about a member."""
        node = self.node
        if node is _NOTHING or node is _EVERYTHING:
            return self
        if not isinstance(node, dict) or any(each in node for each in _WHOLE):
            return Asked(_EVERYTHING)
        if _TWINS.get(key) in node or any(each + key in node for each in _PART):
            return Asked(_EVERYTHING)
        return Asked(node.get(key, _NOTHING), self.replaces)

    def items(self, key: str | None, after: list[Any]) -> ItemAsked:
        """Returns a function that says what it asks of an item of a list, which is `after` with it, by the value of
        `key` or else by its place."""
        node = self.node
        if node is _NOTHING or node is _EVERYTHING:
            return lambda _: self
        if isinstance(node, list):
            known = _map_by_label(key, node) if key is not None else _map_by_place(node, after)
            if known is not None:
                return lambda label: Asked(known.get(label, _NOTHING), replaces=True)
        return lambda _: Asked(_EVERYTHING)


ItemAsked = Callable[[Any], Asked]
"""Says what is asked of an item of a list, by its label."""


def of(about: inspection.Comparison, body: Any) -> Asked:
    """Returns what a request says about the whole object. `body` is its decoded body."""
    # A JSON patch names all that it changes. Attack: /spec/containers/-1 and /+0, places that only a reading of its own
    # finds, and one operation that moves what the next one means.
    if about.verb == "update" or not isinstance(body, dict):
        return Asked(_EVERYTHING)
    return Asked(body, about.apply)


def _map_by_label(key: str, asked: list[Any]) -> dict[Any, Any] | None:
    """Returns the items by their labels; None when one has none of its own, so that it could be any of the list's."""
    if not merge_keys.tells_apart(key, asked):
        return None
    return {item[key]: item for item in asked}


def _map_by_place(asked: list[Any], after: list[Any]) -> dict[Any, Any] | None:
    """Returns the items by their places; None unless they are surely those of the list."""
    # Attack: a list that is merged by a field unknown here. What was asked of its second item becomes of the first.
    if len(asked) == len(after) and all(map(_agree, asked, after)):
        return dict(enumerate(asked))
    return None


def _agree(asked: Any, after: Any) -> bool:
    """Says whether two items can be the same one: what they hold beside objects and lists is equal."""
    if not isinstance(asked, dict) or not isinstance(after, dict):
        return nodes.is_same(asked, after)
    for key, value in asked.items():
        if value is None or isinstance(value, dict | list):
            continue
        if key not in after or not nodes.is_same(value, after[key]):
            return False
    return True
