"""The format of single values: times, ages, selectors, and JSON values as Go prints them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from kubescript.guest.sdk.values import ages, timestamps

__all__ = ["Object", "controller", "join", "labels", "name_of", "since", "text", "time", "words"]

Object = Mapping[str, Any]
"""A JSON object of the API."""


def text(value: object, absent: str = "") -> str:
    """Returns a JSON value as kubectl prints it; `absent` if it is missing."""
    if value is None:
        return absent
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return words(value)
    if isinstance(value, Mapping):
        pairs = " ".join(f"{key}:{text(each)}" for key, each in sorted(value.items()))
        return f"map[{pairs}]"
    return str(value)


def words(found: list[Any] | None) -> str:
    """Returns a list in brackets."""
    inner = " ".join(text(each) for each in found or ())
    return f"[{inner}]"


def join(found: list[Any] | None, absent: str = "<none>", between: str = ",") -> str:
    """Returns a list's values in one line."""
    return between.join(text(each) for each in found) if found else absent


def time(stamp: str | None) -> str:
    """Returns a time in kubectl's format, in UTC."""
    moment = timestamps.parse_time(stamp)
    if not isinstance(moment, datetime.datetime):
        return "<unknown>"
    return moment.astimezone(datetime.UTC).strftime("%a, %d %b %Y %H:%M:%S +0000")


def since(stamp: str | None) -> str:
    """Returns the time elapsed since then."""
    moment = timestamps.parse_time(stamp)
    return str(ages.age(moment)) if isinstance(moment, datetime.datetime) else "<unknown>"


def labels(found: Mapping[str, str] | None) -> str:
    """Returns a map of labels in one line."""
    return ",".join(f"{key}={value}" for key, value in sorted((found or {}).items())) or "<none>"


def name_of(found: Object) -> str:
    """Returns an object's name."""
    return text((found.get("metadata") or {}).get("name"))


def controller(found: Object) -> Object | None:
    """Returns the reference to the object's controller."""
    owners = (found.get("metadata") or {}).get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)
