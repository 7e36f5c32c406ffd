"""The interface of every cluster and source: it performs a request that the policy allowed. The broker calls it."""

from __future__ import annotations

from typing import Protocol

from kubescript import types
from kubescript.request import request
from kubescript_sandbox.host import cancellation

__all__ = ["Cluster", "Server"]


class Server(Protocol):
    """A server that answers requests. Safe for use from many threads."""

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """Sends `call`; returns as soon as the answer's headers have arrived. Raises ClusterError if there is no
        answer.

        A status of 4xx or 5xx is an answer, not an error. `timeout_s` bounds headers and body together: a chunk read
        later raises ClusterError too. `cancel` ends any wait within milliseconds, before the headers or in the body.
        """

    def close(self) -> None:
        """Closes every connection; pending reads end with ClusterError."""


class Cluster(Server, Protocol):
    """A live or saved cluster. Safe for use from many threads."""

    @property
    def name(self) -> str:
        """The display name: the kubeconfig context, or the snapshot's path."""

    @property
    def namespace(self) -> str:
        """The scripts' default namespace."""

    @property
    def is_named_by_data(self) -> bool:
        """Whether name and namespace come from saved data, and so from a stranger."""

    @property
    def address(self) -> str:
        """Address and trust of the last call: the API server's URL, a digest of its CA, the name that its certificate
        must have, if it is not the URL's, and the URL of the proxy before it."""
