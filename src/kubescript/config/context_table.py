"""The clusters that scripts may name, and what no script may touch there."""

from __future__ import annotations

from typing import Literal

from kubescript.config import section
from kubescript.config.write_policy import WritePolicy

__all__ = ["Context", "DeniedResource"]


class DeniedResource(section.Section):
    """A kind of object that no script may touch in any way, or of which it may read the metadata alone. A field that is
    not given matches everything."""

    group: str | None = None
    """API group; the core group is "", as in kubernetes-mcp-server and in RBAC."""
    version: str = ""
    """API version, accepted as in kubernetes-mcp-server. A denial holds for every version, because each version serves
    the same objects."""
    kind: str = ""
    """As in manifests: `Secret`. Empty means every kind of the group."""
    resource: str = ""
    """As in RBAC: `secrets`, `serviceaccounts/token`."""
    serve: Literal["nothing", "metadata"] = "nothing"
    """`metadata`: scripts may get, list and watch the objects, and see name, namespace, labels, annotations, owners and
    times of them. Of several rules for the same objects the strictest counts."""


class Context(section.Section):
    """One of several clusters. A setting that is not given has the server's value."""

    context: str | None = None
    """The context's name in the kubeconfig; default: the name of the table. The two may differ, because two kubeconfig
    files may both have a context "default"."""
    kubeconfig: section.UserPath | None = None
    """Kubeconfig file of this cluster; default: the server's."""
    snapshot: section.UserPath | None = None
    """A saved cluster instead of a live one."""
    read_only: bool | None = None
    """Refuse every request that could change this cluster; default: the server's value."""
    writes: Literal["off", "plan", "direct"] | None = None
    """How this cluster may be changed; default: the server's value."""
    write_policy: WritePolicy | None = None
    """What of this cluster may be changed. What is not given in the table has the server's value."""
    denied_resources: tuple[DeniedResource, ...] | None = None
    """Denied in this cluster. They replace the server's and are not added to them."""
    deny_defaults: bool | None = None
    """Keep the default denials for this cluster; default: the server's value."""
