"""The settings for what scripts read from kubelets."""

from __future__ import annotations

from kubescript.config import section

__all__ = ["Nodes"]


class Nodes(section.Section):
    """What scripts may read from the kubelets of nodes, by paths that the server builds (docs/security.md)."""

    logs: bool = False
    """Whether scripts may read the logs of nodes' services: `k8s.node_logs("node-0", "kubelet")`."""
    summary: bool = False
    """Whether scripts may read the statistics of nodes and their pods: `k8s.node_summary("node-0")`."""

    @property
    def reads(self) -> frozenset[str]:
        """What scripts may read: `logs`, `summary`."""
        return frozenset(name for name in ("logs", "summary") if getattr(self, name))
