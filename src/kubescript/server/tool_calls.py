"""One tool call: its caller, mistakes in its arguments, its progress, its plan, and its result."""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import mcp_types

from kubescript import heartbeat, types
from kubescript.changes.ask import elicitation, outcome, question
from kubescript.server import notices
from kubescript.toolsets import base
from kubescript.transports import scope_keys

if TYPE_CHECKING:
    import jsonschema

__all__ = ["find_caller", "find_mistakes", "report", "run", "run_with_plan", "write_result"]

log = logging.getLogger(__name__)

_T = TypeVar("_T")

_MAX_TOKEN: Final = 1_024
"""How many characters a progress token may have. A client that sends a longer one gets no progress."""
_UNTRUSTED_META: Final = "kubescript/untrusted"
"""The key in a result's `_meta` that means: the text contains fenced text from the cluster."""
_PROCESS_SESSION: Final = uuid.uuid4().hex[:16]
"""The session of the client over stdio."""
_WITHOUT_SESSIONS: Final = "2026-07-28"
"""The protocol version since which no HTTP client has a session."""

_MAX_ARGUMENT_ERROR: Final = 300
"""How many characters an error about an argument, which quotes the argument's value, may have."""
_QUOTED_VALUE: Final = 100
"""How many characters of the value's beginning are kept if the error is longer."""


async def run(
    tool: base.Tool,
    arguments: Mapping[str, Any],
    caller: types.Caller,
    on_progress: types.OnProgress | None,
) -> types.Answer:
    """Runs one call; an exception of a handler becomes an answer without its text."""
    try:
        return await tool.handler(arguments, on_progress, caller)
    except Exception:
        # The log is for the operator. The client gets no text of the exception, which may contain anything.
        log.exception("tool %s failed", tool.definition.name)
        return types.Answer("error internal: kubescript failed; see its log", is_error=True, code="internal")


async def run_with_plan(
    tool: base.Tool, arguments: Mapping[str, Any], asker: elicitation.Asker, call: question.Call
) -> types.Answer | mcp_types.InputRequiredResult:
    """Runs one call, and settles the plan that it creates."""
    # A client of 2026-07-28 sends the call again with a person's answer. The script has run, and does not run a second
    # time.
    if call.params.request_state is not None:
        return await asker.resume(call)
    problems = await asker.apply_ready(call)
    answer = await run(tool, arguments, call.caller, call.on_progress)
    if problems:
        answer = outcome.add_words(answer, problems)
    if answer.plan:
        return await asker.settle(call, answer)
    return await asker.news.add(answer, call.caller)


def find_caller(ctx: notices.Context, tool: str, proven: types.Caller) -> types.Caller:
    """Returns the caller of a tool: who is `proven`, and the client by the name that it gives itself."""
    session_id, lasts = _find_session(ctx)
    params = ctx.session.client_params
    client, version = proven.client, proven.version
    if params is not None:
        client, version = params.client_info.name, params.client_info.version
    return replace(proven, session=session_id, tool=tool, lasts=lasts, client=client, version=version)


def _find_session(ctx: notices.Context) -> tuple[str, bool]:
    """Returns the session of a request, and whether the client's later requests share it."""
    if ctx.request is None:
        return _PROCESS_SESSION, True
    stream = ctx.request.scope.get(scope_keys.SESSION)
    if stream is not None:
        return stream, True
    handle = ctx.request.headers.get("mcp-session-id", "")
    # Attack: a client without a session sends such a header, which the SDK has not verified.
    if handle and ctx.protocol_version < _WITHOUT_SESSIONS:
        # The id of a session is enough to join it, so only a hash of it is passed on.
        digest = hashlib.sha256(handle.encode()).hexdigest()
        return digest[:16], True
    return uuid.uuid4().hex[:16], False


def find_mistakes(validator: jsonschema.Draft202012Validator, arguments: Mapping[str, Any]) -> str:
    """Returns the mistakes in the arguments; empty if there are none."""
    # Ordered by argument, so that the same mistakes give the same text.
    found = sorted(validator.iter_errors(arguments), key=_error_path)
    return "; ".join(map(_describe, found))


def _error_path(error: Any) -> list[Any]:
    return list(error.absolute_path)


def _describe(error: Any) -> str:
    message: str = error.message
    if len(message) > _MAX_ARGUMENT_ERROR:
        # The message begins with the value and ends with the mistake.
        beginning = message[:_QUOTED_VALUE]
        end = message[_QUOTED_VALUE - _MAX_ARGUMENT_ERROR :]
        message = f"{beginning}\N{HORIZONTAL ELLIPSIS}{end}"
    path = _error_path(error)
    if not path:
        return message
    return f"argument `{path[0]}`: {message}"


def write_result(answer: types.Answer) -> mcp_types.CallToolResult:
    """Returns the answer in MCP's format."""
    content = mcp_types.TextContent(type="text", text=answer.text)
    meta = dict(answer.meta or {})
    if answer.untrusted:
        meta[_UNTRUSTED_META] = True
    return mcp_types.CallToolResult(
        content=[content],
        structured_content=answer.structured,
        is_error=answer.is_error,
        _meta=meta or None,
    )


async def report(
    ctx: notices.Context, heartbeat_s: float, call: Callable[[types.OnProgress | None], Awaitable[_T]]
) -> _T:
    """Runs one call, with progress notifications if the client asked for them."""
    token = None if ctx.meta is None else ctx.meta.get("progress_token")
    # Attack: a client sends a token of two megabytes, which each notification would repeat.
    if token is None or len(str(token)) > _MAX_TOKEN:
        return await call(None)
    signs = heartbeat.Heartbeat(ctx.session.report_progress, heartbeat_s)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(signs.beat)
        answer = await call(signs.report)
        tasks.cancel_scope.cancel()
    return answer
