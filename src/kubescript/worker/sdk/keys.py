"""Dict keys, and bytes, as the texts that JSON has for them."""

from __future__ import annotations

import base64
import datetime
import enum
from collections.abc import Container
from typing import Any

from kubescript.worker.sdk import timestamps

__all__ = ["of_bytes", "text", "unlike"]


def text(key: Any) -> str:
    """A dict key as JSON has it."""
    if isinstance(key, enum.Enum):
        return text(key.value)
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, bytes):
        return of_bytes(key)
    if isinstance(key, datetime.datetime | datetime.date):
        return timestamps.format_time(key)
    if isinstance(key, tuple):
        return "/".join(text(part) for part in key)
    return "null" if key is None else str(key).lower() if isinstance(key, bool) else str(key)


def unlike(text: str, key: Any, taken: Container[str]) -> str:
    """The key's text, told apart from an equal one: 80 and "80" are two keys, and none may take the other's place."""
    while text in taken:
        text += f" ({type(key).__name__})"
    return text


def of_bytes(data: bytes) -> str:
    """UTF-8 as it is; anything else in base64, as Kubernetes writes it."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()
