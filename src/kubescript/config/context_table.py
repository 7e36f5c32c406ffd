"""The clusters that scripts may name, and the resources that are denied there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from kubescript.config import section
from kubescript.config.sources import Source, SourceName
from kubescript.config.write_policy import WritePolicy

__all__ = ["ClusterPolicy", "Context", "DeniedResource"]


class DeniedResource(section.Section):
    """A kind of object that scripts may not use at all, or of which they may read only a part. A field that is not
    given matches everything."""

    group: str | None = None
    """API group; the core group is "", as in kubernetes-mcp-server and in RBAC."""
    version: str = ""
    """API version, accepted as in kubernetes-mcp-server. A denial holds for every version, because each version serves
    the same objects."""
    kind: str = ""
    """The kind as in manifests: `Secret`. Empty means every kind of the group."""
    resource: str = ""
    """The resource as in RBAC: `secrets`, `serviceaccounts/token`."""
    serve: Literal["nothing", "metadata", "keys"] = "nothing"
    """`metadata`: scripts may get, list and watch the objects, and see their name, namespace, labels, annotations,
    owners and times. `keys`, of Secrets only: also their types and the names of their keys, in place of the default
    `metadata`. If several rules match, the strictest counts."""


class ClusterPolicy(section.Section):
    """What scripts may do in a cluster. Settings that are not given have the server's values."""

    read_only: bool | None = None
    """Whether to refuse every request that could change this cluster; default: the server's value."""
    writes: Literal["off", "plan", "direct"] | None = None
    """The mode in which this cluster may be changed; default: the server's value."""
    write_policy: WritePolicy | None = None
    """The permitted changes to this cluster. Settings missing from the table have the server's values."""
    denied_resources: tuple[DeniedResource, ...] | None = None
    """Resources that are denied in this cluster. They replace the server's list, and do not extend it."""
    deny_defaults: bool | None = None
    """Whether to keep the default denials for this cluster; default: the server's value."""
    sources: Mapping[SourceName, Source] | None = None
    """The sources of metrics, alerts, logs and traces of this cluster. They replace the server's."""
    audience: Annotated[str | None, Field(min_length=1)] = None
    """The audience of the tokens that this API server takes. Default: the server's value for a listed cluster, and none
    for found ones."""


class Context(ClusterPolicy):
    """One of several clusters. Settings that are not given have the server's values."""

    context: str | None = None
    """The context's name in the kubeconfig; default: the name of the table. The two may differ, because two kubeconfig
    files may both have a context "default"."""
    kubeconfig: section.UserPath | None = None
    """Kubeconfig file of this cluster; default: the server's."""
    snapshot: section.UserPath | None = None
    """The saved cluster to serve instead of a live one."""
    labels: Mapping[str, str] = {}
    """The cluster's labels, for `k8s.contexts(label_selector=...)` and `context_selector` in `[[access]]`."""
