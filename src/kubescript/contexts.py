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

from kubescript import errors
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
"""How many characters of an unknown name a refusal quotes."""
_LISTED: Final = 2
"""How many known names a refusal lists."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """One cluster, and the only access to it."""

    cluster: base.Cluster
    broker: broker.Broker
    denials: rule_checks.Denials | None = None
    """Checks the cluster's rules after its first answer."""


class Contexts:
    """The clusters of one server by name, the default one first. The name may be empty when the server has only one
    cluster."""

    def __init__(self, clusters: Mapping[str, ClusterAccess]) -> None:
        self._clusters = dict(clusters)
        names = list(self._clusters)
        self.default = self._clusters[names[0]]
        self._share = _SHARE if len(names) > 1 else 1.0

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
        access = self._find(name)
        if access is None:
            raise KeyError(name)
        return access.cluster

    def handle(self, call: exchanges.Call, operation: operation.Operation, timeout_s: float) -> broker.Answer:
        """Answers one call; see `Broker.handle`."""
        access = self._find(call.context) if call.context else self.default
        if access is None:
            error = self._refuse_name(call.context)
            return self.default.broker.refuse(call, operation, error), None
        reply, response = access.broker.handle(call, operation, timeout_s * self._share)
        # A cluster that has answered can say what the rules name; a denial by a mistaken rule shows that it has
        # answered.
        is_mistaken = reply.fault is not None and reply.fault.code == rule_checks.MISTAKEN
        has_answered = response is not None or is_mistaken
        if has_answered and access.denials is not None:
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

    def _find(self, name: str) -> ClusterAccess | None:
        """Returns the access to the cluster of this name; None for an unknown one."""
        access = self._clusters.get(name)
        # The server's only cluster may also be called by its own name.
        if access is None and name == self.names[0]:
            return self.default
        return access

    def _refuse_name(self, name: str) -> errors.PolicyDenied:
        """Returns the error for an unknown name."""
        names = self.names
        known = ", ".join(names[:_LISTED])
        if len(names) > _LISTED:
            known += ", …"
        return errors.PolicyDenied(f"no context {name[:_SHOWN]!r}; k8s.contexts() gives {known}", code=_UNKNOWN)
