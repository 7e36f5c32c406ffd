"""Middleware for every message before `served` handles it: the message counts against its caller's budget, its own
credentials are made available, and none of our exceptions reaches the client.

The SDK keeps the first message of each session, and each request until its answer has been sent, even if the connection
is gone; `count` counts both. Over stdio nothing is counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Final

import mcp_types
from mcp.server.context import CallNext, HandlerResult
from mcp.shared import jsonrpc_dispatcher
from mcp.shared.exceptions import MCPError

from kubescript import errors
from kubescript.auth import user
from kubescript.cluster import acting
from kubescript.commands import request_credentials
from kubescript.server import json_schema, notices, offering
from kubescript.transports import retained, scope_keys

__all__ = ["WarmUp", "count", "hide_exceptions", "run_warm_up", "with_headers", "with_token"]

log = logging.getLogger(__name__)

_COUNTED: Final = "kubescript.counted"
_WARM_UP_DELAY_S: Final = 0.05
"""Seconds after the first answer, so that the warm-up does not compete with it for processor time."""


async def count(ctx: notices.Context, call_next: CallNext) -> HandlerResult:
    """Answers within the caller's budget. Raises MCPError when there is no room."""
    if ctx.request is None or ctx.request_id is None:  # nothing is kept of a notification
        return await call_next(ctx)
    part: retained.Part | None = ctx.request.scope.get(scope_keys.PART)
    if part is None:
        return await call_next(ctx)
    held = contextlib.ExitStack()
    # Attack: a client reads a stream slowly. The task that serves a request keeps all of it, and its answer, as long as
    # earlier answers wait for their client: 1,440 MiB in four minutes.
    task = asyncio.current_task()
    assert task is not None
    task.add_done_callback(lambda _: held.close())
    try:
        # The SDK keeps a request until its answer has been sent, even if the connection is gone.
        held.enter_context(part.budget.holding(part.size))
        if ctx.method == "initialize":
            _check_beginning(ctx, part)
        _keep(ctx, part)
        session = notices.connection_of(ctx).session_id
        held.enter_context(part.using(session))
        part.replace(session)
        result = await call_next(ctx)
        size = _measure(result)
        held.enter_context(part.budget.holding(size))
    except errors.Busy as error:
        raise MCPError(mcp_types.INTERNAL_ERROR, error.message) from None
    return result


def _measure(result: HandlerResult) -> int:
    """Returns the bytes of an answer's texts; the rest is small."""
    if not isinstance(result, Mapping):
        return 0
    content = result.get("content") or ()
    texts = [block.get("text") for block in content]
    size = sum(map(sys.getsizeof, texts))
    # Structured content repeats the texts as data.
    if result.get("structuredContent"):
        size *= 2
    return size


def _check_beginning(ctx: notices.Context, part: retained.Part) -> None:
    """Raises MCPError if a session cannot begin."""
    if part.length > retained.MAX_INITIALIZE:
        raise MCPError(mcp_types.INVALID_REQUEST, retained.LONG_INITIALIZE)
    # A second `initialize` would be kept in addition to the first, and would be dropped while the session is in use.
    state = notices.connection_of(ctx).state
    if _COUNTED in state:
        raise MCPError(mcp_types.INVALID_REQUEST, "the session has begun already")


def _keep(ctx: notices.Context, part: retained.Part) -> None:
    """Counts a session's first message until the session ends. Raises Busy."""
    connection = notices.connection_of(ctx)
    if _COUNTED in connection.state:
        return
    kept = part.keeping(connection.session_id)
    connection.exit_stack.enter_context(kept)
    connection.state[_COUNTED] = True


async def with_token(ctx: notices.Context, call_next: CallNext) -> HandlerResult:
    """Answers with this request's own token available, for clusters that are called with it."""
    credential: user.Credential | None = None
    if ctx.request is not None:
        credential = ctx.request.scope.get(scope_keys.CREDENTIAL)
    if credential is None:
        return await call_next(ctx)
    with acting.using(credential.as_token()):
        return await call_next(ctx)


async def with_headers(ctx: notices.Context, call_next: CallNext) -> HandlerResult:
    """Answers with this request's own headers available, for command lines that need its credentials."""
    # A message on a stream has its own request, not the one that began its session.
    headers = ctx.request.headers.raw if ctx.request is not None else ()
    with request_credentials.using(headers):
        return await call_next(ctx)


async def hide_exceptions(ctx: notices.Context, call_next: CallNext) -> HandlerResult:
    """Answers with -32603 for our own bugs. The SDK would send code 0 and the exception's text, which may contain
    anything."""
    try:
        return await call_next(ctx)
    except Exception as error:
        found = jsonrpc_dispatcher.handler_exception_to_error_data(error)
        if found is not None:  # the client's mistake
            if isinstance(found.data, str):  # the unknown method's name
                name = found.data[: offering.MAX_ECHO]
                raise MCPError(found.code, found.message, name) from None
            raise
        log.exception("%s failed", ctx.method)
        raise MCPError(mcp_types.INTERNAL_ERROR, "Internal error: kubescript failed; see its log") from None


class WarmUp:
    """Middleware that starts the parts that calls will need, once the first client has the answer to its first
    request."""

    def __init__(self, warm_up: Callable[[], None]) -> None:
        self._warm_up: Callable[[], None] | None = warm_up

    async def __call__(self, ctx: notices.Context, call_next: CallNext) -> HandlerResult:
        """Answers, and schedules `warm_up` after the first answer."""
        result = await call_next(ctx)
        warm_up = self._warm_up
        self._warm_up = None
        if warm_up is not None:
            timer = threading.Timer(_WARM_UP_DELAY_S, run_warm_up, (warm_up,))
            timer.start()
        return result


def run_warm_up(warm_up: Callable[[], None]) -> None:
    """Calls `warm_up`; logs its failure."""
    try:
        json_schema.load()  # so that the first call finds it loaded
        warm_up()
    except errors.KubescriptError as error:
        log.warning("warm-up failed: %s", error.message, extra=error.log_fields)
