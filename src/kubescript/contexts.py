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

    def __init__(self, doors: Mapping[str, ClusterAccess]) -> None:
        self._doors = dict(doors)
        self.default = next(iter(self._doors.values()))
        self._share = _SHARE if len(self._doors) > 1 else 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """What scripts may name. A broken kubeconfig is the error of the first call, not of every script."""
        if "" not in self._doors:
            return tuple(self._doors)
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
        tally: summary.Summary,
        timeout_s: float,
        cancel: cancellation.Cancellation | None = None,
    ) -> tuple[protocol.Reply, types.Response | None]:
        """Answer one call, see `Broker.handle`."""
        door = self._doors.get(call.context) if call.context else self.default
        if door is None and call.context == self.names[0]:  # a server's only cluster, by its name
            door = self.default
        if door is None:
            return self.default.broker.refuse(call, tally, self._unknown(call.context)), None
        reply, response = door.broker.handle(call, tally, timeout_s * self._share, cancel)
        answered = response is not None or (reply.fault is not None and reply.fault.code == rules.MISTAKEN)
        if answered and door.denials is not None:
            door.denials.tell()
        return reply, response

    def tell(self) -> None:
        """Warn of rules that name nothing, of the default cluster; for who does not come through `handle`."""
        if self.default.denials is not None:
            self.default.denials.tell()

    def close(self) -> None:
        """Drop the connections to all of them, also when one cannot."""
        with contextlib.ExitStack() as closing:
            for door in self._doors.values():
                closing.callback(door.cluster.close)

    def _unknown(self, name: str) -> errors.PolicyDenied:
        known = ", ".join(self.names[:_SHOWN])
        return errors.PolicyDenied(
            f"there is no context {name[:_SHOWN]!r}; there is: {known}. k8s.contexts() lists them.", code=_UNKNOWN
        )
