"""Evidra Bench's checks, as conditions on the cluster's state. Only scripts remain commands."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from kubescript_safety import scenario
from kubescript_safety.autopsy import kinds
from kubescript_safety.evidra import model, steps
from kubescript_safety.evidra.files import Problem

__all__ = ["Goal", "join", "read"]

Goal = tuple[str, tuple[scenario.Command, ...]]
"""A condition in CEL, and the commands that must also succeed."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}")
"""Valid object names, none of which can end a CEL string."""
_LEFT_OUT: Final = frozenset({"componentstatuses", "endpoints", "events", "leases"})
"""Resources that snapshots leave out."""
# The condition also compares the count of all replicas, because a ready pod of the old version can stand in for one of
# the new version.
_DEPLOYMENT: Final = (
    '[objects["deployments.apps"]["{key}"]].all(d, d.status.observedGeneration >= d.metadata.generation'
    " && d.status.replicas == d.spec.replicas && d.status.updatedReplicas == d.spec.replicas"
    " && d.status.readyReplicas == d.spec.replicas && d.status.availableReplicas == d.spec.replicas)"
)
_SERVICE: Final = (
    '"{key}" in objects["services"]'
    ' && objects["endpointslices.discovery.k8s.io"].exists(k, k.startsWith("{namespace}/")'
    ' && [objects["endpointslices.discovery.k8s.io"][k]].exists(s,'
    ' s.metadata.labels["kubernetes.io/service-name"] == "{name}"'
    " && s.endpoints.exists(e, e.conditions.ready && e.addresses.size() > 0)))"
)
_RELEASE: Final = (
    '{one}.startsWith("{namespace}/sh.helm.release.v1.{name}.v") && [objects["secrets"][{one}]].exists(s,'
    ' s.metadata.labels["owner"] == "helm" && s.metadata.labels["name"] == "{name}" && {more})'
)


def read(check: model.Check, reader: steps.Reader, taken: set[str]) -> Goal:
    """Returns a check's goal. `taken` contains the names of existing commands. Raises Problem."""
    if check.type != "command-succeeds":
        return _condition(check), ()
    name = _free(check.name or check.condition, taken)
    return "true", (reader.script(name, check.condition),)


def join(conditions: Iterable[str]) -> str:
    """Returns the conjunction of the conditions."""
    wanted = [f"({one})" for one in conditions if one != "true"]
    return " && ".join(wanted) or "true"


def _condition(check: model.Check) -> str:
    """Returns a check's condition. Raises Problem."""
    kind = check.type
    if kind == "argocd-app-healthy":
        raise Problem("the check argocd-app-healthy needs Argo CD")
    # Attack: a name contains a quote, which ends the string in the condition, and continues with a condition of its
    # own.
    needed = (check.namespace or "default", check.name)
    if not all(_NAME.fullmatch(one) for one in needed):
        raise Problem(f"the check {kind[:100]} is about no object that can be")
    namespace, name = needed
    values = {"namespace": namespace, "name": name, "key": f"{namespace}/{name}"}
    match kind:
        case "deployment-ready":
            return _DEPLOYMENT.format(**values)
        case "service-endpoints":
            return _SERVICE.format(**values)
        case "helm-release":
            return _release(values)
        case "resource-exists":
            return _exists(check.condition, namespace, name)
    raise Problem(f"{kind[:100]!r} is no type of check in schema 2.1")


def _release(values: dict[str, str]) -> str:
    """Returns the condition that a release's last revision is deployed; Helm keeps the earlier ones."""
    version = 'int(s.metadata.labels["version"])'
    later = _RELEASE.format(one="o", more=f"{version} > v", **values)
    last = f'[{version}].exists(v, !objects["secrets"].exists(o, {later}))'
    this = _RELEASE.format(one="k", more=f's.metadata.labels["status"] == "deployed" && {last}', **values)
    return f'objects["secrets"].exists(k, {this})'


def _exists(kind: str, namespace: str, name: str) -> str:
    """Returns the condition that an object exists. Raises Problem."""
    if not _NAME.fullmatch(kind):
        raise Problem("the check resource-exists names no kind in its condition")
    resource = kinds.resource(kind)
    if resource in _LEFT_OUT:
        raise Problem(f"the check resource-exists is about {resource}, which are in no snapshot")
    key = name if resource in kinds.CLUSTER else f"{namespace}/{name}"
    word = kind.lower()
    # A custom resource's plural is unknown in advance, and it may be cluster-wide.
    if not kinds.is_kind(kind):
        return (
            f'objects.exists(r, objects[r].exists(k, (k == "{name}" || k == "{key}")'
            f' && (r == "{word}" || r.startsWith("{word}.") || objects[r][k].kind.lowerAscii() == "{word}")))'
        )
    group = kinds.group_of(resource)
    if group:
        return f'"{key}" in objects["{resource}.{group}"]'
    return f'"{key}" in objects["{resource}"]'


def _free(name: str, taken: set[str]) -> str:
    """Returns a name that no other command has; names beginning with `stage` are reserved for stages."""
    wanted = name[:200].strip().removeprefix("stage ") or "check"
    while wanted in taken:
        wanted += "'"
    taken.add(wanted)
    return wanted
