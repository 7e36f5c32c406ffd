"""The interface of every cluster: it performs a request that the policy has allowed. The broker calls it."""

from __future__ import annotations

from typing import Protocol

from kubescript import cancellation, types
from kubescript.request import request

__all__ = ["Cluster"]


class Cluster(Protocol):
    """A place to send requests to. Called from many threads at once."""

    @property
    def name(self) -> str:
        """How people call it: the kubeconfig context, or the snapshot's path."""

    @property
    def namespace(self) -> str:
        """The default namespace of scripts."""

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """Sends `call`; returns as soon as the head of the answer is there.

        A status of 4xx or 5xx is an answer, not an error.

        `timeout_s` bounds the head and the body together: chunks read later than that raise ClusterError too. Throwing
        `cancel` ends any wait within milliseconds, before the head or in the body. Raises ClusterError when there is no
        answer.
        """

    def close(self) -> None:
        """Drops every connection; pending reads end with ClusterError."""
