"""Fields of objects by their paths, as `kubescript.kube.field_paths` reads them: `spec.containers[web].image`.

Everything here walks with a list of its own and not by recursion: transcripts come from anybody.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from kubescript.kube import field_paths, merge_keys

__all__ = ["FieldsError", "below", "differences", "flat", "named", "of_pointer"]

_MAX_PATH: Final = 2_000
"""Characters of a path; what stands below a longer one is one field. Attack: a key of a megabyte, above ten thousand
fields. The schemas of large CustomResourceDefinitions have paths of several hundred."""
_MAX_PATHS: Final = 50_000_000
"""Characters of all paths of one object. Objects of Kubernetes have at most 1.5 MB."""
Object = dict[str, Any]


class FieldsError(Exception):
    """There are more fields than are looked at."""


def named(body: Any) -> tuple[str, ...]:
    """Returns the paths of all fields that a request's body names, with `[]` for each item of a list. A body that is a
    list is a JSON patch."""
    if not isinstance(body, list):
        return tuple(_leaves(body, ""))
    found: list[str] = []
    for operation in body:
        if not isinstance(operation, dict):
            continue
        path = of_pointer(str(operation.get("path", "")))
        if operation.get("op") != "test":
            found += _leaves(operation.get("value"), path)
            if operation.get("op") == "move":
                found.append(of_pointer(str(operation.get("from", ""))))
        elif path == "metadata.resourceVersion":  # holds the object to its version
            found.append(path)
    return tuple(found)


def of_pointer(pointer: str) -> str:
    """Returns the path of a JSON pointer."""
    parts = []
    for part in pointer.split("/")[1:]:
        if part == "-" or part.isdigit():
            parts.append("[]")
        else:
            parts.append("." + part.replace("~1", "/").replace("~0", "~"))
    return "".join(parts).removeprefix(".")


def below(path: str, key: str) -> str:
    """Returns the path of a member."""
    return f"{path}.{key}" if path else key


def _leaves(value: Any, path: str) -> Iterator[str]:
    """Yields the paths of all scalars, and of empty objects and lists, in their order."""
    rest: list[tuple[Any, str]] = [(value, path)]
    left = _MAX_PATHS
    while rest:
        value, path = rest.pop()
        left = _spent(left, path)
        if len(path) > _MAX_PATH:
            yield path
        elif isinstance(value, dict) and value:
            # What begins so is a directive of a strategic merge patch.
            keys = [key for key in reversed(value) if not str(key).startswith("$")]
            rest.extend((value[key], below(path, str(key))) for key in keys)
        elif isinstance(value, list) and value:
            rest.extend((item, path + "[]") for item in reversed(value))
        elif path:
            yield path


def flat(document: Any) -> dict[str, str]:
    """Returns every leaf of an object: path → JSON text. Items of lists go by their merge keys: `containers[web]`."""
    found: dict[str, str] = {}
    rest: list[tuple[Any, str]] = [(document, "")]
    left = _MAX_PATHS
    while rest:
        value, path = rest.pop()
        left = _spent(left, path)
        if len(path) > _MAX_PATH:
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


def _spent(left: int, path: str) -> int:
    """Returns how many characters are left. Raises FieldsError."""
    if len(path) > left:
        raise FieldsError(f"an object has fields whose paths have more than {_MAX_PATHS:,} characters")
    return left - len(path)


def differences(before: Any, after: Any) -> dict[str, tuple[str | None, str | None]]:
    """Returns the leaves that differ: path → JSON text before and after, None where there is none."""
    old, new = flat(before), flat(after)
    found = {path: (old.get(path), value) for path, value in new.items() if old.get(path) != value}
    return found | {path: (value, None) for path, value in old.items() if path not in new}
