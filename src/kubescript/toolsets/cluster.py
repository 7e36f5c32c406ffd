"""The toolset `cluster`: which clusters this server has, and logging in to them."""

from __future__ import annotations

from typing import Final

from kubescript.toolsets import base, classic

__all__ = ["NAME", "toolset"]

NAME: Final = "cluster"


def toolset(access: base.Access, log_in: classic.Prepare) -> base.Toolset:
    """Returns the toolset. `log_in` logs the server in to a cluster."""
    tools = classic.tools(access, ("cluster_list",))
    tools += classic.tools(access, ("gke_auth",), classic.HostPart(prepare=log_in))
    return base.Toolset(NAME, "clusters and logging in", tools, instructions=classic.INSTRUCTIONS)
