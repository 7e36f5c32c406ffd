"""Calls of the server's runbooks. The host runs them elsewhere; only their names, arguments and values pass here."""

from __future__ import annotations

from typing import Any

import msgspec

from kubescript.guest.sdk.calls import session
from kubescript.guest.sdk.objects import serialize
from kubescript.wire import exchanges

__all__ = ["list_all", "run"]


def list_all(session: session.Session) -> list[dict[str, Any]]:
    """Returns the runbooks."""
    text, _ = session.fetch_text(exchanges.Call("GET", exchanges.RUNBOOKS))
    found: list[dict[str, Any]] = msgspec.json.decode(text)
    return found


def run(session: session.Session, name: str, arguments: dict[str, Any]) -> Any:
    """Runs a runbook; returns its value. Raises ApiException."""
    if not isinstance(name, str):
        raise TypeError('k8s.runbook() takes a name first: k8s.runbook("restart-web", namespace="shop")')
    body = msgspec.Raw(serialize.encode(arguments))
    text, _ = session.fetch_text(exchanges.Call("POST", (*exchanges.RUNBOOKS, name), body=body))
    return msgspec.json.decode(text)
