"""Which fields a request names: what else its dry run changes, the API server has changed by itself.

Where it is not certain that a request leaves a field alone, it names it: a person looks harder at what was asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from kubescript.masker import nodes
from kubescript.wire import masking

__all__ = ["Asked", "ItemAsked", "of"]

_NOTHING: Final = object()
_EVERYTHING: Final = object()
_ANY: Final = "*"
"""Stands for any item of a list in the paths of a JSON patch: one operation moves what the next one means."""
_MAX_STEPS: Final = 100
"""Steps of a path that are followed."""
_WHOLE: Final = ("$patch", "$retainKeys")
"""Directives of a strategic merge patch about the object in which they stand."""
_PART: Final = ("$deleteFromPrimitiveList/", "$setElementOrder/")
"""Those about the member whose name follows."""
_TWINS: Final = {
    "data": "stringData", "serviceAccountName": "serviceAccount", "serviceAccount": "serviceAccountName",
}  # fmt: skip
"""Fields that the API server fills from others."""


class _Steps(dict[str, Any]):
    """The paths of a JSON patch below one step."""


class Asked(NamedTuple):
    """What a request says about one place of an object."""

    node: Any
    """The part of its body, or one of the two marks."""
    replaces: bool = False
    """Whether what it leaves out here goes away."""

    def names(self, *, gone: bool) -> bool:
        """Says whether it names the value at this place; `gone`: a value that goes away."""
        return self.node is not _NOTHING or (gone and self.replaces)

    def field(self, key: str) -> Asked:
        """Returns what it says about a member."""
        node = self.node
        if node is _NOTHING or node is _EVERYTHING:
            return self
        if not isinstance(node, dict) or any(each in node for each in _WHOLE):
            return Asked(_EVERYTHING)
        if _TWINS.get(key) in node or any(each + key in node for each in _PART):
            return Asked(_EVERYTHING)
        step = _step(key) if isinstance(node, _Steps) else key
        return Asked(node.get(step, _NOTHING), self.replaces)

    def items(self, key: str | None, after: list[Any]) -> ItemAsked:
        """Returns a function that says what it asks of an item of a list, which is `after` with it, by the value of
        `key` or else by its place."""
        node = self.node
        if isinstance(node, _Steps):
            child = Asked(node.get(_ANY, _NOTHING))
            return lambda _: child
        if node is _NOTHING or node is _EVERYTHING:
            return lambda _: self
        if isinstance(node, list):
            known = _told_apart(key, node) if key is not None else _placed(node, after)
            if known is not None:
                return lambda label: Asked(known.get(label, _NOTHING), replaces=True)
        return lambda _: Asked(_EVERYTHING)


ItemAsked = Callable[[Any], Asked]
"""Says what is asked of an item of a list, by its label."""


def of(about: masking.Comparison, body: Any) -> Asked:
    """Returns what a request says about the whole object. `body` is its decoded body."""
    if about.verb == "update":
        return Asked(_EVERYTHING)
    if isinstance(body, list):
        return Asked(_steps(body))
    return Asked(body, about.apply) if isinstance(body, dict) else Asked(_EVERYTHING)


def _told_apart(key: str, asked: list[Any]) -> dict[Any, Any] | None:
    """Returns the items by their labels; None when one has none of its own, so that it could be any of the list's."""
    return {item[key]: item for item in asked} if nodes.tells_apart(key, asked) else None


def _placed(asked: list[Any], after: list[Any]) -> dict[Any, Any] | None:
    """Returns the items by their places; None unless they are surely those of the list."""
    # Attack: a list that is merged by a field unknown here. What was asked of its second item becomes of the first.
    if len(asked) == len(after) and all(map(_agree, asked, after)):
        return dict(enumerate(asked))
    return None


def _agree(asked: Any, after: Any) -> bool:
    """Says whether two items can be the same one: what they hold beside objects and lists is equal."""
    if not isinstance(asked, dict) or not isinstance(after, dict):
        return nodes.is_same(asked, after)
    plain = ((key, value) for key, value in asked.items() if value is not None and not isinstance(value, dict | list))
    return all(key in after and nodes.is_same(value, after[key]) for key, value in plain)


def _steps(operations: Iterable[Any]) -> Any:
    """Returns the paths that a JSON patch changes, as a tree."""
    tree = _Steps()
    for operation in operations:
        path = operation.get("path") if isinstance(operation, dict) else None
        if not isinstance(path, str) or not path:
            return _EVERYTHING
        if operation.get("op") != "test":
            _grow(tree, [_step(each.replace("~1", "/").replace("~0", "~")) for each in path.split("/")[1:]])
    return tree


def _grow(tree: _Steps, path: list[str]) -> None:
    *above, last = path[:_MAX_STEPS]
    for step in above:
        below = tree.setdefault(step, _Steps())
        if below is _EVERYTHING:
            return
        tree = below
    tree[last] = _EVERYTHING


def _step(step: str) -> str:
    return _ANY if step == "-" or step.isdigit() else step
