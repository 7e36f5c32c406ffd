"""What the toolsets offer beside tools: pages as MCP resources, and prompts. The capabilities exist only where there is
something in them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from kubescript.output import sanitizing
from kubescript.toolsets import base

__all__ = ["handlers"]

Handler = Callable[[ServerRequestContext[Any, Any], Any], Awaitable[Any]]

_NOT_FOUND: Final = -32002
"""A resource that is not there, until 2025-11-25; from 2026-07-28 on it is a wrong parameter."""
_MODERN: Final = "2026-07-28"
_MAX_ARGUMENT: Final = 4_000
"""Characters of one argument of a prompt."""


def handlers(toolsets: Sequence[base.Toolset]) -> dict[str, Any]:
    """The MCP handlers, by the name of the server's parameter; none for what no toolset has."""
    pages = {str(page.definition.uri): page for toolset in toolsets for page in toolset.pages}
    prompts = {prompt.definition.name: prompt for toolset in toolsets for prompt in toolset.prompts}
    return (_resources(pages) if pages else {}) | (_prompts(prompts) if prompts else {})


def _resources(pages: Mapping[str, base.Page]) -> dict[str, Handler]:
    async def list_resources(_ctx: Any, _params: Any) -> mcp_types.ListResourcesResult:
        return mcp_types.ListResourcesResult(resources=[page.definition for page in pages.values()])

    async def list_templates(_ctx: Any, _params: Any) -> mcp_types.ListResourceTemplatesResult:
        return mcp_types.ListResourceTemplatesResult(resource_templates=[])  # the list is complete; clients ask anyway

    async def read(ctx: Any, params: mcp_types.ReadResourceRequestParams) -> mcp_types.ReadResourceResult:
        page = pages.get(str(params.uri))
        if page is None:
            modern = ctx.protocol_version >= _MODERN
            code = mcp_types.INVALID_PARAMS if modern else _NOT_FOUND
            raise MCPError(code, "Resource not found; resources/list names all", {"uri": str(params.uri)})
        kind = page.definition.mime_type
        return mcp_types.ReadResourceResult(
            contents=[mcp_types.TextResourceContents(uri=page.definition.uri, mime_type=kind, text=page.read())]
        )

    return {"on_list_resources": list_resources, "on_list_resource_templates": list_templates, "on_read_resource": read}


def _prompts(prompts: Mapping[str, base.Prompt]) -> dict[str, Handler]:
    async def list_prompts(_ctx: Any, _params: Any) -> mcp_types.ListPromptsResult:
        return mcp_types.ListPromptsResult(prompts=[prompt.definition for prompt in prompts.values()])

    async def get(_ctx: Any, params: mcp_types.GetPromptRequestParams) -> mcp_types.GetPromptResult:
        prompt = prompts.get(params.name)
        if prompt is None:
            raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
        text = prompt.write(_checked(prompt.definition, params.arguments or {}))
        message = mcp_types.PromptMessage(role="user", content=mcp_types.TextContent(type="text", text=text))
        return mcp_types.GetPromptResult(description=prompt.definition.description, messages=[message])

    return {"on_list_prompts": list_prompts, "on_get_prompt": get}


def _checked(prompt: mcp_types.Prompt, given: Mapping[str, str]) -> dict[str, str]:
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
