"""Small frozen values that are passed between the host's packages. They have no behaviour beyond their fields."""

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
    """An API server's answer, whose body is still arriving.

    `chunks` yields the body's bytes in order and raises `ClusterError` if the body is cut short; `close` may be called
    at any time, from any thread, more than once, and ends a pending read.
    """

    status: int
    reason: str
    content_type: str
    chunks: Iterator[bytes]
    close: Callable[[], None]
    headers: Mapping[str, str] = field(default_factory=dict)
    """Lower-case names; only those a script may see (`retry-after`, `warning`, `audit-id`)."""
    gzip: bool = False
    """Whether `chunks` are still compressed."""
    date: str = ""
    """The cluster's clock at the time of its answer, in HTTP's format."""


OnCall = Callable[[exchanges.Call, float], tuple[exchanges.Reply, Response | None]]
"""Answers one call of a script within the given number of seconds: the head, and the body if there is one. Never
raises. Several threads call it at once."""

Job = conversation.Job[exchanges.Parameters, OnCall]
"""One script or command line, and everything that it may use."""


OnProgress = Callable[[float, float | None, str], Coroutine[None, None, None]]
"""Reports progress to the client: done, total, text."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The requester of a script. The client's statements about itself are not verified."""

    session: str = ""
    """Identifies one connection of one client; another client cannot use it to join that connection."""
    client: str = ""
    version: str = ""
    tool: str = ""
    """The MCP tool that was called; empty where a person runs a command."""
    lasts: bool = True
    """Whether the client's later calls have the same session. Over HTTP a client may have no session; then each call
    counts as one."""
    user: str = ""
    """The user's name, if authenticated."""
    issuer: str = ""
    """Who vouched for the user. The same name from another issuer is another user."""
    subject: str = ""
    """The issuer's own name for the user."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the MCP client: text, and whether it is an error."""

    text: str
    is_error: bool = False
    code: str = ""
    usage: runs.Usage = field(default_factory=runs.Usage)
    """Resources that the script used."""
    cut: bool = False
    """Whether the answer was cut at a limit."""
    untrusted: bool = False
    """Whether `text` contains a part that is marked as text from the cluster."""
    structured: Mapping[str, Any] | None = None
    """The answer as data, for clients that are configured to get it."""
    meta: Mapping[str, Any] | None = None
    """Additional entries of the result's `_meta`."""
    plan: str = ""
    """Id of the plan that waits for approval."""
    applied: bool = False
    """Whether the call's plan was approved and applied."""
    refused: tuple[str, ...] = ()
    """Codes of the rules by which the policy refused calls to a cluster, each once."""
