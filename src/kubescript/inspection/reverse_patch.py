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
    # A list whose length has changed is replaced as a whole: an index does not tell which item was removed or added.
    elif kinds == {list} and len(before.raw) == len(after.raw):
        yield from _lists(path, before, after)
    elif not nodes.is_same(before.raw, after.raw):
        yield {"op": "replace", "path": _pointer(path), "value": _plain(before)}


def _lists(path: _Path, before: nodes.Node, after: nodes.Node) -> Iterator[dict[str, Any]]:
    """Yields operations that restore the items of a list of the same length, by index."""
    key = merge_keys.list_key(after.raw)
    olds = nodes.items(before)
    news = nodes.items(after)
    for place, (old, new) in enumerate(zip(olds, news, strict=True)):
        step = str(place)
        item = (*path, (step, step))
        operations = list(_values(item, old, new))
        if operations and key is not None:
            # Another writer may insert an item before this one; the test then makes the API server refuse the patch.
            label = nodes.fields(new)[key]
            where = _pointer((*item, (key, label.key)))
            yield {"op": "test", "path": where, "value": _plain(label.node)}
        yield from operations


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
