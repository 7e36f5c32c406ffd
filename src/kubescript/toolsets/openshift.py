"""The toolset `openshift`: command lines of `oc` as one tool."""

from __future__ import annotations

from typing import Final

from kubescript import config, evaluator
from kubescript.toolsets import base, command

__all__ = ["NAME", "toolset"]

NAME: Final = "openshift"
_DESCRIPTION: Final = (
    "Runs one command line of the OpenShift client, with or without the leading `oc`: `get pods -n shop -o wide`. "
    "The server sets cluster and credentials. There is no shell: no pipes, redirections, files or standard input. "
    "Narrow what comes back with -n, -l, --field-selector, --tail, -o name, -o jsonpath=... or -o custom-columns=...; "
    "`X --help` explains a command."
)


def toolset(commands: evaluator.Evaluator, settings: config.Settings) -> base.Toolset:
    """Returns the toolset; `commands` runs command lines."""
    writes = settings.openshift.allow_write and settings.writable
    tool = command.tool("openshift-cli", "OpenShift Client MCP Tool", _DESCRIPTION, commands, writes=writes)
    return base.Toolset(NAME, "command lines of oc", (tool,), instructions=command.INSTRUCTIONS)
