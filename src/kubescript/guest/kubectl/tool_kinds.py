"""`Kind`, the kind that a tool's `resource` names, with the path of its objects. Built-in kinds need no call to the
cluster; custom ones are looked up in discovery."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import builtin_kinds, exceptions, names
from kubescript.guest.tool_errors import ToolError
from kubescript.kube import kinds, paths
from kubescript.wire import messages

__all__ = ["Kind", "explain_unsupported", "find", "find_built_in"]

# A name with a version, which kubectl accepts too, such as deployments.v1.apps.
_VERSIONED: Final = re.compile(r"([\w-]+)\.(v\d+(?:(?:alpha|beta)\d+)?)\.(\w[\w.-]*)", re.ASCII)


class Kind(NamedTuple):
    """A kind of object."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool
    model: str = ""
    """A built-in kind's model, such as V1Pod, or else empty."""

    @property
    def api_version(self) -> str:
        """Group and version, as in an object's apiVersion."""
        return kinds.api_version(self.group, self.version)

    @property
    def full_name(self) -> str:
        """Plural and group, such as "certificates.cert-manager.io"."""
        return kinds.full_name(self.group, self.plural)

    def path(self, namespace: str | None, name: str | None = None) -> tuple[str, ...]:
        """Returns the path of one object, or of all in a namespace or in the cluster."""
        # As in kubectl, a cluster-wide kind accepts any namespace, which has no effect.
        within = namespace if self.namespaced else None
        return paths.join(self.group, self.version, self.plural, within or None, name or None)


def find(k8s: client.K8s, resource: str) -> Kind:
    """Returns the kind for any name that kubectl accepts. Raises ToolError for a kind that the cluster does not
    serve."""
    found = find_built_in(resource)
    if found:
        return Kind(found.group, found.version, found.plural, found.kind, found.namespaced, found.model)
    if _is_several(resource):  # no cluster serves it, so no call is made
        raise explain_unsupported(k8s, resource)
    try:
        served = k8s.discovery().find(resource)
    except exceptions.NotFoundException:
        raise explain_unsupported(k8s, resource) from None
    return Kind(served.group, served.version, served.name, served.kind, served.namespaced)


def find_built_in(resource: str) -> builtin_kinds.Kind | None:
    """Returns the built-in kind for a name such as po, Deployment, deploy.apps or deployments.v1.apps."""
    versioned = _VERSIONED.fullmatch(resource)
    if not versioned:
        return builtin_kinds.find(resource)
    name, version, group = versioned.groups()
    return builtin_kinds.find(f"{name}.{group}", f"{group}/{version}")


def explain_unsupported(k8s: client.K8s, resource: str) -> ToolError:
    """Returns the error for a kind that the cluster does not serve, with similar names or a hint on naming kinds."""
    hint = _suggest(k8s, resource)
    return ToolError("unsupported_resource", resource=f"{resource}; {hint}")


def _is_several(resource: str) -> bool:
    """Says whether a string names several kinds, as kubectl allows."""
    return resource.lower() == "all" or "," in resource


def _suggest(k8s: client.K8s, resource: str) -> str:
    """Returns the names of kinds that the cluster serves, if any are similar, or else how kinds are named."""
    if _is_several(resource):
        return messages.text("one_kind")
    known = set()
    served = k8s.discovery().preferred()
    for kind in served:
        known |= {kind.name, kind.full_name}
    near = names.nearest(resource.lower(), sorted(known), 3)
    if not near:
        return messages.text("custom_kind")
    words = ", ".join(near)
    return f"near: {words}"
