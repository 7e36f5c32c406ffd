"""Notifications that the server sends to clients: list changes, and log messages about their own calls.

Clients of the handshake era get changes on their connections; those of 2026-07-28 in streams that they request. A log
message is about the client's own call and contains no text from the cluster; a client gets none before it sets a level.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Mapping
from typing import Any, Final, get_args

import anyio
import mcp_types
from mcp.server import connection, subscriptions
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import server as lowlevel

from kubescript import types

__all__ = ["Context", "Notices", "connection_of"]

Context = ServerRequestContext[Any, Any]
"""The SDK's context of one message."""

_MODERN: Final = "2026-07-28"
"""The protocol version since which each request sets its own level."""
_LEVELS: Final[tuple[str, ...]] = get_args(mcp_types.LoggingLevel)
"""The levels, from the least important on."""
_LEVEL: Final = "kubescript.level"
_MOST_STREAMS: Final = 512
"""How many streams of changes one caller may have."""
_PATIENCE_S: Final = 5.0
"""Seconds within which a client must take a notification."""
_EVENTS: Final[Mapping[str, subscriptions.ServerEvent]] = {
    "tools": subscriptions.ToolsListChanged(),
    "prompts": subscriptions.PromptsListChanged(),
    "resources": subscriptions.ResourcesListChanged(),
}


class Notices:
    """The clients of one caller. Used by one event loop."""

    def __init__(self) -> None:
        self._connections: weakref.WeakSet[connection.Connection] = weakref.WeakSet()
        """Open connections of the handshake era."""
        self._bus = subscriptions.InMemorySubscriptionBus()
        self._streams = subscriptions.ListenHandler(self._bus, max_subscriptions=_MOST_STREAMS)

    def register(self, server: lowlevel.Server[Any]) -> None:
        """Makes the server track which client wants which notifications."""
        # If they were arguments of the server's class, two of these handlers would write a deprecation warning to
        # stderr.
        server.add_notification_handler("notifications/initialized", mcp_types.NotificationParams, self._add_connection)
        server.add_request_handler("logging/setLevel", mcp_types.SetLevelRequestParams, self._set_level)
        server.add_request_handler("subscriptions/listen", mcp_types.SubscriptionsListenRequestParams, self._streams)

    async def tell(self, changed: Collection[str]) -> None:
        """Notifies every client of the lists that have changed: `tools`, `prompts`, `resources`."""
        for name in changed:
            await self._bus.publish(_EVENTS[name])
        # All clients at once: one that does not read takes five seconds.
        async with anyio.create_task_group() as tasks:
            for each in list(self._connections):
                tasks.start_soon(_notify, each, changed)

    def hang_up(self) -> None:
        """Ends the streams of changes."""
        self._streams.close()

    async def log_answer(self, ctx: Context, tool: str, answer: types.Answer) -> None:
        """Sends log messages about a call."""
        for rule in answer.refused:
            await _log(ctx, "warning", tool, "the policy refused a request", rule=rule)
        if answer.is_error:
            await _log(ctx, "error", tool, "the call failed", code=answer.code)
        if answer.plan and not answer.applied:
            await self.log_plan(ctx, tool, answer.plan)
        if answer.cut:
            await _log(ctx, "notice", tool, "the answer was cut: a limit of the output was reached")
        wall_ms = round(answer.usage.wall_ms)
        await _log(ctx, "debug", tool, "the call is answered", wall_ms=wall_ms)

    async def log_plan(self, ctx: Context, tool: str, plan: str = "") -> None:
        """Sends a log message that a plan waits for a person."""
        more = {"plan": plan} if plan else {}
        await _log(ctx, "notice", tool, "changes wait for a person's approval", **more)

    async def _add_connection(self, ctx: Context, _params: object) -> None:
        client = connection_of(ctx)
        self._connections.add(client)

    async def _set_level(self, ctx: Context, params: mcp_types.SetLevelRequestParams) -> mcp_types.EmptyResult:
        connection_of(ctx).state[_LEVEL] = params.level
        return mcp_types.EmptyResult()


def connection_of(ctx: Context) -> connection.Connection:
    """Returns the connection of a request."""
    # The SDK gives no other access to an object that exists as long as the connection; a session lasts as long as a
    # request.
    return ctx.session._connection


async def _notify(client: connection.Connection, changed: Collection[str]) -> None:
    """Notifies one client of the lists that have changed."""
    with anyio.move_on_after(_PATIENCE_S):
        for name in changed:
            method = f"notifications/{name}/list_changed"
            await client.notify(method, None)


async def _log(ctx: Context, level: mcp_types.LoggingLevel, tool: str, message: str, **more: object) -> None:
    """Sends a log message about a tool's call, if the client has asked for messages of this level."""
    if ctx.protocol_version >= _MODERN:
        meta = ctx.meta or {}
        wanted = meta.get(mcp_types.LOG_LEVEL_META_KEY)
    else:
        wanted = connection_of(ctx).state.get(_LEVEL)
    if wanted not in _LEVELS or _LEVELS.index(level) < _LEVELS.index(wanted):
        return
    data = {"tool": tool, "message": message, **more}
    params = mcp_types.LoggingMessageNotificationParams(level=level, logger="kubescript", data=data)
    notification = mcp_types.LoggingMessageNotification(params=params)
    await ctx.session.send_notification(notification, ctx.request_id)
