"""Messages about a cluster between a script and the host: calls, the headers of their answers, where a script runs.

`protocol` carries these messages. A worker may be compromised, so the host treats them as hostile.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from kubescript_sandbox.wire import protocol

__all__ = [
    "BATCH", "CONTEXTS", "MORE", "NODES", "NO_BODY", "RUNBOOKS", "SOURCES", "Accept", "Call", "Parameters", "Reply",
    "Report",
]  # fmt: skip

Accept = Literal["json", "table", "metadata", "names", "text", "discovery"]
"""The representations a script may ask for; the host maps each to a fixed Accept header. `names` is metadata that the
SDK looks up itself, for an error or a count; the script is not told when more exists."""

NO_BODY: Final = protocol.NULL
RUNBOOKS: Final = ("kubescript", "runbooks")
"""The path of the server's own runbooks, which is none of an API server. GET lists them; POST to a name below it runs
that one, with its arguments as the body."""
CONTEXTS: Final = ("kubescript", "contexts")
"""The path of the clusters that the script may name now, which is none of an API server; the query has a
`labelSelector` or a `group`."""
SOURCES: Final = ("kubescript", "sources")
"""The path of the sources of metrics, alerts, logs and traces, which is none of an API server. GET to a source's name
and an operation's below it asks that source; the query has the operation's arguments."""
NODES: Final = ("kubescript", "nodes")
"""The path of the kubelets, which is none of an API server. GET to a node's name and `logs` or `summary` below it reads
that; the query of logs has `query`, a service's name, and `tail`, a number of lines."""
MORE: Final = "*"
"""The last of the clusters' names where the host must be asked for further ones."""


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One Kubernetes API request, in parts. The host builds the URL; no header can be named here."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: tuple[str, ...]
    """Unquoted segments: ("api", "v1", "namespaces", "default", "pods")."""
    query: tuple[tuple[str, str], ...] = ()
    body: msgspec.Raw = NO_BODY
    """JSON text; NO_BODY for none. (msgspec cannot decode Raw in a union, so None is not possible.)"""
    content_type: Literal["json", "json-patch", "merge-patch", "strategic-merge-patch", "apply-patch"] = "json"
    context: str = ""
    """The cluster, by a name on the operator's list; "" for the default one. Any other name is refused."""
    accept: Accept = "json"
    stream: bool = False
    """Whether to send each piece of the body only when MORE asks for it: a script may stop a watch after any event."""


BATCH: Final = protocol.Batch[Call]
"""Several calls. Made once: two threads that decode into a new type at the same time can crash msgspec 0.22."""


class Reply(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Status and headers of an answer. With a `fault` the body is not worth reading; BODY frames and END follow either
    way."""

    status: int
    """HTTP status; 0 when no API server answered (see `fault`)."""
    reason: str = ""
    content_type: str = ""
    headers: dict[str, str] = {}
    fault: protocol.ScriptFault | None = None
    metadata_rule: str = ""
    """The rule that reduces the objects to metadata, such as `core/Secret`; empty when they are not reduced so far."""
    planned: bool = False
    """Whether the request was only a dry run (dryRun=All) and was added to a plan."""


class Parameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a script runs."""

    namespace: str
    context: str
    contexts: tuple[str, ...] = ()
    """The clusters that a call may name, the default first; `MORE` last where there may be others."""
    namespaces: tuple[str, ...] = ()
    """The patterns of the only namespaces that a call may name; none: any namespace."""
    sources: dict[str, str] = {}
    """The names of the sources that a call may name, and the kind of each: `prometheus`, `alertmanager`, `loki` or
    `tempo`."""
    variables: dict[str, str | int | bool] = {}
    """Further global names and their values: the arguments of a runbook."""


class Report(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A worker's report at the end of its script; the host cannot verify it."""

    saw_masks: bool = False
    """Whether the script received a string with a masked value."""
    joined_lists: bool = False
    """Whether the script received a list over all namespaces that has only the permitted ones."""


# Two threads that decode into a type simultaneously for the first time can crash msgspec 0.22, so each type is used
# once here.
for _type in (Call, BATCH, Reply, Parameters, Report):
    msgspec.json.Decoder(_type)
