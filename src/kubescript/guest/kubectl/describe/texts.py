"""The format of single values: times, ages, selectors, and JSON values as Go prints them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from kubescript.guest.sdk.values import ages, timestamps

__all__ = [
    "Labels",
    "Object",
    "condition_cells",
    "controller",
    "controller_name",
    "join",
    "labels",
    "name_of",
    "pairs",
    "since",
    "text",
    "time",
    "values",
    "words",
]

Object = Mapping[str, Any]
"""A JSON object of the API."""
Labels = Mapping[str, str]
"""Labels, annotations, or another map of strings."""


def text(value: object, absent: str = "") -> str:
    """Returns a JSON value as kubectl prints it; `absent` if it is missing."""
    if value is None:
        return absent
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return words(value)
    if isinstance(value, Mapping):
        return _map(value)
    return str(value)


def _map(found: Object) -> str:
    """Returns a map as Go prints it, with sorted keys: `map[a:1 b:2]`."""
    items = sorted(found.items())
    written = [f"{key}:{text(value)}" for key, value in items]
    inner = " ".join(written)
    return f"map[{inner}]"


def values(found: Object, *keys: str) -> list[str]:
    """Returns several values of an object as kubectl prints them."""
    return [text(found.get(key)) for key in keys]


def words(found: list[Any] | None) -> str:
    """Returns a list as Go prints it: `[a b]`."""
    written = map(text, found or ())
    inner = " ".join(written)
    return f"[{inner}]"


def join(found: list[Any] | None, absent: str = "<none>", between: str = ",") -> str:
    """Returns a list's values on one line."""
    if not found:
        return absent
    written = map(text, found)
    return between.join(written)


def time(stamp: str | None) -> str:
    """Returns a time in kubectl's format, in UTC."""
    moment = timestamps.parse_time(stamp)
    if not isinstance(moment, datetime.datetime):
        # kubectl prints the year 1 for a time that is not set.
        return "<unknown>"
    in_utc = moment.astimezone(datetime.UTC)
    return in_utc.strftime("%a, %d %b %Y %H:%M:%S +0000")


def since(stamp: str | None) -> str:
    """Returns the time that has passed since a timestamp."""
    moment = timestamps.parse_time(stamp)
    if not isinstance(moment, datetime.datetime):
        return "<unknown>"
    return str(ages.age(moment))


def pairs(found: Labels | None) -> list[str]:
    """Returns a map of labels as sorted pairs such as `app=web`."""
    if not found:
        return []
    items = sorted(found.items())
    return [f"{key}={value}" for key, value in items]


def labels(found: Labels | None) -> str:
    """Returns a map of labels on one line, such as `app=web,tier=front`."""
    if not found:
        return "<none>"
    return ",".join(pairs(found))


def name_of(found: Object) -> str:
    """Returns an object's name."""
    metadata = found.get("metadata") or {}
    return text(metadata.get("name"))


def condition_cells(condition: Object, last_check: str) -> tuple[str, ...]:
    """Returns the cells of a condition of a node or claim. `last_check` is the field that says when the condition was
    checked."""
    kind, status, reason, message = values(condition, "type", "status", "reason", "message")
    checked = time(condition.get(last_check))
    changed = time(condition.get("lastTransitionTime"))
    # As in kubectl, all cells but the last end with a space.
    return f"{kind} ", f"{status} ", f"{checked} ", f"{changed} ", f"{reason} ", message


def controller(found: Object) -> Object | None:
    """Returns the reference to the object's controller."""
    metadata = found.get("metadata") or {}
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            return owner  # type: ignore[no-any-return]
    return None


def controller_name(found: Object) -> str:
    """Returns the kind and name of the object's controller; an empty string if it has none."""
    owner = controller(found)
    if not owner:
        return ""
    return f"{owner.get('kind')}/{owner.get('name')}"
