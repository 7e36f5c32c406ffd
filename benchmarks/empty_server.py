"""The least an MCP server can be: the SDK's low-level server on stdio with one tool that does nothing. Baseline of
empty_script, small_lists and start_and_memory."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types
from mcp.server.lowlevel import server as lowlevel
from mcp.server.stdio import stdio_server

TOOL = mcp_types.Tool(
    name="empty",
    description="Do nothing.",
    input_schema={"type": "object", "properties": {"script": {"type": "string"}}},
)


async def _list_tools(_ctx: Any, _params: Any) -> mcp_types.ListToolsResult:
    return mcp_types.ListToolsResult(tools=[TOOL])


async def _call_tool(_ctx: Any, _params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text="2")])


async def _serve() -> None:
    server: lowlevel.Server[Any] = lowlevel.Server(
        "empty", version="1", on_list_tools=_list_tools, on_call_tool=_call_tool
    )
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(_serve)
