"""Label values, each from a bounded set. Metrics and spans take their labels from here."""

from __future__ import annotations

from typing import Final, NamedTuple

from kubescript.broker import records
from kubescript.kube import kinds
from kubescript.wire import exchanges

__all__ = ["CODES", "CUSTOM", "OTHER", "REFUSALS", "Call", "call", "code", "kind", "resource", "status", "verb"]

# Attack: a script invents endless names, and a time series for each fills a monitoring system's memory.
OTHER: Final = "other"
"""The label of everything that is not in its set."""
CUSTOM: Final = "custom"
"""The label of every resource that is not built into Kubernetes."""

# The list is fixed, because a worker may send any word after `script.` and `limit.`.
CODES: Final = frozenset({
    "ok", "cancelled", "internal", "server.busy",
    "script.exception", "script.refused", "script.syntax",
    "limit.time", "limit.memory", "limit.depth", "limit.output", "limit.calls", "limit.bytes",
    "limit.watches",
    "worker.died", "worker.protocol", "worker.spawn", "worker.lockdown",
    "audit.unavailable", "output.failed",
})  # fmt: skip
"""The codes with which scripts end."""
_VERBS: Final = frozenset({
    "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy", "post", "put",
})  # fmt: skip
_STATUSES: Final = frozenset({200, 201, 202, 400, 401, 403, 404, 405, 409, 410, 415, 422, 429, 500, 502, 503, 504})
# Prefixes of call faults. The text after the dot is one of the host's own words, so the set is bounded.
_FAMILIES: Final = ("cluster.", "limit.", "redaction.", "policy.", "request.", "writes.")
REFUSALS: Final = frozenset({401, 403, 413, 421, 429, 503})
"""HTTP statuses with which clients are refused before any script runs."""
# How many kinds of secrets have separate labels. The number is bounded because operators may add rules.
_MAX_KINDS: Final = 200

_MAX_CONTEXTS: Final = 200
"""How many clusters have a label of their own: those that are called first. Found ones may be thousands."""

# Attack: a script calls each kind of each of 200 clusters in each way, which makes 175,000 time series.
_MAX_CALLS: Final = 5_000
"""How many sets of labels of calls have verb and resource: those that come first."""

_kinds: Final[set[str]] = set()
_contexts: Final[set[str]] = set()
_calls: Final[set[Call]] = set()


class Call(NamedTuple):
    """The labels of one call."""

    context: str
    verb: str
    group: str
    resource: str
    status: str


def code(name: str) -> str:
    """Returns the code with which a script ended, or `other`."""
    return name if name in CODES else OTHER


def verb(record: records.Record) -> str:
    """Returns the request's verb."""
    if record.call is None or record.call.verb not in _VERBS:
        return OTHER
    return record.call.verb


def resource(record: records.Record) -> tuple[str, str]:
    """Returns the API group, and the resource with its subresource; `custom` for both if the resource is not built
    in, and `sources/NAME` for a source."""
    # Names of custom resources can be invented without end.
    call = record.call
    if call is None or not call.is_resource:
        return "", _source(call.path) if call is not None else OTHER
    if kinds.kind_of(call.group, call.resource) is None:
        return CUSTOM, CUSTOM
    if not call.subresource:
        return call.group, call.resource
    known = kinds.READ_SUBRESOURCES | kinds.WRITE_SUBRESOURCES
    subresource = call.subresource if call.subresource in known else OTHER
    return call.group, f"{call.resource}/{subresource}"


def _source(path: str) -> str:
    """Returns `sources/NAME` for a call to a source; `other` for every other path."""
    parts = tuple(path.strip("/").split("/"))
    # A call gets a path only once its source and its operation are known.
    return "/".join(parts[1:3]) if parts[: len(exchanges.SOURCES)] == exchanges.SOURCES else OTHER


def status(record: records.Record) -> str:
    """Returns the HTTP status, `denied`, `refused`, `planned` for a write that waits in a plan, or the code of the
    failure."""
    if record.verdict == "refuse":
        return "refused"
    if record.verdict == "plan":
        return "planned"
    if record.verdict != "allow":
        return "denied"
    if record.fault.startswith(_FAMILIES):
        return record.fault
    if record.status in _STATUSES:
        return str(record.status)
    return f"{record.status // 100}xx"


def call(record: records.Record) -> Call:
    """Returns the labels of a call; verb and resource are `other` when there are too many sets."""
    group, name = resource(record)
    found = Call(_context(record.context), verb(record), group, name, status(record))
    if found not in _calls and len(_calls) < _MAX_CALLS:
        _calls.add(found)
    # The alerts go by context and status, so a script cannot hide a cluster's failures from them.
    return found if found in _calls else found._replace(verb=OTHER, group="", resource=OTHER)


def _context(name: str) -> str:
    """Returns the name of the cluster of a call, or `other`; empty if the server has only one."""
    if name and name not in _contexts and len(_contexts) < _MAX_CONTEXTS:
        _contexts.add(name)
    return name if not name or name in _contexts else OTHER


def kind(name: str) -> str:
    """Returns the kind of a secret that was masked, or `other`."""
    if name not in _kinds and len(_kinds) < _MAX_KINDS:
        _kinds.add(name)
    return name if name in _kinds else OTHER
