"""Where a field is that a script looked for in the wrong part of an object. Made from the models, for errors only.

`pod.metadata.node_name` ▶ "spec"; `pod.status.restart_count` ▶ "container_statuses[i]".
"""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Iterator

from kubescript.worker.sdk import names, operations

__all__ = ["place_of"]

UP = "the object that holds this one"
_PARENTS = 5
"""Owners looked through; metadata has hundreds."""


@functools.lru_cache(256)
def place_of(name: str, model: str) -> str | None:
    """The path to the part that has the field, as a script would write it after the object or beside the part."""
    wanted = names.fold(name)
    near = _below(wanted, model, 1)
    if near and "[" not in near:
        return near
    return _beside(wanted, model) or near or _below(wanted, model, 2) or _around(wanted, model)


def _below(wanted: str, model: str, depth: int) -> str | None:
    """The best of the parts so many levels below, objects before lists."""
    found = sorted(_paths(wanted, model, depth), key=lambda path: (path.count("["), len(path)))
    return found[0] if found else None


def _paths(wanted: str, model: str, depth: int) -> Iterator[str]:
    for part, kind in _parts(model):
        if depth > 1:
            yield from (f"{part}.{path}" for path in _paths(wanted, kind, depth - 1))
        elif _has(wanted, kind):
            yield part


def _beside(wanted: str, model: str) -> str | None:
    """The part that most objects with a part like this have the field in."""
    found: Counter[str] = Counter()
    for parent in _parents(model):
        if _has(wanted, parent):
            found[UP] += 1
        found.update(part for part, kind in _parts(parent) if kind != model and _has(wanted, kind))
    return found.most_common(1)[0][0] if found else None


def _around(wanted: str, model: str) -> str | None:
    """Further away: a container's restart_count is in status.container_statuses[i]."""
    parents = _parents(model)[:_PARENTS]
    beside = (_below_beside(wanted, model, parent) for parent in parents)
    above = (_around(wanted, parent) for parent in parents if len(parents) < _PARENTS)
    return next((found for found in itertools.chain(beside, above) if found), None)


def _below_beside(wanted: str, model: str, parent: str) -> str | None:
    paths = (f"{part}.{path}" for part, kind in _parts(parent) if kind != model for path in _paths(wanted, kind, 1))
    return next(paths, None)


def _parents(model: str) -> list[str]:
    return [parent for parent in operations.models() if any(kind == model for _, kind in _parts(parent))]


def _parts(model: str) -> Iterator[tuple[str, str]]:
    """The fields of a model that are models, or lists of them."""
    models = operations.models()
    for attribute, entry in models[model].items():
        kind = entry if isinstance(entry, str) else entry[0]
        item = kind[5:-1] if kind.startswith("List[") else kind
        if item in models:
            yield (f"{attribute}[i]" if item != kind else attribute), item


def _has(wanted: str, model: str) -> bool:
    return any(names.fold(attribute) == wanted for attribute in operations.models()[model])
