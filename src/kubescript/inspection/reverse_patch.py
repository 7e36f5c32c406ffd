"""The reverse of a write: a JSON patch that restores the changed fields.

It is offered to a person as a separate plan. No patch is made if it would contain a masked value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from kubescript.inspection import nodes
from kubescript.kube import merge_keys
from kubescript.wire import inspection

__all__ = ["patch"]


# The keys are joined only for a change, since a key may have a megabyte.
_Path = tuple[tuple[str, Any], ...]
"""Keys, each in its raw and its displayable form."""


class _MaskedError(ValueError):
    """The patch needs a masked value."""


def patch(before: nodes.Node, after: nodes.Node) -> str:
    """Returns the patch that turns `after` into `before`, as JSON; an empty string if that is impossible."""
    try:
        operations = list(_objects((), before, after))
    except _MaskedError:
        return ""
    text = msgspec.json.encode(operations).decode()
    if not operations or len(text) > inspection.MAX_UNDO:
        return ""
    return text


def _objects(path: _Path, before: nodes.Node, after: nodes.Node) -> Iterator[dict[str, Any]]:
    """Yields operations that restore an object's members."""
    olds = nodes.fields(before)
    news = nodes.fields(after)
    for key, field in news.items():
        below = (*path, (key, field.key))
        if key not in olds:
            yield {"op": "remove", "path": _pointer(below)}
        else:
            yield from _values(below, olds[key].node, field.node)
    for key, field in olds.items():
        if key in news:
            continue
        pointer = _pointer((*path, (key, field.key)))
        yield {"op": "add", "path": pointer, "value": _plain(field.node)}


def _values(path: _Path, before: nodes.Node, after: nodes.Node) -> Iterator[dict[str, Any]]:
    """Yields operations that restore one value."""
    kinds = {type(before.raw), type(after.raw)}
    if kinds == {dict}:
        yield from _objects(path, before, after)
    elif kinds == {list}:
        yield from _lists(path, before, after)
    elif not nodes.is_same(before.raw, after.raw):
        yield {"op": "replace", "path": _pointer(path), "value": _plain(before)}


def _lists(path: _Path, before: nodes.Node, after: nodes.Node) -> Iterator[dict[str, Any]]:
    """Yields operations that restore a list."""
    key = merge_keys.list_key(before.raw, after.raw)
    if key is not None and _only_adds(key, before.raw, after.raw):
        yield from _items(path, key, before, after)
    elif _encode(before.raw) != _encode(after.raw):
        # Attack: in `--tls true --trace true`, the place of an item has an equal one after two others were inserted. Or
        # another client has mended an item since. So a list is restored as a whole only as the plan has left it.
        yield _test(path, after)
        yield {"op": "replace", "path": _pointer(path), "value": _plain(before)}


def _only_adds(key: str, before: list[Any], after: list[Any]) -> bool:
    """Says whether a list still has all its items, which `key` tells apart, in their order."""
    labels = iter([item[key] for item in after])
    return all(item[key] in labels for item in before)


def _items(path: _Path, key: str, before: nodes.Node, after: nodes.Node) -> Iterator[dict[str, Any]]:
    """Yields operations that restore the items of a list, which `key` tells apart, and remove the added ones."""
    olds = {item.raw[key]: item for item in nodes.items(before)}
    news = list(nodes.items(after))
    # Each removal moves the items behind it.
    for place, new in reversed(list(enumerate(news))):
        step = str(place)
        item = (*path, (step, step))
        label = nodes.fields(new)[key]
        old = olds.get(label.node.raw)
        operations = [{"op": "remove", "path": _pointer(item)}] if old is None else list(_values(item, old, new))
        if operations:
            # Another writer may insert an item before this one.
            yield _test((*item, (key, label.key)), label.node)
        yield from operations


def _test(path: _Path, expected: nodes.Node) -> dict[str, Any]:
    """Returns the operation that makes the API server refuse the patch unless it finds this value."""
    return {"op": "test", "path": _pointer(path), "value": _plain(expected)}


def _encode(values: list[Any]) -> bytes:
    """Returns a list in the form in which it is compared: Python takes 1 and true, or 0 and -0.0, for equal."""
    return msgspec.json.encode(values, order="sorted")


def _plain(node: nodes.Node) -> Any:
    """Returns a value that is not masked. Raises _MaskedError for a masked one."""
    if node.raw != node.shown:
        raise _MaskedError
    return node.raw


def _pointer(path: _Path) -> str:
    """Returns a JSON pointer. Raises _MaskedError if a key is masked."""
    steps = []
    for key, shown in path:
        # Attack: a key is a token, which is masked in the rows.
        if key != shown:
            raise _MaskedError
        escaped = key.replace("~", "~0").replace("/", "~1")
        steps.append(f"/{escaped}")
    return "".join(steps)
