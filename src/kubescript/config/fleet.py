"""A fleet: clusters that are found, not listed, and the settings that they get by their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from kubescript.config import section
from kubescript.config.context_table import ClusterPolicy
from kubescript.kube import selectors

__all__ = ["Fleet", "FleetSettings", "LabelSelector"]


def _check_selector(text: str) -> str:
    selectors.labels(text)  # raises ValueError, in the API server's words
    return text


LabelSelector = Annotated[str, pydantic.AfterValidator(_check_selector)]
"""A label selector as kubectl takes it: `env=prod,region in (eu,us)`. An empty one selects everything."""


class FleetSettings(ClusterPolicy):
    """The settings of those found clusters that a selector selects. Settings that are not given have the server's
    values."""

    label_selector: LabelSelector
    """The clusters, by their labels."""


class Fleet(section.Section):
    """Where clusters are found. Each becomes a context, beside those of `contexts`."""

    source: (
        Literal["kubeconfig-dir", "secrets", "cluster-api", "open-cluster-management", "cluster-profiles"] | None
    ) = None
    """What names the clusters: `kubeconfig-dir`, the kubeconfig files of a folder; or objects of the hub, an API server
    that is watched: `secrets`, Secrets with kubeconfigs; `cluster-api`, Clusters; `open-cluster-management`,
    ManagedClusters; `cluster-profiles`, ClusterProfiles. Default: no cluster is looked for."""
    folder: section.UserPath | None = None
    """The folder of kubeconfig files. It is read again when a file changes."""
    kubeconfig: section.UserPath | None = None
    """Kubeconfig file of the hub; default: the server's."""
    context: str | None = None
    """The hub's context in the kubeconfig; default: the current one, or the pod's own cluster."""
    namespace: str | None = None
    """The namespace of the objects. Default: all namespaces for `cluster-api`, and that of the hub's context, or the
    pod's own, for `secrets` and `cluster-profiles`."""
    label_selector: LabelSelector = ""
    """Which objects of the hub are clusters, by their labels; required for `secrets`."""
    managed_service_account: str = "kubescript"
    """The ManagedServiceAccount whose tokens the server uses, for `open-cluster-management`."""
    max_clusters: Annotated[int, Field(ge=1, le=10_000)] = 1000
    """How many clusters are offered: of a hub the oldest objects, of a folder the first ones by name."""
    groups: Mapping[str, LabelSelector] = {}
    """Named label selectors, for `k8s.contexts(group="prod")`."""
    settings: tuple[FleetSettings, ...] = ()
    """The settings of found clusters: the first table that selects a cluster applies to it."""

    @property
    def is_on(self) -> bool:
        """Whether clusters are looked for."""
        return self.source is not None

    @pydantic.model_validator(mode="after")
    def _check(self) -> Fleet:
        if self.source == "kubeconfig-dir" and self.folder is None:
            raise ValueError("`fleet.source` is kubeconfig-dir, so `fleet.folder` must name the folder")
        # Any Secret would be taken for a kubeconfig.
        if self.source == "secrets" and not self.label_selector:
            raise ValueError("`fleet.source` is secrets, so `fleet.label_selector` must say which Secrets")
        return self
