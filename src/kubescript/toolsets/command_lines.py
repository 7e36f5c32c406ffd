"""The toolsets `openshift` and `openstack`: one tool each, for command lines of `oc` and of the OpenStack client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import mcp_types

from kubescript import config, evaluator, types
from kubescript.toolsets import base, classic

__all__ = ["openshift", "openstack"]

_OPENSHIFT: Final = (
    "Runs one command line of the OpenShift client, with or without the leading `oc`: `get pods -n shop -o wide`. "
    "The server sets cluster and credentials. There is no shell: no pipes, redirections, files or standard input. "
    "Narrow what comes back with -n, -l, --field-selector, --tail, -o name, -o jsonpath=... or -o custom-columns=...; "
    "`X --help` explains a command."
)
_OPENSTACK: Final = (
    "Runs one command line of the OpenStack client, with or without the leading `openstack`: "
    "`server list --project shop -f json -c Name -c Status`. It replaces nova, cinder, glance and the like. The server "
    "sets cloud and credentials, and microversions are the cloud's latest unless --os-compute-api-version and its like "
    "name others. There is no shell: no pipes, redirections, files or standard input. `-f json` and `-c` narrow what "
    "comes back; `help X` explains a command, and `--help` lists all."
)
_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"command_str": {"type": "string", "description": "The command line."}},
    "required": ["command_str"],
    "additionalProperties": False,
}


def openshift(commands: evaluator.Evaluator, settings: config.Settings) -> base.Toolset:
    """Returns the toolset `openshift`; `commands` runs command lines."""
    writes = settings.openshift.allow_write and settings.writable
    tool = _tool("openshift-cli", "OpenShift Client MCP Tool", _OPENSHIFT, commands, writes=writes)
    return base.Toolset("openshift", "command lines of oc", (tool,), instructions=classic.INSTRUCTIONS)


def openstack(commands: evaluator.Evaluator, settings: config.Settings) -> base.Toolset:
    """Returns the toolset `openstack`; `commands` runs command lines."""
    writes = settings.openstack.allow_write
    tool = _tool("openstack-cli", "OpenStack Client MCP Tool", _OPENSTACK, commands, writes=writes)
    return base.Toolset("openstack", "command lines of openstack", (tool,), instructions=classic.INSTRUCTIONS)


def _tool(name: str, title: str, description: str, commands: evaluator.Evaluator, *, writes: bool) -> base.Tool:
    """Returns the tool; `commands` runs command lines, and `writes` says whether they may change anything."""

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
