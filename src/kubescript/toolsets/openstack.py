"""The toolset `openstack`: command lines of the OpenStack client as one tool."""

from __future__ import annotations

from typing import Final

from kubescript import config, evaluator
from kubescript.toolsets import base, command

__all__ = ["NAME", "toolset"]

NAME: Final = "openstack"
_DESCRIPTION: Final = (
    "Runs one command line of the OpenStack client, with or without the leading `openstack`: "
    "`server list --project shop -f json -c Name -c Status`. It replaces nova, cinder, glance and the like. The server "
    "sets cloud and credentials, and microversions are the cloud's latest unless --os-compute-api-version and its like "
    "name others. There is no shell: no pipes, redirections, files or standard input. `-f json` and `-c` narrow what "
    "comes back; `help X` explains a command, and `--help` lists all."
)


def toolset(commands: evaluator.Evaluator, settings: config.Settings) -> base.Toolset:
    """Returns the toolset; `commands` runs command lines."""
    writes = settings.openstack.allow_write
    tool = command.tool("openstack-cli", "OpenStack Client MCP Tool", _DESCRIPTION, commands, writes=writes)
    return base.Toolset(NAME, "command lines of openstack", (tool,), instructions=command.INSTRUCTIONS)
