"""The texts and numbers in a request's body, by which the masking process tells the host what a request brings."""

from __future__ import annotations

from typing import Any

__all__ = ["list_values"]


def list_values(body: Any) -> list[str | int | float]:
    """Returns all strings and numbers in a decoded body, in document order. Names of fields are not among them."""
    found: list[str | int | float] = []
    # An explicit stack instead of recursion: a script has written the body.
    rest = [body]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest.extend(reversed(value.values()))
        elif isinstance(value, list):
            rest.extend(reversed(value))
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            found.append(value)
    return found
