"""The MCP server: toolsets become tools, resources and prompts, answers become MCP results. `tenant` makes one.

It uses the SDK's low-level server, which validates no arguments and passes the texts of exceptions to the client.
Arguments are therefore validated here, and none of our exceptions leaves a handler.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import Any

import anyio
import anyio.to_thread
import mcp_types
from mcp.server import models
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import server as lowlevel
from mcp.shared.exceptions import MCPError

import kubescript
from kubescript import errors, logs, types
from kubescript.changes.ask import question
from kubescript.commands import request_credentials
from kubescript.output import sanitizing
from kubescript.server import middleware, notices, offering, tool_calls
from kubescript.telemetry import evaluation
from kubescript.toolsets import base

__all__ = ["Served"]

log = logging.getLogger(__name__)


class Served:
    """One caller's MCP server. What it offers can be replaced while clients are connected. Used by one event loop."""

    def __init__(self, offer: offering.Offer, proven: types.Caller) -> None:
        """`proven` is who the caller is, if authenticated."""
        self._lease = _Lease(offer)
        self._proven = proven
        self._notices = notices.Notices()
        self.mcp: lowlevel.Server[Any] = _Server(
            "kubescript",
            version=kubescript.__version__,
            instructions=offer.instructions,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        """The server for clients whose connections last."""
        self._notices.register(self.mcp)
        self._register(offer)
        self.mcp.middleware += [
            middleware.count,
            middleware.with_token,
            middleware.with_headers,
            self._with_context,
            middleware.hide_exceptions,
            middleware.WarmUp(self._warm_up),
        ]
        self.stateless = _silent(self.mcp)
        """The server for clients of the handshake era without sessions, which no notification would reach."""

    async def replace(self, offer: offering.Offer) -> None:
        """Offers something else from now on. Running calls finish under the offer they began with."""
        before = self._lease
        if before.has_ended:  # the caller has left
            await _Lease(offer).end()
            return
        if before.offer.asker is not None and offer.asker is not None:
            asker = offer.asker.following(before.offer.asker)
            offer = replace(offer, asker=asker)
        self._lease = _Lease(offer)
        self.mcp.instructions = offer.instructions
        self.stateless.instructions = offer.instructions
        self._register(offer)
        warm_up = threading.Thread(target=middleware.run_warm_up, args=(offer.warm_up,), daemon=True)
        warm_up.start()
        await before.end()
        # Tools are always announced: their behaviour may have changed even if their definitions have not.
        await self._notices.tell(["tools", *offer.other_lists(before.offer)])

    async def close(self) -> None:
        """Ends the streams of changes, and closes the offer after the last call."""
        self.hang_up()
        await self._lease.end()

    def hang_up(self) -> None:
        """Ends the streams of changes."""
        self._notices.hang_up()

    def _warm_up(self) -> None:
        self._lease.offer.warm_up()

    def _register(self, offer: offering.Offer) -> None:
        """Adds the handlers for pages and prompts if any toolset has them. Otherwise there are none, so that the server
        does not announce the capability."""
        handlers: dict[str, tuple[type[Any], offering.Handler]] = {}
        if offer.pages:
            handlers |= offering.pages_handlers(lambda: self._lease.offer)
        if offer.prompts:
            handlers |= offering.prompts_handlers(lambda: self._lease.offer, self._find_caller)
        for method, (parameters, handler) in handlers.items():
            self.mcp.add_request_handler(method, parameters, handler)

    def _find_caller(self, ctx: Any, tool: str) -> types.Caller:
        return tool_calls.find_caller(ctx, tool, self._proven)

    async def _with_context(self, ctx: Any, call_next: CallNext) -> HandlerResult:
        """Answers with the context that the request's header chooses as the default. Raises MCPError for one that the
        caller may not use."""
        with contextlib.ExitStack() as chosen:
            try:
                name = request_credentials.choice_of_context()
                if name:
                    chosen.enter_context(self._lease.offer.choosing(name))
            except (errors.AuthError, errors.RequestError) as error:
                raise MCPError(mcp_types.INVALID_REQUEST, error.message) from None
            return await call_next(ctx)

    async def _list_tools(self, _ctx: Any, _params: Any) -> mcp_types.ListToolsResult:
        tools = offering.list_definitions(self._lease.offer.tools)
        return mcp_types.ListToolsResult(tools=tools)

    async def _call_tool(
        self, ctx: Any, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        async with self._lease.hold() as offer:
            tool = offer.tools.get(params.name)
            if tool is None:
                name = params.name[: offering.MAX_ECHO]
                raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown tool: {name}")
            given = params.arguments or {}
            # Some clients send every argument that a schema names.
            arguments = {name: value for name, value in given.items() if value is not None}
            answer = await self._answer(offer, ctx, params, tool, arguments)
            if isinstance(answer, mcp_types.InputRequiredResult):
                await self._notices.log_plan(ctx, params.name)
                return answer
            await self._notices.log_answer(ctx, params.name, answer)
            worded = tool.word(arguments, answer)
            return tool_calls.write_result(worded)

    async def _answer(
        self,
        offer: offering.Offer,
        ctx: Any,
        params: mcp_types.CallToolRequestParams,
        tool: base.Tool,
        arguments: Mapping[str, Any],
    ) -> types.Answer | mcp_types.InputRequiredResult:
        validator = offer.validator(params.name)
        problem = tool_calls.find_mistakes(validator, arguments)
        if problem:
            text = sanitizing.clean(problem)
            return types.Answer(text, is_error=True, code="request.arguments")
        caller = self._find_caller(ctx, params.name)
        asker = offer.asker

        async def run(on_progress: types.OnProgress | None) -> types.Answer | mcp_types.InputRequiredResult:
            if asker is None:
                return await tool_calls.run(tool, arguments, caller, on_progress)
            call = question.Call(ctx, params, caller, on_progress)
            return await tool_calls.run_with_plan(tool, arguments, asker, call)

        with logs.about(caller, evaluation.trace_id()):
            return await tool_calls.report(ctx, offer.heartbeat_s, run)


class _Lease:
    """An offer, and the number of calls that use it."""

    def __init__(self, offer: offering.Offer) -> None:
        self.offer = offer
        self.has_ended = False
        self._calls = 0

    @contextlib.asynccontextmanager
    async def hold(self) -> AsyncIterator[offering.Offer]:
        """Keeps the offer open inside the block."""
        self._calls += 1
        try:
            yield self.offer
        finally:
            self._calls -= 1
            if self.has_ended:
                await self.end()

    async def end(self) -> None:
        """Closes the offer after the last call."""
        self.has_ended = True
        if self._calls:
            return
        with anyio.CancelScope(shield=True):
            try:
                await anyio.to_thread.run_sync(self.offer.close)
            except Exception:  # other callers are still served
                log.exception("what a caller was offered could not be closed")


class _Server(lowlevel.Server[Any]):
    """The SDK's server, which over streamable HTTP does not announce list changes by default."""

    tells = True

    def create_initialization_options(
        self,
        notification_options: lowlevel.NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> models.InitializationOptions:
        """Returns the options that clients get when they connect."""
        options = notification_options
        if options is None:
            options = lowlevel.NotificationOptions(self.tells, self.tells, self.tells)
        return super().create_initialization_options(options, experimental_capabilities, extensions)


def _silent(server: lowlevel.Server[Any]) -> lowlevel.Server[Any]:
    """Returns the same server for clients that get no notifications of changes."""
    # The copy shares the handlers, and so those that a later offer adds.
    silent: Any = copy.copy(server)
    silent.tells = False
    found: lowlevel.Server[Any] = silent
    return found
