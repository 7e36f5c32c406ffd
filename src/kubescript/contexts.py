"""Which cluster a call is for: the operator's list of contexts, each with its own connection, broker and policy.

A call's `context` is a hostile worker's word. It is looked up, whole and exact, among the names on the list; nothing is
ever made of it, and what is not on the list is refused here, before any cluster is thought of. Nothing is remembered
between calls, so calls of one script may name different contexts at the same time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kubescript import cancellation, errors, types
from kubescript.broker import broker, summary
from kubescript.cluster import base
from kubescript.policy import rules
from kubescript.wire import protocol

__all__ = ["ClusterAccess", "Contexts"]

_UNKNOWN: Final = "policy.unknown_context"
_SHARE: Final = 0.5
"""Of the time a script has left, the most that one call may take when there are several clusters: whatever a slow one
does, half is left for the others."""
_SHOWN: Final = 100
"""Characters of an unknown name, and names on the list, that a refusal quotes."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """One cluster, and the only way to it."""

    cluster: base.Cluster
    broker: broker.Broker
    denials: rules.Denials | None = None
    """Told when the cluster has answered, so that it can be asked what its rules name."""


class Contexts:
    """The clusters of one server by name, the default one first; a server with one need not know its name."""

    def __init__(self, clusters: Mapping[str, ClusterAccess]) -> None:
        self._clusters = dict(clusters)
        self.default = next(iter(self._clusters.values()))
        self._share = _SHARE if len(self._clusters) > 1 else 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """What scripts may name. A broken kubeconfig is the error of the first call, not of every script."""
        if "" not in self._clusters:
            return tuple(self._clusters)
        try:
            return (self.default.cluster.name,)
        except errors.ClusterError:
            return ("",)

    @property
    def namespace(self) -> str:
        """The default cluster's default namespace."""
        try:
            return self.default.cluster.namespace
        except errors.ClusterError:
            return "default"

    def handle(
        self,
        call: protocol.Call,
        summary: summary.Summary,
        timeout_s: float,
        cancel: cancellation.Cancellation | None = None,
    ) -> tuple[protocol.Reply, types.Response | None]:
        """Answer one call, see `Broker.handle`."""
        access = self._clusters.get(call.context) if call.context else self.default
        if access is None and call.context == self.names[0]:  # a server's only cluster, by its name
            access = self.default
        if access is None:
            return self.default.broker.refuse(call, summary, self._unknown(call.context)), None
        reply, response = access.broker.handle(call, summary, timeout_s * self._share, cancel)
        answered = response is not None or (reply.fault is not None and reply.fault.code == rules.MISTAKEN)
        if answered and access.denials is not None:
            access.denials.check_later()
        return reply, response

    def check_rules(self) -> None:
        """Warns of rules of the default cluster that name nothing; for callers that do not come through `handle`."""
        if self.default.denials is not None:
            self.default.denials.check()

    def close(self) -> None:
        """Drop the connections to all of them, also when one cannot."""
        with contextlib.ExitStack() as closing:
            for access in self._clusters.values():
                closing.callback(access.cluster.close)
                if access.denials is not None:
                    closing.callback(access.denials.close)

    def _unknown(self, name: str) -> errors.PolicyDenied:
        known = ", ".join(self.names[:_SHOWN])
        return errors.PolicyDenied(
            f"there is no context {name[:_SHOWN]!r}; there is: {known}. k8s.contexts() lists them.", code=_UNKNOWN
        )
