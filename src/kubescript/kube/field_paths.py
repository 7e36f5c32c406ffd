"""Paths of fields, as `wire.inspection.Row` writes them: `spec.template.spec.containers[web].image`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from kubescript.kube import merge_keys

__all__ = [
    "MAX", "MAX_ALL", "TooManyError", "covers", "is_identity", "key_step", "label_step", "list_named", "of_pointer",
    "place", "plain", "spend",
]  # fmt: skip
MAX: Final = 2_000
"""The maximum number of characters of a path; everything below a longer path counts as one field. Attack: an object
repeats a key of a megabyte in the paths of ten thousand fields. The schemas of large CustomResourceDefinitions have
paths of several hundred characters."""
MAX_ALL: Final = 50_000_000
"""The maximum number of characters of all paths of one object together. Kubernetes objects have at most 1.5 MB."""

_IDENTITY: Final = frozenset({
    "apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.resourceVersion", "metadata.uid",
})  # fmt: skip
"""Fields that identify the object and its version."""
_MAPS: Final = frozenset({
    "annotations", "binaryData", "data", "labels", "limits", "matchLabels", "nodeSelector", "requests", "selector",
    "stringData",
})  # fmt: skip
"""Fields whose keys people choose. Keys may contain dots."""
_BARE_KEY: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_BARE_LABEL: Final = _BARE_KEY | frozenset("./:")


class TooManyError(Exception):
    """An object has too many fields to read."""


def key_step(key: str) -> str:
    """Returns a member's step in a path: `.image`, `["example.com/owner"]`."""
    if key and _BARE_KEY.issuperset(key):
        return f".{key}"
    return f"[{_quote(key)}]"


def label_step(key: str, value: str | int) -> str:
    """Returns the step of an item identified by a field: `[web]`, `[containerPort=8080]`."""
    if isinstance(value, int):
        return f"[{key}={value}]"  # a number alone is an index
    # Attack: a label that is a string looks like another item's number.
    is_bare = value and _BARE_LABEL.issuperset(value) and not value.lstrip("-").isdigit()
    label = value if is_bare else _quote(value)
    if key == "name":
        return f"[{label}]"
    return f"[{key}={label}]"


def _quote(text: str) -> str:
    # Attack: a key with a Cyrillic letter looks like another key. Its ASCII escape does not.
    return json.dumps(text)


def plain(path: str) -> str:
    """Returns the path without its bracketed keys and items: `spec.containers.image`."""
    kept, depth, is_quoted, is_escaped = [], 0, False, False
    for character in path:
        if is_quoted:  # a key may contain any character, even brackets
            is_quoted = is_escaped or character != '"'
            is_escaped = character == "\\" and not is_escaped
            continue
        if depth:
            is_quoted = character == '"'
            depth += (character == "[") - (character == "]")
        elif character == "[":
            depth = 1
        else:
            kept.append(character)
    return "".join(kept)


def is_identity(path: str) -> bool:
    """Says whether the field only names an object, or an item of a list."""
    if path in _IDENTITY:
        return True
    parent, _, leaf = path.rpartition(".")
    return parent.endswith("]") and leaf in merge_keys.ALL


def place(path: str) -> str:
    """Returns the field's parent. All entries of a map, and all items of a list, share one."""
    segments = plain(path).split(".")
    for position, segment in enumerate(segments):
        # People choose the keys of a map, with or without dots.
        if segment in _MAPS:
            return ".".join(segments[: position + 1])
    if path.endswith("]"):
        return ".".join(segments)
    return ".".join(segments[:-1])


def covers(outer: str, inner: str) -> bool:
    """Says whether `outer` is `inner` or an ancestor of it."""
    if not inner.startswith(outer):
        return False
    # `spec.replicas` does not cover `spec.replicasMax`.
    following = inner[len(outer) : len(outer) + 1]
    return following in {"", ".", "["}


def list_named(body: Any) -> tuple[str, ...]:
    """Returns the paths of all fields that a request's body names, with `[]` for list items. A body that is a list is a
    JSON patch. Raises TooManyError."""
    if not isinstance(body, list):
        return tuple(_leaves(body, ""))
    found: list[str] = []
    for operation in body:
        if not isinstance(operation, dict):
            continue
        name = operation.get("op")
        path = of_pointer(str(operation.get("path", "")))
        if name != "test":
            found += _leaves(operation.get("value"), path)
            if name == "move":
                origin = str(operation.get("from", ""))
                found.append(of_pointer(origin))
        elif path == "metadata.resourceVersion":  # pins the object to its version; other tests change nothing either
            found.append(path)
    return tuple(found)


def of_pointer(pointer: str) -> str:
    """Returns the path of a JSON pointer."""
    parts = []
    for part in pointer.split("/")[1:]:
        if part == "-" or part.isdigit():
            parts.append("[]")
            continue
        # In this order, as RFC 6901 has it: `~01` is the name `~1`, not a slash.
        name = part.replace("~1", "/").replace("~0", "~")
        parts.append(f".{name}")
    return "".join(parts).removeprefix(".")


def spend(left: int, path: str) -> int:
    """Returns how many characters of paths remain. Raises TooManyError."""
    left -= len(path)
    if left < 0:
        raise TooManyError(f"an object has fields whose paths have more than {MAX_ALL:,} characters")
    return left


def _leaves(value: Any, path: str) -> Iterator[str]:
    """Yields the paths of all scalars, and of empty objects and lists, in order."""
    # An explicit stack instead of recursion: a stranger may have written the body.
    rest: list[tuple[Any, str]] = [(value, path)]
    left = MAX_ALL
    while rest:
        value, path = rest.pop()
        left = spend(left, path)
        if len(path) > MAX:
            yield path
        elif isinstance(value, dict) and value:
            prefix = f"{path}." if path else ""
            # Keys that begin with `$` are directives of a strategic merge patch.
            keys = [key for key in reversed(value) if not str(key).startswith("$")]
            rest.extend((value[key], f"{prefix}{key}") for key in keys)
        elif isinstance(value, list) and value:
            rest.extend((item, path + "[]") for item in reversed(value))
        elif path:
            yield path
