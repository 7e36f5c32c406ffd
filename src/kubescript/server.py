"""The MCP server: toolsets become tools, answers become MCP results. No exception of ours ever leaves a handler.

Built on the SDK's low-level server, which validates no arguments and passes exception texts to the client; both are
done here.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anyio
import mcp_types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import server as lowlevel
from mcp.shared.exceptions import MCPError

import kubescript
from kubescript import errors, session, types
from kubescript.toolsets import base

__all__ = ["build"]

log = logging.getLogger(__name__)

_AFTER_ANSWER_S: Final = 0.05
_PROGRESS_S: Final = 1.0

_INSTRUCTIONS = (
    "One tool, evaluate_script, runs a Python script beside the Kubernetes API server and returns the last expression. "
    "Put the whole question into one script and return only what answers it."
)


def build(toolsets: Sequence[base.Toolset], warm_up: Callable[[], None]) -> lowlevel.Server[Any]:
    """The server that offers these toolsets. `warm_up` runs in a thread once the first client has its first answer."""
    tools = {tool.definition.name: tool for toolset in toolsets for tool in toolset.tools}

    async def list_tools(_ctx: Any, _params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=[tool.definition for tool in tools.values()])

    async def call_tool(ctx: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown tool: {params.name}")
        return _result(await _call(tool, params.arguments or {}, _reporter(ctx)))

    server: lowlevel.Server[Any] = lowlevel.Server(
        "kubescript",
        version=kubescript.__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.append(_Awakening(warm_up))
    return server


class _Awakening:
    """Starts what calls will need as soon as somebody has connected, and not before the answer to that."""

    def __init__(self, warm_up: Callable[[], None]) -> None:
        self._warm_up: Callable[[], None] | None = warm_up

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        result = await call_next(ctx)
        work, self._warm_up = self._warm_up, None
        if work is not None:
            threading.Timer(_AFTER_ANSWER_S, _awake, (work,)).start()
        return result


def _awake(work: Callable[[], None]) -> None:
    try:
        import jsonschema  # noqa: F401 - so that the first call finds it loaded

        work()
    except errors.KubescriptError as error:
        log.warning("warm-up failed: %s", error.message, extra={"code": error.code, "remedy": error.remedy})


async def _call(tool: base.Tool, arguments: Mapping[str, Any], on_progress: session.OnProgress) -> types.Answer:
    problem = _problem(tool.definition.input_schema, arguments)
    if problem:
        return types.Answer(problem, is_error=True, code="request.arguments")
    try:
        return await tool.handler(arguments, on_progress)
    except Exception:
        log.exception("tool %s failed", tool.definition.name)  # for the operator; the client gets no text of it
        return types.Answer("error internal: kubescript failed; its log says why", is_error=True, code="internal")


def _problem(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """What is wrong with the arguments, naming each; empty when nothing is."""
    import jsonschema

    found = sorted(
        jsonschema.Draft202012Validator(schema).iter_errors(arguments), key=lambda error: list(error.absolute_path)
    )
    return "; ".join(_describe(error) for error in found)


def _describe(error: Any) -> str:
    where = "".join(f"argument `{part}`: " for part in list(error.absolute_path)[:1])
    return f"{where}{error.message[:300]}"


def _result(answer: types.Answer) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(
        content=[mcp_types.TextContent(type="text", text=answer.text)], is_error=answer.is_error
    )


def _reporter(ctx: ServerRequestContext[Any, Any]) -> session.OnProgress:
    async def report(done: float, total: float | None, text: str) -> None:
        with anyio.move_on_after(_PROGRESS_S):  # a client that does not read must not hold up a script's deadline
            await ctx.session.report_progress(done, total, text)

    return report
