"""Owns the built-in kinds, read from the table of operations; explain.py finds them by any name that kubectl knows,
without a call to the cluster."""

from __future__ import annotations

import functools
from typing import NamedTuple

from kubescript.kube import kinds as kube_kinds
from kubescript.worker.sdk import names, operations

__all__ = ["Kind", "find", "kinds", "of_model"]


class Kind(NamedTuple):
    """One kind in one version."""

    group: str
    version: str
    kind: str
    plural: str
    model: str
    namespaced: bool = False

    @property
    def api_version(self) -> str:
        """Group and version, as an object's apiVersion has them."""
        return kube_kinds.api_version(self.group, self.version)


@functools.lru_cache(1)
def kinds() -> tuple[Kind, ...]:
    """Returns every built-in kind; stable versions come first, the core group before all others."""
    found: dict[tuple[str, str, str], Kind] = {}
    for api in operations.apis():
        for name in operations.operations(api):
            operation = operations.operation(api, name)
            segments = operation.path.strip("/").split("/")
            # A kind is what one method reads by name; subresources and lists have other paths.
            reads_one = operation.verb == "GET" and segments[-1] == "{name}"
            if not reads_one or operation.returns not in operations.models():
                continue
            kind = _kind(segments, operation.returns)
            key = (kind.group, kind.version, kind.plural)
            found.setdefault(key, kind)
    return tuple(sorted(found.values(), key=_preference))


def _preference(kind: Kind) -> tuple[bool, int, bool, str]:
    """The sort key of kinds that share a name: `find` takes the first of them."""
    unstable = "alpha" in kind.version or "beta" in kind.version
    major = int(kind.version.lstrip("v")[:1])
    return unstable, -major, bool(kind.group), kind.group


def _kind(segments: list[str], model: str) -> Kind:
    if segments[0] == "api":
        group, version = "", segments[1]
    else:
        group, version = segments[1], segments[2]
    return Kind(group, version, _bare(model, group, version), segments[-2], model, "{namespace}" in segments)


def _bare(model: str, group: str, version: str) -> str:
    """Returns the kind of a model: V1Deployment is Deployment, CoreV1Event is Event."""
    prefix = f"{version[:1].upper()}{version[1:]}"
    return model.partition(prefix)[2] or model


@functools.lru_cache(1)
def _by_model() -> dict[str, Kind]:
    return {kind.model: kind for kind in reversed(kinds())}


def of_model(model: str) -> Kind | None:
    """Returns the kind whose objects are of this model: V1Pod is Pod in v1."""
    return _by_model().get(model)


def find(name: str, api_version: str | None = None) -> Kind | None:
    """Returns the built-in kind of a name such as Deployment, deployments, deploy or deployments.apps."""
    wanted, _, group = name.lower().partition(".")
    wanted = kube_kinds.SHORT_NAMES.get(wanted, wanted)
    for kind in kinds():
        if names.fold(wanted) not in (kind.plural, kind.kind.lower()):
            continue
        if (not group or kind.group == group) and api_version in (None, kind.api_version):
            return kind
    return None
