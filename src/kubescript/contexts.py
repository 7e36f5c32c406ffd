"""Finds the cluster of a call among those that the caller may name, each with its own connection, broker and policy.

The `context` of a call comes from a hostile worker. It is only compared, whole and exactly, with the names that the
caller may use at this moment. Any other name is refused here, before any cluster is called. No state is kept between
calls, so calls of one script may name different contexts at the same time.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from kubescript import accesses, errors, types
from kubescript.broker import broker, operation
from kubescript.cluster import base
from kubescript.fleet import directory
from kubescript.policy import rule_checks
from kubescript.sources import door
from kubescript.wire import exchanges
from kubescript_sandbox.wire import protocol

__all__ = ["Contexts"]

_UNKNOWN: Final = "policy.unknown_context"
# The largest part of the script's remaining time that one call may take with several clusters: a slow cluster leaves
# half of the time for the others.
_SHARE: Final = 0.5
_SHOWN: Final = 40
"""How many characters of an unknown name a refusal quotes."""
_LISTED: Final = 2
"""How many known names a refusal lists."""
_chosen: contextvars.ContextVar[str] = contextvars.ContextVar("chosen", default="")
"""The context that the request being answered chooses as its default; empty if it chooses none."""


class Contexts:
    """The clusters of one caller by name, the default one first. The name may be empty when the server has only one
    cluster."""

    def __init__(
        self,
        clusters: Mapping[str, accesses.ClusterAccess],
        known: directory.Directory | None = None,
        sources: Mapping[str, str] = MappingProxyType({}),
        told: Collection[str] = (),
    ) -> None:
        """`known` has the labels of the clusters; None: they have none, and none comes or goes. `sources` are the kinds
        of the clusters' sources, by name, and `told` those names that the operator has given."""
        self.sources = dict(sources)
        """The kinds of the sources that a script may ask, by name."""
        self._has_saved_sources = not sources.keys() <= set(told)
        self._clusters = clusters
        self._known = known

    @contextlib.contextmanager
    def choosing(self, name: str) -> Iterator[None]:
        """Makes a context the default, within the block and in threads that inherit this context. Raises AuthError for
        one that the caller may not name, whether or not it exists."""
        if name not in self._clusters and self._find(name) is None:
            raise errors.AuthError("the request chooses a context that you cannot use here", code="auth.access")
        before = _chosen.set(name)
        try:
            yield
        finally:
            _chosen.reset(before)

    @property
    def default(self) -> accesses.ClusterAccess:
        """The access to the default cluster. Raises ClusterError if no cluster has been found yet, and PolicyDenied if
        the request has chosen one that the caller may not use any more."""
        chosen = _chosen.get()
        if not chosen:
            return self._first()
        access = self._find(chosen)
        if access is None:
            raise self._refuse_name(chosen)
        return access

    def _first(self) -> accesses.ClusterAccess:
        """Returns the access to the server's own default cluster. Raises ClusterError if none has been found yet."""
        for name in self._clusters:
            access = self._clusters.get(name)
            if access is not None:  # else it went meanwhile
                return access
        raise errors.ClusterError(
            "no cluster has been found yet that this script may use",
            code="cluster.config",
            remedy="`kubescript doctor` lists the clusters that [fleet] finds",
        )

    @property
    def reviewer(self) -> accesses.ClusterAccess:
        """The access to the cluster that may say whose token it is: the default one, and in a fleet the first of the
        settings. Raises ClusterError if there is none."""
        if self._known is None or not self._known.is_open:
            return self._first()
        # Attack: whoever may write a Secret in the hub adds a cluster, which gets callers' tokens and vouches for them.
        for name in self._known.list_settings():
            access = self._clusters.get(name)
            if access is not None:
                return access
        raise errors.ClusterError("no cluster of the settings can review tokens", code="cluster.config")

    @property
    def names(self) -> tuple[str, ...]:
        """The names that scripts are told: the default one, and where clusters come and go, that there are more."""
        if self._known is not None and self._known.is_open:
            return _chosen.get() or next(iter(self._clusters), ""), exchanges.MORE
        return self.list_names()

    def list_names(self) -> tuple[str, ...]:
        """Returns all names that scripts may use now, the default one first."""
        names = tuple(self._clusters) if "" not in self._clusters else (self._own_name(),)
        chosen = _chosen.get()
        # One that the caller may not use any more is refused by `handle`: no other may take its place.
        return (chosen, *(name for name in names if name != chosen)) if chosen else names

    def _own_name(self) -> str:
        """Returns the name of the server's only cluster; empty if it is not known."""
        # A broken kubeconfig is an error of the first call, not of every script.
        try:
            return self._first().cluster.name
        except errors.ClusterError:
            return ""

    @property
    def namespace(self) -> str:
        """The default cluster's default namespace."""
        try:
            return self.default.cluster.namespace
        except errors.KubescriptError:
            return "default"

    @property
    def is_named_by_data(self) -> bool:
        """Whether names, of sources too, or the namespace come from a saved cluster's text instead of the operator."""
        try:
            return self._has_saved_sources or self.default.cluster.is_named_by_data
        except errors.KubescriptError:
            return False

    def cluster(self, name: str) -> base.Cluster:
        """Returns the cluster of a name. Raises KeyError."""
        access = self._find(name)
        if access is None:
            raise KeyError(name)
        return access.cluster

    def handle(self, call: exchanges.Call, operation: operation.Operation, timeout_s: float) -> broker.Answer:
        """Answers one call; see `Broker.handle`."""
        if call.path == exchanges.CONTEXTS:
            return self._answer_list(call, operation)
        try:
            access = self._find(call.context) if call.context else self.default
        except errors.KubescriptError as error:
            return broker.refuse(call, operation, error), None
        if access is None:
            return broker.refuse(call, operation, self._refuse_name(call.context)), None
        if door.is_for_source(call):
            return self._ask_source(access, call, operation, timeout_s)
        reply, response = access.broker.handle(call, operation, self._share(operation, timeout_s))
        # A cluster that has answered can say what the rules name; a denial by a mistaken rule shows that it has
        # answered.
        is_mistaken = reply.fault is not None and reply.fault.code == rule_checks.MISTAKEN
        has_answered = response is not None or is_mistaken
        if has_answered and access.denials is not None:
            access.denials.check_later()
        return reply, response

    def _ask_source(
        self, access: accesses.ClusterAccess, call: exchanges.Call, operation: operation.Operation, timeout_s: float
    ) -> broker.Answer:
        """Answers one call to a source of a cluster."""
        if access.sources is None:
            error = errors.PolicyDenied("this cluster has no sources here ([sources])", code="policy.unknown_source")
            return broker.refuse(call, operation, error), None
        return access.sources.handle(call, operation, self._share(operation, timeout_s))

    def check_rules(self) -> None:
        """Warns of rules for the default cluster that match nothing, for callers that do not use `handle`."""
        denials = self.default.denials
        if denials is not None:
            denials.check()

    def _share(self, operation: operation.Operation, left_s: float) -> float:
        """Returns the part of a script's remaining seconds that one call may take."""
        is_open = self._known is not None and self._known.is_open
        if not is_open and len(self._clusters) == 1:
            return left_s
        return left_s * _SHARE if left_s > operation.reserve_s else 0.0

    def _answer_list(self, call: exchanges.Call, operation: operation.Operation) -> broker.Answer:
        """Answers a script that asks which clusters it may name."""
        operation.summary.count_call()
        query = dict(call.query)
        selector, group = query.get("labelSelector", ""), query.get("group", "")
        try:
            names = self._known.select(selector, group) if self._known is not None else []
        except errors.RequestError as error:
            return exchanges.Reply(0, fault=protocol.ScriptFault(error.code, error.message)), None
        names.sort(key=lambda name: name != _chosen.get())  # the default one first
        body = msgspec.json.encode(names)
        response = types.Response(200, "OK", "application/json", iter([body]), lambda: None)
        return exchanges.Reply(200, "OK", "application/json"), response

    def _find(self, name: str) -> accesses.ClusterAccess | None:
        """Returns the access to the cluster of this name; None for an unknown one."""
        access = self._clusters.get(name)
        # The server's only cluster may also be called by its own name.
        if access is None and "" in self._clusters and name == self._own_name():
            return self._first()
        return access

    def _refuse_name(self, name: str) -> errors.PolicyDenied:
        """Returns the error for an unknown name."""
        names = self.list_names()
        known = ", ".join(names[:_LISTED])
        if len(names) > _LISTED:
            known += ", …"
        return errors.PolicyDenied(f"no context {name[:_SHOWN]!r}; k8s.contexts() gives {known}", code=_UNKNOWN)
