"""The cluster's own discovery: the kind of a custom or aggregated resource, and whether a rule names anything. The
policy needs both to decide on rules that name a kind.

Answers are cached for a minute, because a definition that is deleted and recreated under the same plural may have a
different kind. Misses are not cached, because a definition may be added later.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from typing import Final, TypeVar

import msgspec

from kubescript import errors
from kubescript.cluster import base, bodies
from kubescript.kube import paths
from kubescript.policy import denied_resources
from kubescript.request import request
from kubescript_sandbox.host import cancellation

__all__ = ["Catalogue", "KindResolver"]

log = logging.getLogger(__name__)

_FRESH_S: Final = 60.0
"""Seconds that an answer is cached: a definition recreated under the same plural may have a different kind."""
_CALL_S: Final = 10.0
# How many group versions are cached. Large clusters have a few hundred.
_MAX_KNOWN: Final = 1_000
_MAX_BYTES: Final = 8 * 1024 * 1024
# Attack: an API server claims to serve any version a script can think of, with hundreds of thousands of names in each.
_MAX_GROUPS: Final = 5_000
_MAX_NAMES: Final = 5_000
"""How many resources and subresources one group version may have; the core group has about fifty."""
_MAX_REMEMBERED: Final = 100_000
"""How many resources and subresources the whole cache may hold."""
_MAX_NAME: Final = 253
"""The maximum number of characters of a name in Kubernetes."""
# Attack: a group or version such as `../../api/v1` would become part of a path.
_GROUP: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_VERSION: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_Document = TypeVar("_Document", bound=msgspec.Struct)


class _Resource(msgspec.Struct):
    name: str
    kind: str


class _Resources(msgspec.Struct):
    resources: list[_Resource]


class _Version(msgspec.Struct):
    version: str

    @property
    def is_one(self) -> bool:
        """Whether the version is valid for an API server."""
        if len(self.version) > _MAX_NAME:
            return False
        return _VERSION.fullmatch(self.version) is not None


class _Group(msgspec.Struct):
    name: str
    versions: list[_Version]

    @property
    def is_one(self) -> bool:
        """Whether the group and its versions are valid for an API server."""
        if len(self.name) > _MAX_NAME or not _GROUP.fullmatch(self.name):
            return False
        return all(version.is_one for version in self.versions)


class Catalogue(msgspec.Struct):
    """The groups of a cluster."""

    groups: list[_Group]
    # True when the catalogue was made from a few saved objects: groups or kinds missing from it may still exist.
    partial: bool = False

    def versions(self, group: str) -> list[str]:
        """Returns the versions of one group; none when the group is not served."""
        if not group:  # the core group, which the document about all groups leaves out
            return ["v1"]
        found = [one for one in self.groups if one.name == group]
        return [each.version for one in found for each in one.versions]

    def every(self) -> dict[str, list[str]]:
        """Returns each group, including the core group, with its versions."""
        found: dict[str, list[str]] = {}
        for group in self.groups:
            versions = found.setdefault(group.name, [])
            versions += [each.version for each in group.versions]
        # The document about all groups leaves out the core group.
        found[""] = ["v1"]
        return found


# Two threads that decode into a type simultaneously for the first time can crash msgspec 0.22, so each type is used
# once here.
for _type in (_Resources, Catalogue):
    msgspec.json.Decoder(_type)


class KindResolver:
    """The implementation of `policy.Resolver` and `policy.Named`. Safe for use from many threads."""

    def __init__(self, cluster: base.Cluster) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[float, dict[str, str]]] = {}
        """(group, version) → when it was answered, and the kind of each resource; the oldest first."""
        self._catalogue: tuple[float, Catalogue | None] = (0.0, None)
        """When the groups were answered, and the answer."""

    def __call__(
        self,
        group: str,
        version: str,
        resource: str,
        timeout_s: float = _CALL_S,
        cancel: cancellation.Cancellation | None = None,
    ) -> str | None:
        """Returns the kind, or None when the cluster does not answer in time: the policy then denies."""
        kinds = self._recall(group, version)
        if resource not in kinds:
            kinds = self._ask(group, version, min(timeout_s, _CALL_S), cancel or cancellation.Cancellation())
        return kinds.get(resource)

    def serves(
        self,
        rule: denied_resources.DeniedResource,
        timeout_s: float = _CALL_S,
        cancel: cancellation.Cancellation | None = None,
    ) -> bool | None:
        """Says whether the group of `rule` serves what the rule names, or is not served at all; None when the cluster
        does not answer."""
        deadline = time.monotonic() + min(timeout_s, _CALL_S)
        cancel = cancel or cancellation.Cancellation()
        found = self.catalogue(deadline, cancel)
        if found is None:
            return None
        groups = found.every()
        if rule.api_group is not None:
            groups = {rule.api_group: found.versions(rule.api_group)}
        served = [(group, version) for group, versions in groups.items() for version in versions]
        # In a catalogue of a few saved objects, what is missing may still exist.
        if found.partial or not served:
            return True
        offers = [self.list_offers(group, version, deadline, cancel) for group, version in served]
        if any(map(rule.names, offers)):
            return True
        return False if all(offers) else None

    def catalogue(self, deadline: float, cancel: cancellation.Cancellation) -> Catalogue | None:
        """Returns the groups that the cluster serves; None when it does not answer by `deadline` (time.monotonic)."""
        with self._lock:
            when, found = self._catalogue
        if found is not None and time.monotonic() - when < _FRESH_S:
            return found
        left = deadline - time.monotonic()
        found = self._fetch("/apis", Catalogue, left, cancel)
        if found is not None and not _is_plausible(found):
            found = None
        with self._lock:
            self._catalogue = (time.monotonic(), found)
        return found

    def list_offers(
        self, group: str, version: str, deadline: float, cancel: cancellation.Cancellation
    ) -> dict[str, str]:
        """Maps `certificates`, `certificates/status`, … to kinds; empty when the cluster does not answer by
        `deadline`."""
        known = self._recall(group, version)
        if known:
            return known
        left = deadline - time.monotonic()
        return self._ask(group, version, left, cancel)

    def _recall(self, group: str, version: str) -> dict[str, str]:
        with self._lock:
            known = self._known.get((group, version))
        if known is None:
            return {}
        when, kinds = known
        is_fresh = time.monotonic() - when < _FRESH_S
        return kinds if is_fresh else {}

    def _ask(self, group: str, version: str, timeout_s: float, cancel: cancellation.Cancellation) -> dict[str, str]:
        """Asks the cluster for the kinds of a group version; empty when it does not answer in time."""
        segments = paths.root(group, version)
        found = self._fetch("/" + "/".join(segments), _Resources, timeout_s, cancel)
        kinds = _map_kinds(found.resources) if found is not None else {}
        about = {"event": "discovery.call"}
        log.debug("asked which kinds %s/%s has", group, version, extra=about)
        if kinds:  # attack: a script invents endless groups, so only groups that exist are cached
            self._remember((group, version), kinds)
        return kinds

    def _fetch(
        self, path: str, shape: type[_Document], timeout_s: float, cancel: cancellation.Cancellation
    ) -> _Document | None:
        """Returns one document; None when it does not exist or does not arrive in time."""
        # Attack: a hostile API server names 100,000 groups, which would all be queried long after the deadline.
        if timeout_s <= 0 or cancel.cancelled:
            return None
        call = request.Request("GET", path, (), verb="get", is_resource=False)
        too_large = errors.ClusterError("the discovery document is too large to be a real one", code="cluster.broken")
        try:
            response = self._cluster.perform(call, max(0.001, timeout_s), cancel)
            with contextlib.closing(response):
                if response.status != 200:
                    return None
                return msgspec.json.decode(bodies.read_whole(response.chunks, _MAX_BYTES, too_large), type=shape)
        except (errors.KubescriptError, msgspec.MsgspecError):
            return None

    def _remember(self, key: tuple[str, str], kinds: dict[str, str]) -> None:
        """Caches kinds, and evicts the oldest entries when there are too many."""
        with self._lock:
            self._known.pop(key, None)
            held = len(kinds)
            for _, known in self._known.values():
                held += len(known)
            while self._known and (len(self._known) >= _MAX_KNOWN or held > _MAX_REMEMBERED):
                oldest = next(iter(self._known))
                _, evicted = self._known.pop(oldest)
                held -= len(evicted)
            self._known[key] = (time.monotonic(), kinds)


def _is_plausible(found: Catalogue) -> bool:
    """Says whether each group is valid for an API server, and their number is plausible."""
    count = sum(1 + len(group.versions) for group in found.groups)
    if count > _MAX_GROUPS:
        return False
    return all(group.is_one for group in found.groups)


def _map_kinds(resources: list[_Resource]) -> dict[str, str]:
    """Maps the name of each resource to its kind; empty when the resources are implausibly many or long."""
    if len(resources) > _MAX_NAMES:
        return {}
    kinds = {}
    for resource in resources:
        if max(len(resource.name), len(resource.kind)) > _MAX_NAME:
            return {}
        kinds[resource.name] = resource.kind
    return kinds
