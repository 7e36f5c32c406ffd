"""Small frozen values that cross the host's rooms. No behaviour beyond what their fields say."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import conversation

__all__ = ["Answer", "Caller", "Job", "OnCall", "OnProgress", "Response"]


@dataclass(frozen=True, slots=True)
class Response:
    """An API server's answer, its body still arriving.

    `chunks` yields the body's bytes in order and raises `ClusterError` when it breaks off; `close` may be called at any
    time, from any thread, more than once, and ends a pending read.
    """

    status: int
    reason: str
    content_type: str
    chunks: Iterator[bytes]
    close: Callable[[], None]
    headers: Mapping[str, str] = field(default_factory=dict)
    """Lower-case names; only those a script may see (`retry-after`, `warning`, `audit-id`)."""
    gzip: bool = False
    """Whether `chunks` are compressed, as they came."""
    date: str = ""
    """The cluster's clock as it answered, as HTTP writes it."""


OnCall = Callable[[exchanges.Call, float], tuple[exchanges.Reply, Response | None]]
"""Answers one call of a script within so many seconds: the head, and the body when there is one. It never raises.
Several threads call it at once."""

Job = conversation.Job[exchanges.Parameters, OnCall]
"""One script or command line, and everything that it may use."""


OnProgress = Callable[[float, float | None, str], Coroutine[None, None, None]]
"""Reports progress to the client: done, total, text."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asked for a script. What the client says of itself is not proven."""

    session: str = ""
    """One connection of one client; no handle with which another client could join it."""
    client: str = ""
    version: str = ""
    tool: str = ""
    """The MCP tool that was called; empty where a person runs a command."""
    lasts: bool = True
    """Whether later calls of the same client have the same session. Over HTTP a client may have none; then each call is
    one."""
    user: str = ""
    """The user's name, where it is proven."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the MCP client gets: text, and whether it is an error."""

    text: str
    is_error: bool = False
    code: str = ""
    usage: runs.Usage = field(default_factory=runs.Usage)
    """What the script used."""
    cut: bool = False
    """Whether a limit of the answer was reached."""
    untrusted: bool = False
    """Whether `text` holds a part that is marked as text of the cluster."""
    structured: Mapping[str, Any] | None = None
    """The answer as data, for clients that are configured to get it."""
    meta: Mapping[str, Any] | None = None
    """What the result's `_meta` has besides."""
    plan: str = ""
    """Id of the plan that waits for approval."""
    applied: bool = False
    """Whether the call's plan was approved and applied."""
    refused: tuple[str, ...] = ()
    """Codes of the rules by which the policy refused what was asked of a cluster, each once."""
