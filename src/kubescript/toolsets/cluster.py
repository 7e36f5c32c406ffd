"""The toolset `cluster`: which clusters this server has, and logging in to them."""

from __future__ import annotations

from typing import Final

from kubescript.toolsets import base, classic

__all__ = ["NAME", "toolset"]

NAME: Final = "cluster"
_TOOLS: Final = ("cluster_list", "gke_auth")


def toolset(access: base.Access) -> base.Toolset:
    """Returns the toolset."""
    return base.Toolset(
        NAME, "clusters and logging in", classic.tools(access, _TOOLS), instructions=classic.INSTRUCTIONS
    )
