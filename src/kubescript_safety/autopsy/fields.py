"""Objects' fields by path, in the notation of `kubescript.kube.field_paths`: `spec.containers[web].image`.

The functions use explicit stacks, not recursion, because transcripts may come from an attacker.
"""

from __future__ import annotations

import json
from typing import Any

from kubescript.kube import field_paths, merge_keys

__all__ = ["differences", "flat"]


def flat(document: Any) -> dict[str, str]:
    """Returns every leaf of an object: path → JSON text. List items are labelled by their merge keys:
    `containers[web]`. Raises TooManyError."""
    found: dict[str, str] = {}
    rest: list[tuple[Any, str]] = [(document, "")]
    left = field_paths.MAX_ALL
    while rest:
        value, path = rest.pop()
        left = field_paths.spend(left, path)
        # Attack: ten thousand levels. Below such a path everything is one leaf.
        if len(path) > field_paths.MAX:
            found[path.removeprefix(".")] = json.dumps(value, sort_keys=True)
        elif isinstance(value, dict) and value:
            rest.extend((member, path + field_paths.key_step(str(key))) for key, member in value.items())
        elif isinstance(value, list) and value:
            key = merge_keys.list_key(value)
            for place, item in enumerate(value):
                label = f"[{place}]" if key is None else field_paths.label_step(key, item[key])
                rest.append((item, path + label))
        elif path and value is not None:
            found[path.removeprefix(".")] = json.dumps(value, sort_keys=True)
    return found


def differences(before: Any, after: Any) -> dict[str, tuple[str | None, str | None]]:
    """Returns the leaves that differ: path → JSON text before and after, None where the leaf is missing."""
    old = flat(before)
    new = flat(after)
    found: dict[str, tuple[str | None, str | None]] = {}
    for path, value in new.items():
        was = old.get(path)
        if was != value:
            found[path] = (was, value)
    gone = {path: (value, None) for path, value in old.items() if path not in new}
    return found | gone
