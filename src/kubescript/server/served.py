"""The MCP server: toolsets become tools, resources and prompts, answers become MCP results. `tenant` makes one.

It stands on the SDK's low-level server, which validates no arguments and passes the texts of exceptions to the client.
So arguments are validated here, and no exception of ours leaves a handler.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import hashlib
import logging
import threading
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import anyio.to_thread
import mcp_types
from mcp.server import models
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import server as lowlevel
from mcp.shared import jsonrpc_dispatcher
from mcp.shared.exceptions import MCPError

import kubescript
from kubescript import errors, heartbeat, logs, types
from kubescript.auth import user
from kubescript.changes.ask import elicitation
from kubescript.cluster import acting
from kubescript.commands import given
from kubescript.output import sanitizing
from kubescript.server import counting, notices, offering
from kubescript.telemetry import evaluation
from kubescript.toolsets import base
from kubescript.transports import scope_keys

if TYPE_CHECKING:
    import jsonschema

__all__ = ["Served"]

log = logging.getLogger(__name__)

_T = TypeVar("_T")

_MAX_TOKEN: Final = 1_024
"""Characters of a progress token. A client that sends a longer one gets no progress."""
_UNTRUSTED_META: Final = "kubescript/untrusted"
"""In a result's `_meta`: the text holds text of the cluster, which is fenced."""
_WARM_UP_DELAY_S: Final = 0.05
_PROCESS_SESSION: Final = uuid.uuid4().hex[:16]
"""The session of the client over stdio."""
_WITHOUT_SESSIONS: Final = "2026-07-28"
"""The protocol version since which no client over HTTP has a session."""

_MAX_ARGUMENT_ERROR: Final = 300
_QUOTED_VALUE: Final = 100


class Served:
    """One caller's MCP server. What it offers can be replaced while clients are connected. One event loop uses it."""

    def __init__(self, offer: offering.Offer, user: str = "") -> None:
        """`user` is the caller's name, where it is proven."""
        self._lease = _Lease(offer)
        self._user = user
        self._notices = notices.Notices()
        self.mcp: lowlevel.Server[Any] = _Server(
            "kubescript",
            version=kubescript.__version__,
            instructions=offer.instructions,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        """For clients whose connections last."""
        self._notices.register(self.mcp)
        self._register(offer)
        self.mcp.middleware.append(counting.count)
        self.mcp.middleware.append(_with_token)
        self.mcp.middleware.append(_with_headers)
        self.mcp.middleware.append(_without_texts_of_exceptions)
        self.mcp.middleware.append(_WarmUpMiddleware(self._warm_up))
        self.mcp.middleware.append(elicitation.state_guard(self.mcp.name))
        self.stateless = _silent(self.mcp)
        """For those of the handshake era without sessions: no notification would reach them."""

    async def replace(self, offer: offering.Offer) -> None:
        """Offers something else from now on. Calls that run end under what was offered when they began."""
        before = self._lease
        if before.has_ended:  # the caller has left
            await _Lease(offer).end()
            return
        if before.offer.asker is not None and offer.asker is not None:
            offer = replace(offer, asker=offer.asker.following(before.offer.asker))
        self._lease = _Lease(offer)
        for server in (self.mcp, self.stateless):
            server.instructions = offer.instructions
        self._register(offer)
        threading.Thread(target=_run_warm_up, args=(offer.warm_up,), daemon=True).start()
        await before.end()
        # Tools are announced in any case: what they do may have changed where their definitions have not.
        await self._notices.tell(["tools", *offer.other_lists(before.offer)])

    async def close(self) -> None:
        """Ends the streams of changes, and what is offered after the last call."""
        self.hang_up()
        await self._lease.end()

    def hang_up(self) -> None:
        """Ends the streams of changes."""
        self._notices.hang_up()

    def _warm_up(self) -> None:
        self._lease.offer.warm_up()

    def _register(self, offer: offering.Offer) -> None:
        """Adds the handlers of what some toolset has. What none has gets no handlers, so that the server does not
        announce the capability."""
        handlers: dict[str, tuple[type[Any], offering.Handler]] = {}
        if offer.pages:
            handlers |= offering.pages_handlers(lambda: self._lease.offer)
        if offer.prompts:
            caller = functools.partial(_caller, user=self._user)
            handlers |= offering.prompts_handlers(lambda: self._lease.offer, caller)
        for method, (parameters, handler) in handlers.items():
            self.mcp.add_request_handler(method, parameters, handler)

    async def _list_tools(self, _ctx: Any, _params: Any) -> mcp_types.ListToolsResult:
        tools = [tool.definition for tool in self._lease.offer.tools.values()]
        return mcp_types.ListToolsResult(tools=tools)

    async def _call_tool(
        self, ctx: Any, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        async with self._lease.hold() as offer:
            tool = offer.tools.get(params.name)
            if tool is None:
                raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown tool: {params.name[: offering.MAX_ECHO]}")
            # Some clients send every argument that a schema names.
            given = params.arguments or {}
            arguments = {name: value for name, value in given.items() if value is not None}
            answer = await self._answer(offer, ctx, params, tool, arguments)
            if isinstance(answer, mcp_types.InputRequiredResult):
                await self._notices.log_plan(ctx, params.name)
                return answer
            await self._notices.log_answer(ctx, params.name, answer)
            return _result(tool.word(arguments, answer))

    async def _answer(
        self,
        offer: offering.Offer,
        ctx: Any,
        params: mcp_types.CallToolRequestParams,
        tool: base.Tool,
        arguments: Mapping[str, Any],
    ) -> types.Answer | mcp_types.InputRequiredResult:
        problem = _argument_errors(offer.validator(params.name), arguments)
        if problem:
            return types.Answer(sanitizing.clean(problem), is_error=True, code="request.arguments")
        caller = _caller(ctx, params.name, self._user)
        run = functools.partial(_call, tool, arguments, caller)
        with logs.about(user=self._user, session=caller.session, trace=evaluation.trace_id()):
            if offer.asker is None:
                return await _reporting(ctx, offer.heartbeat_s, run)
            settle = functools.partial(_with_plan, run, offer.asker, ctx, params, caller)
            return await _reporting(ctx, offer.heartbeat_s, settle)


class _Lease:
    """An offer, and how many calls use it."""

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
    """The SDK's server, which over streamable HTTP announces no change of a list by itself."""

    tells = True

    def create_initialization_options(
        self,
        notification_options: lowlevel.NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> models.InitializationOptions:
        """Returns what clients are told at their start."""
        tells = notification_options or lowlevel.NotificationOptions(self.tells, self.tells, self.tells)
        return super().create_initialization_options(tells, experimental_capabilities, extensions)


def _silent(server: lowlevel.Server[Any]) -> lowlevel.Server[Any]:
    """Returns the same server for clients that are told of no change."""
    silent: Any = copy.copy(server)
    silent.tells = False
    found: lowlevel.Server[Any] = silent
    return found


async def _with_token(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answers with the token of this very request at hand, for clusters that are asked with it."""
    credential: user.Credential | None = None
    if ctx.request is not None:
        credential = ctx.request.scope.get(scope_keys.CREDENTIAL)
    if credential is None:
        return await call_next(ctx)
    with acting.using(credential.valid_token):
        return await call_next(ctx)


async def _with_headers(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answers with the headers of this very request at hand, for command lines that need its credentials."""
    # The message of a stream has a request of its own, and not the one with which its session began.
    headers = ctx.request.headers.raw if ctx.request is not None else ()
    with given.using(headers):
        return await call_next(ctx)


async def _without_texts_of_exceptions(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answers -32603 where we have a bug. The SDK would send code 0 and the exception's text: it may hold anything."""
    try:
        return await call_next(ctx)
    except Exception as error:
        found = jsonrpc_dispatcher.handler_exception_to_error_data(error)
        if found is not None:  # the client's mistake
            if isinstance(found.data, str):  # the unknown method's name
                raise MCPError(found.code, found.message, found.data[: offering.MAX_ECHO]) from None
            raise
        log.exception("%s failed", ctx.method)
        raise MCPError(mcp_types.INTERNAL_ERROR, "Internal error: kubescript failed; see its log") from None


class _WarmUpMiddleware:
    """Starts what calls will need once the first client has the answer to its first request."""

    def __init__(self, warm_up: Callable[[], None]) -> None:
        self._warm_up: Callable[[], None] | None = warm_up

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        warm_up, self._warm_up = self._warm_up, None
        if warm_up is not None:
            timer = threading.Timer(_WARM_UP_DELAY_S, _run_warm_up, (warm_up,))
            timer.start()
        return result


def _run_warm_up(warm_up: Callable[[], None]) -> None:
    try:
        import jsonschema  # noqa: F401 - so that the first call finds it loaded

        warm_up()
    except errors.KubescriptError as error:
        log.warning("warm-up failed: %s", error.message, extra={"code": error.code, "remedy": error.remedy})


async def _call(
    tool: base.Tool,
    arguments: Mapping[str, Any],
    caller: types.Caller,
    on_progress: types.OnProgress | None,
) -> types.Answer:
    """Runs one call; an exception of a handler becomes an answer without its text."""
    try:
        return await tool.handler(arguments, on_progress, caller)
    except Exception:
        # The log is for the operator. The client gets no text of the exception: it may hold anything.
        log.exception("tool %s failed", tool.definition.name)
        return types.Answer("error internal: kubescript failed; see its log", is_error=True, code="internal")


async def _with_plan(
    run: Callable[[types.OnProgress | None], Awaitable[types.Answer]],
    asker: elicitation.Asker,
    ctx: ServerRequestContext[Any, Any],
    params: mcp_types.CallToolRequestParams,
    caller: types.Caller,
    on_progress: types.OnProgress | None,
) -> types.Answer | mcp_types.InputRequiredResult:
    """Runs one call, and settles the plan that it leaves."""
    call = elicitation.Call(ctx, params, caller, on_progress)
    if params.request_state is not None:
        return await asker.resumed(call)
    answer = await run(on_progress)
    if answer.plan:
        return await asker.settle(call, answer)
    return await asker.with_news(answer, caller)


def _caller(ctx: ServerRequestContext[Any, Any], tool: str, user: str) -> types.Caller:
    """Returns the caller of a tool: `user`, and the client by the name it gives itself."""
    session_id, lasts = _session(ctx)
    params = ctx.session.client_params
    if params is None:
        return types.Caller(session_id, tool=tool, lasts=lasts, user=user)
    client = params.client_info
    return types.Caller(session_id, client.name, client.version, tool, lasts, user)


def _session(ctx: ServerRequestContext[Any, Any]) -> tuple[str, bool]:
    """Returns the session of a request, and whether its client's later requests are of the same one."""
    if ctx.request is None:
        return _PROCESS_SESSION, True
    stream = ctx.request.scope.get(scope_keys.SESSION)
    if stream is not None:
        return stream, True
    handle = ctx.request.headers.get("mcp-session-id", "")
    # Attack: a client without a session that sends such a header, which the SDK has not verified then.
    if handle and ctx.protocol_version < _WITHOUT_SESSIONS:
        # The id of a session lets its holder join the session, so only a hash of it is passed on.
        return hashlib.sha256(handle.encode()).hexdigest()[:16], True
    return uuid.uuid4().hex[:16], False


def _argument_errors(validator: jsonschema.Draft202012Validator, arguments: Mapping[str, Any]) -> str:
    """Returns what is wrong with the arguments, naming each; empty when nothing is."""
    # In the order of the arguments, so that the same mistakes give the same text.
    found = sorted(validator.iter_errors(arguments), key=_error_path)
    return "; ".join(map(_describe, found))


def _error_path(error: Any) -> list[Any]:
    return list(error.absolute_path)


def _describe(error: Any) -> str:
    message: str = error.message
    if len(message) > _MAX_ARGUMENT_ERROR:
        # It begins with the value and ends with what is wrong with it.
        beginning, end = message[:_QUOTED_VALUE], message[_QUOTED_VALUE - _MAX_ARGUMENT_ERROR :]
        message = f"{beginning}\N{HORIZONTAL ELLIPSIS}{end}"
    path = _error_path(error)
    if not path:
        return message
    return f"argument `{path[0]}`: {message}"


def _result(answer: types.Answer) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(type="text", text=answer.text)],
        structured_content=answer.structured,
        is_error=answer.is_error,
        _meta=_meta(answer) or None,
    )


def _meta(answer: types.Answer) -> dict[str, Any]:
    meta = dict(answer.meta or {})
    if answer.untrusted:
        meta[_UNTRUSTED_META] = True
    return meta


async def _reporting(
    ctx: ServerRequestContext[Any, Any],
    heartbeat_s: float,
    call: Callable[[types.OnProgress | None], Awaitable[_T]],
) -> _T:
    """Runs one call, with progress notifications if the client asked for them."""
    token = None if ctx.meta is None else ctx.meta.get("progress_token")
    # Attack: a token of two megabytes, which each notification would repeat.
    if token is None or len(str(token)) > _MAX_TOKEN:
        return await call(None)
    signs = heartbeat.Heartbeat(ctx.session.report_progress, heartbeat_s)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(signs.beat)
        answer = await call(signs.report)
        tasks.cancel_scope.cancel()
    return answer
