"""Finds the source that a tool asks, and says what became of a call to it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exceptions
from kubescript.guest.tool_errors import ToolError

__all__ = ["find", "telling"]


def find(k8s: client.K8s, name: str | None, *kinds: str) -> Any:
    """Returns the source with this name, which must be of one of these kinds; without a name the first one of the
    first kind that there is. Raises ToolError."""
    every = k8s._session.sources.items()
    known = [each for wanted in kinds for each, kind in every if kind == wanted]
    if not known:
        raise ToolError("no_source_of_kind", kinds=" or ".join(kinds))
    chosen = known[0] if name is None else name
    if chosen not in known:
        raise ToolError("invalid_choice", name="source", known=", ".join(known), value=chosen)
    return k8s.source(chosen)


@contextlib.contextmanager
def telling() -> Iterator[None]:
    """Turns the failure of a call to a source, or an argument that is no time, into a ToolError. `tool_errors.of_api`
    would say of a source that does not answer that the cluster does not."""
    try:
        yield
    except (exceptions.ApiException, TypeError, ValueError) as error:
        raise ToolError("call_failed", details=error) from None
