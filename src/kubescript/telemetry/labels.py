"""Label values, from a bounded set each: a script may invent names for ever, and a time series for each would be a way
to fill a monitoring system's memory."""

from __future__ import annotations

from typing import Final

from kubescript.broker import records
from kubescript.request import kinds

__all__ = ["CUSTOM", "OTHER", "code", "kind", "resource", "status", "verb"]

OTHER: Final = "other"
CUSTOM: Final = "custom"
"""Every resource that is not built into Kubernetes."""

_CODES: Final = frozenset({
    "ok", "cancelled", "internal", "server.busy",
    "script.exception", "script.refused", "script.syntax",
    "limit.time", "limit.memory", "limit.depth", "limit.output", "limit.calls", "limit.bytes",
    "worker.died", "worker.protocol", "worker.spawn", "worker.lockdown",
    "audit.unavailable",
})  # fmt: skip
"""Of scripts. A worker may send any word after `script.` and `limit.`."""
_VERBS: Final = frozenset({
    "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy", "post", "put",
})  # fmt: skip
_STATUSES: Final = frozenset({200, 201, 202, 400, 401, 403, 404, 405, 409, 410, 415, 422, 429, 500, 502, 503, 504})
_FAMILIES: Final = ("cluster.", "limit.", "redaction.", "policy.", "request.")
"""Of the faults of calls; after the dot stands one of our own words."""
_MAX_KINDS: Final = 200
"""Kinds of secrets; operators may add rules."""

_kinds: Final[set[str]] = set()


def code(name: str) -> str:
    """The code of a script's end."""
    return name if name in _CODES else OTHER


def verb(record: records.Record) -> str:
    """The request's verb."""
    name = record.call.verb if record.call is not None else ""
    return name if name in _VERBS else OTHER


def resource(record: records.Record) -> tuple[str, str]:
    """API group and resource with its subresource; `custom` for what is not built in."""
    call = record.call
    if call is None or not call.is_resource:
        return "", OTHER
    if kinds.kind_of(call.group, call.resource) is None:
        return CUSTOM, CUSTOM
    known = kinds.READ_SUBRESOURCES | kinds.WRITE_SUBRESOURCES
    if not call.subresource:
        return call.group, call.resource
    return call.group, f"{call.resource}/{call.subresource if call.subresource in known else OTHER}"


def status(record: records.Record) -> str:
    """HTTP status, `denied`, `refused`, or the code of what went wrong before an answer."""
    if record.verdict != "allow":
        return "refused" if record.verdict == "refuse" else "denied"
    if record.fault.startswith(_FAMILIES):
        return record.fault
    return str(record.status) if record.status in _STATUSES else f"{record.status // 100}xx"


def kind(name: str) -> str:
    """The kind of a secret that was masked."""
    if name not in _kinds and len(_kinds) < _MAX_KINDS:
        _kinds.add(name)
    return name if name in _kinds else OTHER
