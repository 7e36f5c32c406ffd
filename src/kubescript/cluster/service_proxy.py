"""One Service of a cluster, reached through the API server's service proxy.

Scripts cannot use that proxy: the policy denies it. The sources use it for the one Service that the operator has named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kubescript import types
from kubescript.cluster import live
from kubescript.request import request
from kubescript_sandbox.host import cancellation

__all__ = ["ServiceProxy"]


@dataclass(frozen=True, slots=True)
class ServiceProxy:
    """One port of one Service. Safe for use from many threads."""

    cluster: live.Live
    """The API server, called under the identity that may use its proxy."""
    namespace: str
    name: str
    """The Service's name and port as the proxy takes them: `prometheus-k8s:9090`, `https:thanos:web`."""

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """Sends one request to the Service, see `base.Server`."""
        prefix = f"/api/v1/namespaces/{self.namespace}/services/{self.name}/proxy"
        return self.cluster.perform_through_proxy(replace(call, path=prefix + call.path), timeout_s, cancel)

    def close(self) -> None:
        """Closes nothing: the connections are the cluster's."""
