"""The kinds whose objects a plan may affect, by the API server's own discovery: all that a namespace can list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.kubectl.describe import subject
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk import client
from kubescript.guest.sdk.discovery import discovery
from kubescript.guest.sdk.objects import schemas
from kubescript.guest.sdk.values import exceptions
from kubescript.wire import exchanges

__all__ = ["Served", "discover"]

MAX_KINDS: Final = 60
"""How many kinds of a namespace are looked at. A cluster without custom kinds serves about 35."""
_SHOWN: Final = 5
"""How many kinds that are not looked at are named."""
_FIRST: Final = ("", "apps", "batch")
"""Groups that come first: their objects run."""
_RARE: Final = frozenset({
    ("", "endpoints"), ("", "events"), ("apps", "controllerrevisions"), ("discovery.k8s.io", "endpointslices"),
    ("events.k8s.io", "events"),
})  # fmt: skip
"""Kinds that are not worth reporting, since their controllers make them from other objects. Attack: one of them owns a
claim, which goes with it."""
# Metrics and packages are computed for each answer.
_VIRTUAL: Final = frozenset({"metrics.k8s.io", "packages.operators.coreos.com"})


class Served(NamedTuple):
    """The kinds that a cluster serves."""

    kinds: list[tool_kinds.Kind]
    """Namespaced kinds that can be listed, each in its group's preferred version."""
    rare: list[tool_kinds.Kind]
    """Kinds to look at only where an object of theirs is deleted, or owns another one."""
    missing: list[str]
    """What is not looked at, with the reason."""


def discover(k8s: client.K8s, groups: Sequence[str] = ()) -> Served:
    """Returns the kinds to look at; those of `groups` come before other custom ones. Raises ApiException."""
    listed = [_fetch(k8s, "api"), _fetch(k8s, "apis")]
    if all(cells.at(each, "kind") == "APIGroupDiscoveryList" for each in listed):
        kinds = [kind for each in listed for kind in _list_kinds(each)]
        missing = [group for each in listed for group in _list_stale(each)]
    else:
        # API servers before 1.30 have one document for each group.
        kinds, missing = _read_each(k8s)
    rare = [kind for kind in kinds if (kind.group, kind.plural) in _RARE]
    kinds = [kind for kind in kinds if (kind.group, kind.plural) not in _RARE]
    first = {group: place for place, group in enumerate((*_FIRST, *groups))}
    kinds.sort(key=lambda kind: first.get(kind.group, len(first)))
    beyond = kinds[MAX_KINDS:]
    if beyond:
        names = ", ".join(cells.line(kind.full_name) for kind in beyond[:_SHOWN])
        more = ", …" if len(beyond) > _SHOWN else ""
        missing.append(f"{len(beyond)} more kinds ({names}{more})")
    return Served(kinds[:MAX_KINDS], rare, missing)


def _fetch(k8s: client.K8s, path: str) -> Any:
    """Returns a document of the aggregated discovery; that of an older API server is of another kind."""
    call = exchanges.Call("GET", (path,), accept="discovery")
    document, _ = k8s._session.fetch(call, schemas.FREE)
    return subject.plain(document)


def _list_kinds(document: Any) -> Iterator[tool_kinds.Kind]:
    """Yields the kinds of a document of the aggregated discovery."""
    for group in cells.elements(document, "items"):
        name = cells.at(group, "metadata.name", "")
        seen: set[str] = set()
        # The preferred version comes first; a kind may be in another one alone.
        for version in cells.elements(group, "versions"):
            for each in cells.elements(version, "resources"):
                plural = str(each.get("resource"))
                if plural in seen or each.get("scope") != "Namespaced":
                    continue
                seen.add(plural)
                if name not in _VIRTUAL and "list" in cells.elements(each, "verbs"):
                    kind = str(cells.at(each, "responseKind.kind", ""))
                    yield tool_kinds.Kind(name, str(version.get("version")), plural, kind, namespaced=True)


def _list_stale(document: Any) -> Iterator[str]:
    """Yields the groups whose own API server does not answer."""
    for group in cells.elements(document, "items"):
        name = cells.at(group, "metadata.name", "")
        versions = cells.elements(group, "versions")
        if name not in _VIRTUAL and any(each.get("freshness") == "Stale" for each in versions):
            yield _describe_silent(name)


def _describe_silent(group: str) -> str:
    return f"group {cells.line(group)} (its API server does not answer)"


def _read_each(k8s: client.K8s) -> tuple[list[tool_kinds.Kind], list[str]]:
    """Returns the kinds of an API server without the aggregated discovery, and the groups that do not answer."""
    served_by = k8s.discovery()
    versions = {"": "v1"} | {each.name: each.preferred_version.group_version for each in served_by.groups()}
    kinds: list[tool_kinds.Kind] = []
    missing = []
    for group, version in versions.items():
        if group in _VIRTUAL:
            continue
        try:
            served = served_by.server_resources_for_group_version(version)
        except exceptions.ApiException:
            missing.append(_describe_silent(group))
            continue
        kinds += _list_resources(served)
    return kinds, missing


def _list_resources(served: Sequence[discovery.ApiResource]) -> Iterator[tool_kinds.Kind]:
    """Yields the kinds of one group version that are looked at."""
    for each in served:
        if each.namespaced and "list" in each.verbs:
            yield tool_kinds.Kind(each.group, each.version, each.name, each.kind, namespaced=True)
