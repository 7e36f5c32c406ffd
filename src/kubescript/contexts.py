"""Finds the cluster of a call in the operator's list of contexts, each with its own connection, broker and policy.

The `context` of a call comes from a hostile worker. It is only compared, whole and exactly, with the names on the list.
Any other name is refused here, before any cluster is called. No state is kept between calls, so calls of one script may
name different contexts at the same time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kubescript import errors, types
from kubescript.broker import broker, operation
from kubescript.cluster import base
from kubescript.policy import rule_checks
from kubescript.wire import exchanges

__all__ = ["ClusterAccess", "Contexts"]

_UNKNOWN: Final = "policy.unknown_context"
# The largest part of the script's remaining time that one call may take with several clusters: a slow cluster leaves
# half of the time for the others.
_SHARE: Final = 0.5
_SHOWN: Final = 40
"""Characters of an unknown name that a refusal quotes."""
_LISTED: Final = 2
"""Known names that a refusal lists."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """One cluster, and the only access to it."""

    cluster: base.Cluster
    broker: broker.Broker
    denials: rule_checks.Denials | None = None
    """Checks the cluster's rules after its first answer."""


class Contexts:
    """The clusters of one server by name, the default one first. The name may be empty when the server has one."""

    def __init__(self, clusters: Mapping[str, ClusterAccess]) -> None:
        self._clusters = dict(clusters)
        self.default = next(iter(self._clusters.values()))
        self._share = _SHARE if len(self._clusters) > 1 else 1.0

    @property
    def names(self) -> tuple[str, ...]:
        """The names that scripts may use."""
        # A broken kubeconfig is an error of the first call, not of every script.
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

    @property
    def is_named_by_data(self) -> bool:
        """Whether names and namespace come from a saved cluster's text instead of the operator."""
        return self.default.cluster.is_named_by_data

    def cluster(self, name: str) -> base.Cluster:
        """Returns one of `names`. Raises KeyError."""
        access = self._clusters.get(name)
        if access is None and name == self.names[0]:  # the server's only cluster, under its own name
            access = self.default
        if access is None:
            raise KeyError(name)
        return access.cluster

    def handle(
        self, call: exchanges.Call, operation: operation.Operation, timeout_s: float
    ) -> tuple[exchanges.Reply, types.Response | None]:
        """Answers one call; see `Broker.handle`."""
        access = self._clusters.get(call.context) if call.context else self.default
        if access is None and call.context == self.names[0]:  # the server's only cluster, under its own name
            access = self.default
        if access is None:
            return self.default.broker.refuse(call, operation, self._unknown(call.context)), None
        reply, response = access.broker.handle(call, operation, timeout_s * self._share)
        answered = response is not None or (reply.fault is not None and reply.fault.code == rule_checks.MISTAKEN)
        if answered and access.denials is not None:
            access.denials.check_later()
        return reply, response

    def check_rules(self) -> None:
        """Warns of rules for the default cluster that match nothing, for callers that do not use `handle`."""
        if self.default.denials is not None:
            self.default.denials.check()

    def close(self) -> None:
        """Closes the connections to all clusters, even if closing one fails."""
        with contextlib.ExitStack() as closing:
            for access in self._clusters.values():
                closing.callback(access.cluster.close)
                if access.denials is not None:
                    closing.callback(access.denials.close)

    def _unknown(self, name: str) -> errors.PolicyDenied:
        known = ", ".join(self.names[:_LISTED])
        if len(self.names) > _LISTED:
            known += ", …"
        return errors.PolicyDenied(f"no context {name[:_SHOWN]!r}; k8s.contexts() gives {known}", code=_UNKNOWN)
