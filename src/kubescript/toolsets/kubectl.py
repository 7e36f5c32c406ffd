"""The toolset `kubectl`: the reads of kubectl-style servers, and three writes if writes are enabled."""

from __future__ import annotations

from typing import Final

from kubescript.toolsets import base, classic

__all__ = ["toolset"]

_READS: Final = (
    "kubectl_get",
    "kubectl_logs",
    "kubectl_describe",
    "kubectl_cluster_info",
    "kubectl_get_yaml",
    "kubectl_top_nodes",
    "kubectl_top_pods",
    "kubectl_top_containers",
)
_WRITES: Final = ("kubectl_scale_deployment", "kubectl_restart_deployment", "kubectl_edit_hpa")


def toolset(access: base.Access, *, follow: classic.Follow | None, by_argument: bool = False) -> base.Toolset:
    """Returns the toolset. `follow` is None when no cluster may be changed; `by_argument` says whether a tool's caller
    approves its changes."""
    tools = classic.tools(access, _READS)
    if follow is not None:
        host = classic.HostPart(follow=follow, by_argument=by_argument)
        tools += classic.tools(access, _WRITES, host)
    about = "kubectl's everyday commands as tools"
    return base.Toolset("kubectl", about, tools, instructions=classic.INSTRUCTIONS)
