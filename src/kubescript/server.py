"""The MCP server: toolsets become tools, resources and prompts, answers become MCP results. No exception of ours ever
leaves a handler.

Built on the SDK's low-level server, which validates no arguments and passes exception texts to the client; both are
done here.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import threading
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import server as lowlevel
from mcp.shared.exceptions import MCPError

import kubescript
from kubescript import errors, evaluator, types
from kubescript.output import sanitizing
from kubescript.toolsets import base

if TYPE_CHECKING:
    import jsonschema

__all__ = ["build"]

log = logging.getLogger(__name__)

_Handler = Callable[[ServerRequestContext[Any, Any], Any], Awaitable[Any]]

_UNTRUSTED_META: Final = "kubescript/untrusted"
"""In a result's `_meta`: the text holds parts that workloads wrote; they are fenced."""
_WARM_UP_DELAY_S: Final = 0.05
_PROGRESS_TIMEOUT_S: Final = 1.0
_PROCESS_SESSION: Final = uuid.uuid4().hex[:16]
"""The session of clients that have none of their own: on stdio the process is the session."""

_NOT_FOUND: Final = -32002
"""A resource that is not there, until 2025-11-25; from 2026-07-28 on it is a wrong parameter."""
_VERSION_WITHOUT_NOT_FOUND: Final = "2026-07-28"
_MAX_ARGUMENT: Final = 4_000
"""Characters of one argument of a prompt."""

_INSTRUCTIONS = (
    "One tool, evaluate_script, runs a Python script beside the Kubernetes API server and returns the last expression. "
    "Put the whole question into one script and return only what answers it."
)
_NO_TOOLSET = (
    "No toolset is on, so this server offers no tool. Tell its operator: start it with --toolsets code "
    '(or KUBESCRIPT_TOOLSETS=code, or toolsets = ["code"] in its configuration file).'
)


def build(toolsets: Sequence[base.Toolset], warm_up: Callable[[], None]) -> lowlevel.Server[Any]:
    """The server that offers these toolsets. `warm_up` runs in a thread once the first client has its first answer."""
    tools = {tool.definition.name: tool for toolset in toolsets for tool in toolset.tools}
    validator = functools.cache(lambda name: _validator(tools[name].definition.input_schema))

    async def list_tools(_ctx: Any, _params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=[tool.definition for tool in tools.values()])

    async def call_tool(ctx: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        problem = _argument_errors(validator(params.name), params.arguments or {})
        return _result(await _call(tool, problem, params.arguments or {}, _reporter(ctx), _caller(ctx)))

    server: lowlevel.Server[Any] = lowlevel.Server(
        "kubescript",
        version=kubescript.__version__,
        instructions=_INSTRUCTIONS if tools else _NO_TOOLSET,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        **_handlers(toolsets),
    )
    server.middleware.append(_WarmUpMiddleware(warm_up))
    return server


class _WarmUpMiddleware:
    """Starts what calls will need as soon as somebody has connected, and not before the answer to that."""

    def __init__(self, warm_up: Callable[[], None]) -> None:
        self._warm_up: Callable[[], None] | None = warm_up

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        work, self._warm_up = self._warm_up, None
        if work is not None:
            threading.Timer(_WARM_UP_DELAY_S, _run_warm_up, (work,)).start()
        return result


def _run_warm_up(work: Callable[[], None]) -> None:
    try:
        import jsonschema  # noqa: F401 - so that the first call finds it loaded

        work()
    except errors.KubescriptError as error:
        log.warning("warm-up failed: %s", error.message, extra={"code": error.code, "remedy": error.remedy})


async def _call(
    tool: base.Tool,
    problem: str,
    arguments: Mapping[str, Any],
    on_progress: evaluator.OnProgress,
    caller: types.Caller,
) -> types.Answer:
    if problem:
        return types.Answer(sanitizing.clean(problem), is_error=True, code="request.arguments")
    try:
        return await tool.handler(arguments, on_progress, caller)
    except Exception:
        log.exception("tool %s failed", tool.definition.name)  # for the operator; the client gets no text of it
        return types.Answer("error internal: kubescript failed; its log says why", is_error=True, code="internal")


def _caller(ctx: ServerRequestContext[Any, Any]) -> types.Caller:
    """Who asks, in the client's own words. A session's id on HTTP lets its holder join the session, so a hash of it
    must do."""
    known = ctx.session.client_params
    handle = getattr(ctx.request, "headers", {}).get("mcp-session-id", "")
    session_id = hashlib.sha256(handle.encode()).hexdigest()[:16] if handle else _PROCESS_SESSION
    if known is None:
        return types.Caller(session_id)
    return types.Caller(session_id, known.client_info.name, known.client_info.version)


def _validator(schema: Mapping[str, Any]) -> jsonschema.Draft202012Validator:
    import jsonschema  # takes long to load; the first client has its first answer by then

    return jsonschema.Draft202012Validator(schema)


def _argument_errors(validator: jsonschema.Draft202012Validator, arguments: Mapping[str, Any]) -> str:
    """What is wrong with the arguments, naming each; empty when nothing is."""
    found = sorted(validator.iter_errors(arguments), key=lambda error: list(error.absolute_path))
    return "; ".join(_describe(error) for error in found)


def _describe(error: Any) -> str:
    where = "".join(f"argument `{part}`: " for part in list(error.absolute_path)[:1])
    return f"{where}{error.message[:300]}"


def _result(answer: types.Answer) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(type="text", text=answer.text)],
        structured_content=answer.structured,
        is_error=answer.is_error,
        _meta={_UNTRUSTED_META: True} if answer.untrusted else None,
    )


def _reporter(ctx: ServerRequestContext[Any, Any]) -> evaluator.OnProgress:
    async def report(done: float, total: float | None, text: str) -> None:
        with anyio.move_on_after(
            _PROGRESS_TIMEOUT_S
        ):  # a client that does not read must not hold up a script's deadline
            await ctx.session.report_progress(done, total, text)

    return report


def _handlers(toolsets: Sequence[base.Toolset]) -> dict[str, Any]:
    """The MCP handlers, by the name of the server's parameter; none for what no toolset has."""
    pages = {str(page.definition.uri): page for toolset in toolsets for page in toolset.pages}
    prompts = {prompt.definition.name: prompt for toolset in toolsets for prompt in toolset.prompts}
    return (_resources(pages) if pages else {}) | (_prompts(prompts) if prompts else {})


def _resources(pages: Mapping[str, base.Page]) -> dict[str, _Handler]:
    async def list_resources(_ctx: Any, _params: Any) -> mcp_types.ListResourcesResult:
        return mcp_types.ListResourcesResult(resources=[page.definition for page in pages.values()])

    async def list_templates(_ctx: Any, _params: Any) -> mcp_types.ListResourceTemplatesResult:
        return mcp_types.ListResourceTemplatesResult(resource_templates=[])  # the list is complete; clients ask anyway

    async def read(ctx: Any, params: mcp_types.ReadResourceRequestParams) -> mcp_types.ReadResourceResult:
        page = pages.get(str(params.uri))
        if page is None:
            modern = ctx.protocol_version >= _VERSION_WITHOUT_NOT_FOUND
            code = mcp_types.INVALID_PARAMS if modern else _NOT_FOUND
            raise MCPError(code, "Resource not found; resources/list names all", {"uri": str(params.uri)})
        kind = page.definition.mime_type
        return mcp_types.ReadResourceResult(
            contents=[mcp_types.TextResourceContents(uri=page.definition.uri, mime_type=kind, text=page.read())]
        )

    return {"on_list_resources": list_resources, "on_list_resource_templates": list_templates, "on_read_resource": read}


def _prompts(prompts: Mapping[str, base.Prompt]) -> dict[str, _Handler]:
    async def list_prompts(_ctx: Any, _params: Any) -> mcp_types.ListPromptsResult:
        return mcp_types.ListPromptsResult(prompts=[prompt.definition for prompt in prompts.values()])

    async def get(_ctx: Any, params: mcp_types.GetPromptRequestParams) -> mcp_types.GetPromptResult:
        prompt = prompts.get(params.name)
        if prompt is None:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
        text = prompt.write(_checked_arguments(prompt.definition, params.arguments or {}))
        message = mcp_types.PromptMessage(role="user", content=mcp_types.TextContent(type="text", text=text))
        return mcp_types.GetPromptResult(description=prompt.definition.description, messages=[message])

    return {"on_list_prompts": list_prompts, "on_get_prompt": get}


def _checked_arguments(prompt: mcp_types.Prompt, given: Mapping[str, str]) -> dict[str, str]:
    """The arguments, clean. Raises MCPError for one that the prompt does not have, lacks or cannot take."""
    known = {argument.name: argument for argument in prompt.arguments or ()}
    for name, value in given.items():
        if name not in known:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown argument `{name}`; there is: {', '.join(known)}")
        if len(value) > _MAX_ARGUMENT:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Argument `{name}` is longer than {_MAX_ARGUMENT} characters")
    for name, argument in known.items():
        if argument.required and name not in given:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Argument `{name}` is missing")
    return {name: sanitizing.clean(value) for name, value in given.items()}
