"""Calls for releases: which revisions exist, and one or several of them in full.

Helm's operator may keep releases in Secrets or in ConfigMaps, and the cluster does not say which. Both are requested in
parallel; a kind that is empty, or that RBAC denies, is ignored if the other one answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import schemas
from kubescript.guest.sdk.values import exceptions
from kubescript.guest.tool_errors import ToolError
from kubescript.wire.exchanges import Call

__all__ = ["LATEST", "NAMESPACE", "Release", "Revision", "find", "latest", "read", "revisions", "unread"]

_HOLDERS: Final = ("secrets", "configmaps")
_STORED: Final = re.compile(r"sh\.helm\.release\.v1\..+\.v([1-9][0-9]{0,8})")
NAMESPACE: Final = "default"
"""The namespace for a release when none is given."""
LATEST: Final = 0
"""The number that stands for the last revision."""

Release = dict[str, Any]
"""One revision as the broker serves it: name, namespace, version, info, chart, config, hooks, resources."""


class Revision(NamedTuple):
    """One revision, according to the labels of the object that stores it."""

    namespace: str
    name: str
    number: int
    status: str
    created: str
    """When Helm created it, to the second."""
    holder: str
    stored: str
    """The name of the Secret or ConfigMap."""


def revisions(k8s: client.K8s, namespace: str | None, selector: str = "") -> list[Revision]:
    """Returns the revisions in one namespace or in all namespaces. Raises ApiException or ToolError if neither Secrets
    nor ConfigMaps can be read."""
    calls = [(_list_revisions, k8s, holder, namespace, selector) for holder in _HOLDERS]
    answers = k8s.parallel(calls)
    everything: list[Revision] = []
    for answer in answers:
        if not isinstance(answer, exceptions.ApiException):
            everything += answer
    # Helm keeps releases in Secrets by default, so their error is the one that is useful.
    first = answers[0]
    if not everything and isinstance(first, exceptions.ApiException):
        if first.code == "cluster.not_captured":
            raise ToolError("releases_not_captured")
        raise first
    return everything


def latest(everything: Iterable[Revision]) -> list[Revision]:
    """Returns the last revision of each release."""
    last: dict[tuple[str, str], Revision] = {}
    for revision in everything:
        key = (revision.namespace, revision.name)
        if key not in last or last[key].number < revision.number:
            last[key] = revision
    return list(last.values())


def read(k8s: client.K8s, wanted: Sequence[Revision]) -> list[Release | exceptions.ApiException]:
    """Returns these revisions in order, without values, notes, hooks and objects; in place of one that cannot be read,
    the error."""
    calls = [(_read, k8s, each, "metadata") for each in wanted]
    answers: list[Release | exceptions.ApiException] = k8s.parallel(calls)
    return answers


def unread(revision: Revision, error: exceptions.ApiException) -> Release:
    """Returns what is known about a revision that cannot be read."""
    why = f"unreadable: {error.message or error.reason}"
    metadata = {"name": "(unreadable)", "version": "", "appVersion": ""}
    info = {"status": revision.status, "last_deployed": revision.created, "description": why}
    return {"version": revision.number, "info": info, "chart": {"metadata": metadata}}


def find(k8s: client.K8s, name: str, namespace: str, number: int) -> Release:
    """Returns one complete revision. Raises ToolError if it does not exist, and ApiException if it cannot be read."""
    known = of_release(k8s, name, namespace)
    matching = [each for each in known if number in {LATEST, each.number}]
    if not matching:
        numbers = ", ".join(str(each.number) for each in sorted(known))
        raise ToolError("revision_not_found", name=name, revision=number, known=numbers)
    found = latest(matching)[0]
    return _read(k8s, found)


def of_release(k8s: client.K8s, name: str, namespace: str) -> list[Revision]:
    """Returns one release's revisions. Raises ToolError if there are none."""
    # Helm labels each object with the name of its release.
    known = revisions(k8s, namespace, f"name={name}")
    if not known:
        raise ToolError("release_not_found", name=name, namespace=namespace)
    return known


def _list_revisions(k8s: client.K8s, holder: str, namespace: str | None, selector: str) -> list[Revision]:
    """Returns the revisions that one kind of object stores."""
    query = (("labelSelector", selector),) if selector else ()
    call = Call("GET", _path(holder, namespace), query)
    listed, _ = k8s._session.fetch_list(call, schemas.OBJECT, "")
    found = []
    for each in listed:
        revision = _revision(holder, each["metadata"])
        if revision is not None:
            found.append(revision)
    return found


def _revision(holder: str, metadata: Any) -> Revision | None:
    """Returns the revision that an object stores; None if the object's name does not fit."""
    labels = metadata.get("labels") or {}
    stored = _STORED.fullmatch(metadata["name"])
    # The number is part of the object's name, and an object with Helm's labels may have any other name.
    if stored is None or "name" not in labels:
        return None
    return Revision(
        namespace=metadata["namespace"],
        name=labels["name"],
        number=int(stored[1]),
        status=labels.get("status", "unknown"),
        created=str(metadata.get("creationTimestamp", "")),
        holder=holder,
        stored=metadata["name"],
    )


def _read(k8s: client.K8s, revision: Revision, extent: Literal["json", "metadata"] = "json") -> Release:
    """Returns one revision, complete or without values, notes, hooks and objects."""
    collection = _path(revision.holder, revision.namespace)
    call = Call("GET", (*collection, revision.stored), accept=extent)
    text, _ = k8s._session.fetch_text(call)
    return msgspec.json.decode(text, type=Release)


def _path(holder: str, namespace: str | None) -> tuple[str, ...]:
    """Returns the path of the releases that one kind of object stores."""
    # The broker serves releases as a separate resource, without access to the objects that store them.
    if namespace:
        return ("apis", "helm.sh", holder, "namespaces", namespace, "releases")
    return ("apis", "helm.sh", holder, "releases")
