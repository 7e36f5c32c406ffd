"""kubectl_get."""

from __future__ import annotations

from typing import Any

from kubescript.worker.sdk import client

__all__ = ["kubectl_get"]


def kubectl_get(
    k8s: client.K8s,
    resource: str,
    namespace: str | None = None,
    name: str | None = None,
    *,
    all_namespaces: bool = False,
    label_selector: str | None = None,
) -> Any:
    """List objects of a kind, or show one."""
    found = k8s.get(resource, name, None if all_namespaces else namespace or "default")
    return [each.metadata.name for each in found]
