"""Provides the built-in kinds, read from the table of operations. explain.py finds them by any name that kubectl
accepts, without a call to the cluster."""

from __future__ import annotations

import functools
from typing import NamedTuple

from kubescript.guest.sdk.values import names, operations
from kubescript.kube import kinds as kube_kinds

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
        """Returns group and version, as in an object's apiVersion."""
        return kube_kinds.api_version(self.group, self.version)


@functools.lru_cache(1)
def kinds() -> tuple[Kind, ...]:
    """Returns every built-in kind; stable versions come first, the core group before all others."""
    found: dict[tuple[str, str, str], Kind] = {}
    for api in operations.apis():
        for name in operations.operations(api):
            operation = operations.operation(api, name)
            segments = operation.path.strip("/").split("/")
            # Each kind has one method that reads an object by name; subresources and lists have other paths.
            reads_one = operation.verb == "GET" and segments[-1] == "{name}"
            if not reads_one or operation.returns not in operations.models():
                continue
            kind = _make_kind(segments, operation.returns)
            key = (kind.group, kind.version, kind.plural)
            found.setdefault(key, kind)
    return tuple(sorted(found.values(), key=_preference))


def _preference(kind: Kind) -> tuple[bool, int, bool, str]:
    """Returns the sort key of kinds that share a name: `find` takes the first of them."""
    version = kind.version
    unstable = "alpha" in version or "beta" in version
    major = int(version.lstrip("v")[:1])
    return unstable, -major, bool(kind.group), kind.group


def _make_kind(segments: list[str], model: str) -> Kind:
    """Returns the kind at a path, such as /apis/apps/v1/namespaces/{namespace}/deployments/{name}."""
    # The core group is at /api, without a name.
    group = "" if segments[0] == "api" else segments[1]
    version = segments[2] if group else segments[1]
    kind = _kind_of_model(model, version)
    namespaced = "{namespace}" in segments
    return Kind(group, version, kind, segments[-2], model, namespaced)


def _kind_of_model(model: str, version: str) -> str:
    """Returns the kind of a model: V1Deployment is Deployment, CoreV1Event is Event."""
    prefix = f"{version[:1].upper()}{version[1:]}"
    _, _, kind = model.partition(prefix)
    return kind or model


@functools.lru_cache(1)
def _by_model() -> dict[str, Kind]:
    # The kinds are reversed so that, of several kinds with the same model, the preferred one is kept.
    return {kind.model: kind for kind in reversed(kinds())}


def of_model(model: str) -> Kind | None:
    """Returns the kind whose objects are of this model: V1Pod is Pod in v1."""
    return _by_model().get(model)


def find(name: str, api_version: str | None = None) -> Kind | None:
    """Returns the built-in kind for a name such as Deployment, deployments, deploy or deployments.apps."""
    short, _, group = name.lower().partition(".")
    wanted = names.fold(kube_kinds.SHORT_NAMES.get(short, short))
    for kind in kinds():
        if wanted not in (kind.plural, kind.kind.lower()):
            continue
        in_group = not group or kind.group == group
        if in_group and api_version in (None, kind.api_version):
            return kind
    return None
