"""The toolset `helm`: Helm releases, read from where Helm keeps them."""

from __future__ import annotations

from typing import Final

from kubescript.toolsets import base, classic, repositories

__all__ = ["NAME", "toolset"]

NAME: Final = "helm"
_TOOLS: Final = ("helm_list", "helm_status", "helm_repo_list", "helm_get_values", "helm_history")
_LOCAL: Final = {"helm_repo_list": repositories.answer}


def toolset(access: classic.Access) -> base.Toolset:
    """Returns the toolset."""
    return base.Toolset(NAME, "Helm releases", classic.tools(access, _TOOLS, local=_LOCAL))
