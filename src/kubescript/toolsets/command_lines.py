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
    # The requests of `oc` are subject to the policy as those of scripts are, so both settings must permit writes.
    writes = settings.openshift.allow_write and settings.writable
    title = "OpenShift Client MCP Tool"
    tool = _make_tool("openshift-cli", title, _OPENSHIFT, commands, writes=writes)
    about = "command lines of oc"
    return base.Toolset("openshift", about, (tool,), instructions=classic.INSTRUCTIONS)


def openstack(commands: evaluator.Evaluator, settings: config.Settings) -> base.Toolset:
    """Returns the toolset `openstack`; `commands` runs command lines."""
    writes = settings.openstack.allow_write
    title = "OpenStack Client MCP Tool"
    tool = _make_tool("openstack-cli", title, _OPENSTACK, commands, writes=writes)
    about = "command lines of openstack"
    return base.Toolset("openstack", about, (tool,), instructions=classic.INSTRUCTIONS)


def _make_tool(name: str, title: str, description: str, commands: evaluator.Evaluator, *, writes: bool) -> base.Tool:
    """Returns the tool; `commands` runs command lines, and `writes` says whether they may change anything."""

    async def call(given: base.Arguments, on_progress: types.OnProgress | None, caller: types.Caller) -> types.Answer:
        line = given["command_str"]
        return await commands.evaluate(line, None, on_progress, caller)

    definition = mcp_types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=dict(_SCHEMA),
        annotations=mcp_types.ToolAnnotations(read_only_hint=not writes, open_world_hint=True),
    )
    return base.Tool(definition, call)
