"""The toolset `helm`: Helm releases, read from Helm's own storage."""

from __future__ import annotations

from typing import Final

from kubescript.toolsets import base, classic, repositories

__all__ = ["toolset"]

_TOOLS: Final = ("helm_list", "helm_status", "helm_get_values", "helm_history")


def toolset(access: base.Access) -> base.Toolset:
    """Returns the toolset."""
    tools = classic.tools(access, _TOOLS)
    # The file of repositories may contain passwords, so the host reads it.
    host = classic.HostPart(prepare=repositories.prepare)
    tools += classic.tools(access, ("helm_repo_list",), host)
    return base.Toolset("helm", "Helm releases", tools, instructions=classic.INSTRUCTIONS)
