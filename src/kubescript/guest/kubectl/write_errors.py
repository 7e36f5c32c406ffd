"""Errors of tools for changes that the cluster did not accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kubescript.guest.sdk.values import exceptions
from kubescript.guest.tool_errors import ToolError

__all__ = ["send"]

# Error codes that leave it open whether the API server has carried out the request.
_UNKNOWN: Final = frozenset({"cluster.timeout", "cluster.broken"})


def send(name: str, write: Callable[[], Any]) -> Any:
    """Performs a write to the object with this name and returns the answer. Raises ToolError, or ApiException if it is
    clear enough."""
    try:
        return write()
    except exceptions.ConflictException:
        # Another client has changed the object in the meantime, so nothing was written.
        raise ToolError("write_conflict", name=name) from None
    except exceptions.ApiException as error:
        # The write may have been carried out, so it is not sent a second time.
        if error.code in _UNKNOWN:
            raise ToolError("write_unknown", name=name, details=error.message) from None
        raise
