"""The APIs for custom and external metrics (k8s.io/metrics), whose paths name a metric where others name a subresource.

custom    /apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/web-0/http_requests, of all pods: pods/*/…
          …/v1beta2/nodes/*/temperature; of a namespace itself: …/v1beta2/namespaces/shop/metrics/http_requests
external  /apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue_length
"""

from __future__ import annotations

from typing import Final

from kubescript.kube import kinds

__all__ = ["CUSTOM", "EXTERNAL", "GROUPS", "OF_NAMESPACE", "list_described"]

CUSTOM: Final = "custom.metrics.k8s.io"
EXTERNAL: Final = "external.metrics.k8s.io"
GROUPS: Final = frozenset({CUSTOM, EXTERNAL})
OF_NAMESPACE: Final = "metrics"
"""The resource in the path of a namespace's own metric."""


def list_described(resource: str) -> list[tuple[str, str]]:
    """Returns group and plural of the built-in objects that a custom metric describes, by the resource in its path:
    `pods`, `deployments.apps`. None for other kinds, whose names only an adapter resolves."""
    plural, _, group = resource.partition(".")
    groups = [group] if group else list(kinds.BUILT_IN)
    return [(each, plural) for each in groups if plural in kinds.BUILT_IN.get(each, {})]
