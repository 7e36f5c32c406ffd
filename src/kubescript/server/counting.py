"""Counts what the SDK keeps of a caller: of a session the message that began it, and all of a request until its answer
has left, whether the connection still lives or not. `served` puts it before every message; over stdio nothing is
counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Mapping
from typing import Any, Final

import mcp_types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError

from kubescript import errors
from kubescript.server import notices
from kubescript.transports import retained, scope_keys

__all__ = ["count"]

_COUNTED: Final = "kubescript.counted"


async def count(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answers within the caller's budget. Raises MCPError where there is no room."""
    if ctx.request is None or ctx.request_id is None:  # nothing is kept of a notification
        return await call_next(ctx)
    part: retained.Part | None = ctx.request.scope.get(scope_keys.PART)
    if part is None:
        return await call_next(ctx)
    held = contextlib.ExitStack()
    # Attack: a stream that is read slowly. The task that serves a request keeps all of it, and its answer, for as long
    # as answers before it wait for their client: 1,440 MiB in four minutes.
    task = asyncio.current_task()
    assert task is not None
    task.add_done_callback(lambda _: held.close())
    try:
        held.enter_context(part.budget.holding(part.size))
        if ctx.method == "initialize":
            _check_beginning(ctx, part)
        _keep(ctx, part)
        session = notices.connection_of(ctx).session_id
        held.enter_context(part.using(session))
        part.replace(session)
        result = await call_next(ctx)
        held.enter_context(part.budget.holding(_measure(result)))
    except errors.Busy as error:
        raise MCPError(mcp_types.INTERNAL_ERROR, error.message) from None
    return result


def _measure(result: HandlerResult) -> int:
    """Returns the bytes of an answer's texts; all else of it is small."""
    if not isinstance(result, Mapping):
        return 0
    texts = [block.get("text") for block in result.get("content") or ()]
    size = sum(map(sys.getsizeof, texts))
    return 2 * size if result.get("structuredContent") else size


def _check_beginning(ctx: ServerRequestContext[Any, Any], part: retained.Part) -> None:
    """Raises MCPError where a session cannot begin."""
    if part.length > retained.MAX_INITIALIZE:
        raise MCPError(mcp_types.INVALID_REQUEST, retained.LONG_INITIALIZE)
    # A second `initialize` would be kept beside the first, and would be dropped while the session is in use.
    if _COUNTED in notices.connection_of(ctx).state:
        raise MCPError(mcp_types.INVALID_REQUEST, "the session has begun already")


def _keep(ctx: ServerRequestContext[Any, Any], part: retained.Part) -> None:
    """Counts the message that begins a session until the session ends. Raises Busy."""
    connection = notices.connection_of(ctx)
    if _COUNTED not in connection.state:
        connection.exit_stack.enter_context(part.keeping(connection.session_id))
        connection.state[_COUNTED] = True
