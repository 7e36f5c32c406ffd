"""Errors of tools for changes that the cluster did not accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubescript.guest import tool_errors
from kubescript.guest.sdk.values import exceptions

__all__ = ["send"]

_UNKNOWN: Final = frozenset({"cluster.timeout", "cluster.broken"})
"""Error codes that leave open whether the API server has carried out the request."""


def send(name: str, write: Callable[[], Any]) -> Any:
    """Makes a write to the object with this name and returns the answer. Raises ToolError, or ApiException if it is
    clear enough."""
    try:
        return write()
    except exceptions.ConflictException:
        raise tool_errors.ToolError("write_conflict", name=name) from None
    except exceptions.ApiException as error:
        if error.code in _UNKNOWN:
            raise tool_errors.ToolError("write_unknown", name=name, details=error.message) from None
        raise
