"""The interface of every cluster: it performs a request that the policy has allowed. The broker calls it."""

from __future__ import annotations

from typing import Protocol

from kubescript import types
from kubescript.request import request
from kubescript_sandbox.host import cancellation

__all__ = ["Cluster"]


class Cluster(Protocol):
    """A live or saved cluster. Many threads call it at once."""

    @property
    def name(self) -> str:
        """The name for people: the kubeconfig context, or the snapshot's path."""

    @property
    def namespace(self) -> str:
        """The default namespace of scripts."""

    @property
    def is_named_by_data(self) -> bool:
        """Whether name and namespace are part of what was saved, and so text of a stranger."""

    @property
    def address(self) -> str:
        """Where the last call went, and what it trusted: the API server's URL and a digest of its CA."""

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """Sends `call`; returns as soon as the head of the answer has arrived. Raises ClusterError when there is no
        answer.

        A status of 4xx or 5xx is an answer and not an error. `timeout_s` bounds the head and the body together: a chunk
        that is read later raises ClusterError too. `cancel` ends any wait within milliseconds, before the head or in
        the body.
        """

    def close(self) -> None:
        """Closes every connection; pending reads end with ClusterError."""
