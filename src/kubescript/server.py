"""The MCP server: toolsets become tools, resources and prompts, answers become MCP results. `app` builds it.

It stands on the SDK's low-level server, which validates no arguments and passes the texts of exceptions to the client.
So arguments are validated here, and no exception of ours leaves a handler.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import threading
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

import anyio
import mcp_types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import server as lowlevel
from mcp.shared import jsonrpc_dispatcher
from mcp.shared.exceptions import MCPError

import kubescript
from kubescript import errors, evaluator, heartbeat, logs, types
from kubescript.approvals import elicitation
from kubescript.output import sanitizing
from kubescript.telemetry import evaluation
from kubescript.toolsets import base
from kubescript.transports import scope

if TYPE_CHECKING:
    import jsonschema

__all__ = ["build"]

log = logging.getLogger(__name__)

_T = TypeVar("_T")
_Handler = Callable[[ServerRequestContext[Any, Any], Any], Awaitable[Any]]

_UNTRUSTED_META: Final = "kubescript/untrusted"
"""In a result's `_meta`: the text holds text of the cluster, which is fenced."""
_WARM_UP_DELAY_S: Final = 0.05
_PROCESS_SESSION: Final = uuid.uuid4().hex[:16]
"""The session of the client over stdio."""
_WITHOUT_SESSIONS: Final = "2026-07-28"
"""The protocol version since which no client over HTTP has a session."""

_NOT_FOUND: Final = -32002
"""The code for a resource that is not there, until protocol version 2025-11-25; since 2026-07-28 it is a wrong
parameter."""
_VERSION_WITHOUT_NOT_FOUND: Final = "2026-07-28"
_MAX_ARGUMENT: Final = 4_000
"""Characters of one argument of a prompt."""

_MAX_ARGUMENT_ERROR: Final = 300
_QUOTED_VALUE: Final = 100

_READ_ONLY: Final = "Read-only: no tool changes the cluster."
_SAVED: Final = "The cluster is a saved one: nothing in it moves, and ages count from now, not from when it was saved."
_NO_TOOLSET = (
    "No toolset is on, so this server offers no tool. Tell its operator: start it with --toolsets code "
    '(or KUBESCRIPT_TOOLSETS=code, or toolsets = ["code"] in its configuration file; "kubectl", "helm", "cluster" '
    'and "gateway" are tools for single commands).'
)


def build(
    toolsets: Sequence[base.Toolset],
    warm_up: Callable[[], None],
    heartbeat_s: float = 10,
    *,
    saved: bool = False,
    asker: elicitation.Asker | None = None,
    user: str = "",
) -> lowlevel.Server[Any]:
    """Returns the server that offers these toolsets. `warm_up` runs in a thread after the first answer. A client that
    asked for progress hears of its call at least every `heartbeat_s`, and every client that the cluster is a `saved`
    one. `asker` asks people about plans. `user` is who calls, where that is proven."""
    tools = {tool.definition.name: tool for toolset in toolsets for tool in toolset.tools}
    definitions = [tool.definition for tool in tools.values()]
    validator = functools.cache(lambda name: _validator(tools[name].definition.input_schema))

    async def list_tools(_ctx: Any, _params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=definitions)

    async def call_tool(
        ctx: Any, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult | mcp_types.InputRequiredResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        # Some clients send every argument that a schema names.
        arguments = {name: value for name, value in (params.arguments or {}).items() if value is not None}
        problem = _argument_errors(validator(params.name), arguments)
        if problem:
            answer = types.Answer(sanitizing.clean(problem), is_error=True, code="request.arguments")
            return _result(tool.word(arguments, answer))
        caller = _caller(ctx, params.name, user)
        run = functools.partial(_call, tool, arguments, caller)
        with logs.about(user=user, session=caller.session, trace=evaluation.trace_id()):
            if asker is None:
                return _result(tool.word(arguments, await _reporting(ctx, heartbeat_s, run)))
            settle = functools.partial(_with_plan, run, asker, ctx, params, caller)
            settled = await _reporting(ctx, heartbeat_s, settle)
        return settled if isinstance(settled, mcp_types.InputRequiredResult) else _result(tool.word(arguments, settled))

    server: lowlevel.Server[Any] = lowlevel.Server(
        "kubescript",
        version=kubescript.__version__,
        instructions=_instructions(toolsets, saved=saved) if tools else _NO_TOOLSET,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        **_handlers(toolsets),
    )
    server.middleware.append(_without_texts_of_exceptions)
    server.middleware.append(_WarmUpMiddleware(warm_up))
    if asker is not None:
        server.middleware.append(elicitation.state_guard(server.name))
    return server


def _instructions(toolsets: Sequence[base.Toolset], *, saved: bool) -> str:
    """Returns what the toolsets say to models, each sentence once: toolsets may share one."""
    said = dict.fromkeys(toolset.instructions for toolset in toolsets if toolset.instructions)
    hints = [tool.definition.annotations for toolset in toolsets for tool in toolset.tools]
    if all(hint is not None and hint.read_only_hint for hint in hints):
        said[_READ_ONLY] = None
    if saved:
        said[_SAVED] = None
    return " ".join(said)


async def _without_texts_of_exceptions(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Answers -32603 where we have a bug. The SDK would send code 0 and the exception's text: it may hold anything."""
    try:
        return await call_next(ctx)
    except Exception as error:
        if jsonrpc_dispatcher.handler_exception_to_error_data(error) is not None:  # the client's mistake
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
    on_progress: evaluator.OnProgress | None,
) -> types.Answer:
    """Runs one call; what a handler raises becomes an answer that says nothing of it."""
    try:
        return await tool.handler(arguments, on_progress, caller)
    except Exception:
        # The log is for the operator. The client gets no text of the exception: it may hold anything.
        log.exception("tool %s failed", tool.definition.name)
        return types.Answer("error internal: kubescript failed; see its log", is_error=True, code="internal")


async def _with_plan(
    run: Callable[[evaluator.OnProgress | None], Awaitable[types.Answer]],
    asker: elicitation.Asker,
    ctx: ServerRequestContext[Any, Any],
    params: mcp_types.CallToolRequestParams,
    caller: types.Caller,
    on_progress: evaluator.OnProgress | None,
) -> types.Answer | mcp_types.InputRequiredResult:
    """Runs one call, and settles the plan that it leaves."""
    if params.request_state is not None:
        return await asker.resumed(params, caller, on_progress)
    answer = await run(on_progress)
    if answer.plan:
        return await asker.settle(elicitation.Call(ctx, params, caller, on_progress), answer)
    return await asker.with_news(answer, caller)


def _caller(ctx: ServerRequestContext[Any, Any], tool: str, user: str) -> types.Caller:
    """Returns who asks: `user`, with a client as it calls itself, and with which tool."""
    session_id, lasts = _session(ctx)
    params = ctx.session.client_params
    if params is None:
        return types.Caller(session_id, tool=tool, lasts=lasts, user=user)
    return types.Caller(session_id, params.client_info.name, params.client_info.version, tool, lasts, user)


def _session(ctx: ServerRequestContext[Any, Any]) -> tuple[str, bool]:
    """Returns the session of a request, and whether its client's later requests are of the same one."""
    if ctx.request is None:
        return _PROCESS_SESSION, True
    stream = ctx.request.scope.get(scope.SESSION)
    if stream is not None:
        return stream, True
    handle = ctx.request.headers.get("mcp-session-id", "")
    # Attack: a client without a session that sends such a header, which nobody has compared with anything.
    if handle and ctx.protocol_version < _WITHOUT_SESSIONS:
        # The id of a session lets its holder join the session, so only a hash of it is passed on.
        return hashlib.sha256(handle.encode()).hexdigest()[:16], True
    return uuid.uuid4().hex[:16], False


def _validator(schema: Mapping[str, Any]) -> jsonschema.Draft202012Validator:
    import jsonschema  # takes long to load; the first client has its first answer by then

    return jsonschema.Draft202012Validator(schema)


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
        message = f"{message[:_QUOTED_VALUE]}\N{HORIZONTAL ELLIPSIS}{message[_QUOTED_VALUE - _MAX_ARGUMENT_ERROR :]}"
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
    untrusted = {_UNTRUSTED_META: True} if answer.untrusted else {}
    return {**(answer.meta or {}), **untrusted}


async def _reporting(
    ctx: ServerRequestContext[Any, Any],
    heartbeat_s: float,
    call: Callable[[evaluator.OnProgress | None], Awaitable[_T]],
) -> _T:
    """Runs one call, with progress notifications if the client asked for them."""
    if ctx.meta is None or ctx.meta.get("progress_token") is None:
        return await call(None)
    signs = heartbeat.Heartbeat(ctx.session.report_progress, heartbeat_s)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(signs.beat)
        answer = await call(signs.report)
        tasks.cancel_scope.cancel()
    return answer


def _handlers(toolsets: Sequence[base.Toolset]) -> dict[str, Any]:
    """Returns the MCP handlers of resources and prompts, by the name of the server's parameter.

    What no toolset has gets no handler: the server then does not announce the capability.
    """
    pages = {}
    prompts = {}
    for toolset in toolsets:
        pages.update({str(page.definition.uri): page for page in toolset.pages})
        prompts.update({prompt.definition.name: prompt for prompt in toolset.prompts})
    handlers: dict[str, Any] = {}
    if pages:
        handlers |= _resources(pages)
    if prompts:
        handlers |= _prompts(prompts)
    return handlers


def _resources(pages: Mapping[str, base.Page]) -> dict[str, _Handler]:
    definitions = [page.definition for page in pages.values()]

    async def list_resources(_ctx: Any, _params: Any) -> mcp_types.ListResourcesResult:
        return mcp_types.ListResourcesResult(resources=definitions)

    async def list_templates(_ctx: Any, _params: Any) -> mcp_types.ListResourceTemplatesResult:
        # The list of resources is complete, but clients ask for templates anyway.
        return mcp_types.ListResourceTemplatesResult(resource_templates=[])

    async def read(ctx: Any, params: mcp_types.ReadResourceRequestParams) -> mcp_types.ReadResourceResult:
        page = pages.get(str(params.uri))
        if page is None:
            modern = ctx.protocol_version >= _VERSION_WITHOUT_NOT_FOUND
            code = mcp_types.INVALID_PARAMS if modern else _NOT_FOUND
            raise MCPError(code, "Resource not found; resources/list names all", {"uri": str(params.uri)})
        contents = mcp_types.TextResourceContents(
            uri=page.definition.uri,
            mime_type=page.definition.mime_type,
            text=page.read(),
        )
        return mcp_types.ReadResourceResult(contents=[contents])

    return {
        "on_list_resources": list_resources,
        "on_list_resource_templates": list_templates,
        "on_read_resource": read,
    }


def _prompts(prompts: Mapping[str, base.Prompt]) -> dict[str, _Handler]:
    definitions = [prompt.definition for prompt in prompts.values()]

    async def list_prompts(_ctx: Any, _params: Any) -> mcp_types.ListPromptsResult:
        return mcp_types.ListPromptsResult(prompts=definitions)

    async def get(_ctx: Any, params: mcp_types.GetPromptRequestParams) -> mcp_types.GetPromptResult:
        prompt = prompts.get(params.name)
        if prompt is None:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
        arguments = _checked_arguments(prompt.definition, params.arguments or {})
        content = mcp_types.TextContent(type="text", text=prompt.write(arguments))
        message = mcp_types.PromptMessage(role="user", content=content)
        return mcp_types.GetPromptResult(description=prompt.definition.description, messages=[message])

    return {"on_list_prompts": list_prompts, "on_get_prompt": get}


def _checked_arguments(prompt: mcp_types.Prompt, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the arguments, cleaned. Raises MCPError for one that is unknown, missing or too long."""
    known = {argument.name: argument for argument in prompt.arguments or ()}
    for name, value in given.items():
        if name not in known:
            names = ", ".join(known)
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown argument `{name}`; there is: {names}")
        if len(value) > _MAX_ARGUMENT:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Argument `{name}` is longer than {_MAX_ARGUMENT} characters")
    _check_required(known, given)
    return {name: sanitizing.clean(value) for name, value in given.items()}


def _check_required(known: Mapping[str, mcp_types.PromptArgument], given: Mapping[str, str]) -> None:
    """Checks that no required argument is missing. Raises MCPError."""
    for name, argument in known.items():
        if not argument.required:
            continue
        if name not in given:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Argument `{name}` is missing")
