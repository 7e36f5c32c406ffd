"""The fields that a request names; all other changes in its dry run are the API server's own.

When in doubt, a field counts as named, since a person looks more closely at what was requested.
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
"""Directives of a strategic merge patch about the enclosing object."""
_PART: Final = ("$deleteFromPrimitiveList/", "$setElementOrder/")
"""Directives about the member whose name follows."""
_TWINS: Final = {
    "data": "stringData", "serviceAccountName": "serviceAccount", "serviceAccount": "serviceAccountName",
}  # fmt: skip
"""Fields that the API server derives from others."""


class Asked(NamedTuple):
    """A request's statement about one position in an object."""

    node: Any
    """The part of the request's body, or one of the two markers."""
    replaces: bool = False
    """Whether anything that is left out here is removed or reset to its default."""

    def names(self, *, existed: bool) -> bool:
        """Says whether the request names the value at this position; `existed` says whether there was one before."""
        # Attack: an apply omits a field that an earlier one named, and the API server resets the field to its default.
        return self.node is not _NOTHING or (existed and self.replaces)

    def field(self, key: str) -> Asked:
        """Returns the request's statement about a member."""
        node = self.node
        if node is _NOTHING or node is _EVERYTHING:
            return self
        if not isinstance(node, dict) or not node.keys().isdisjoint(_WHOLE):
            return Asked(_EVERYTHING)
        if _TWINS.get(key) in node or any(each + key in node for each in _PART):
            return Asked(_EVERYTHING)
        part = node.get(key, _NOTHING)
        return Asked(part, self.replaces)

    def items(self, key: str | None, after: list[Any]) -> ItemAsked:
        """Returns a function that maps an item of a list, given by its value of `key` or else by its index, to the
        request's statement about it. `after` is the list after the request."""
        node = self.node
        if node is _NOTHING or node is _EVERYTHING:
            return lambda _: self
        known = None
        if isinstance(node, list):
            known = _map_by_label(key, node) if key is not None else _map_by_place(node, after)
        if known is None:
            return lambda _: Asked(_EVERYTHING)
        return lambda label: Asked(known.get(label, _NOTHING), replaces=True)


ItemAsked = Callable[[Any], Asked]
"""A function from a list item's label to the request's statement about the item."""


def of(about: inspection.Comparison, body: Any) -> Asked:
    """Returns a request's statement about the whole object. `body` is the request's decoded body."""
    # A JSON patch counts as naming everything. Attack: indices such as /spec/containers/-1 and /+0 need a special
    # reading, and one operation can move the target of the next.
    if about.verb == "update" or not isinstance(body, dict):
        return Asked(_EVERYTHING)
    return Asked(body, about.apply)


def _map_by_label(key: str, asked: list[Any]) -> dict[Any, Any] | None:
    """Returns the items by their labels; None if a label is missing or repeated, which makes items ambiguous."""
    if not merge_keys.tells_apart(key, asked):
        return None
    return {item[key]: item for item in asked}


def _map_by_place(asked: list[Any], after: list[Any]) -> dict[Any, Any] | None:
    """Returns the items by their indices; None unless these certainly correspond to the list's own indices."""
    # Attack: a list is merged by a field that is not known here, so that the request for the list's second item is
    # attributed to the first one.
    if len(asked) != len(after):
        return None
    if not all(map(_agree, asked, after)):
        return None
    return dict(enumerate(asked))


def _agree(asked: Any, after: Any) -> bool:
    """Says whether two items may be the same: their scalar members are equal."""
    if not isinstance(asked, dict) or not isinstance(after, dict):
        return nodes.is_same(asked, after)
    for key, value in asked.items():
        is_scalar = value is not None and not isinstance(value, dict | list)
        if is_scalar and (key not in after or not nodes.is_same(value, after[key])):
            return False
    return True
