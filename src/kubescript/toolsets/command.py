"""A tool that runs a command line: `openstack-cli` and `openshift-cli` are such tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types

from kubescript import evaluator, types
from kubescript.toolsets import base, classic

__all__ = ["INSTRUCTIONS", "tool"]

INSTRUCTIONS: Final = classic.INSTRUCTIONS
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"command_str": {"type": "string", "description": "The command line."}},
    "required": ["command_str"],
    "additionalProperties": False,
}


def tool(name: str, title: str, description: str, commands: evaluator.Evaluator, *, writes: bool) -> base.Tool:
    """Returns the tool; `commands` runs command lines, and `writes` says whether one may change something."""

    async def call(
        given: Mapping[str, Any], on_progress: types.OnProgress | None, caller: types.Caller
    ) -> types.Answer:
        return await commands.evaluate(given["command_str"], None, on_progress, caller)

    definition = mcp_types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=dict(_SCHEMA),
        annotations=mcp_types.ToolAnnotations(read_only_hint=not writes, open_world_hint=True),
    )
    return base.Tool(definition, call)
