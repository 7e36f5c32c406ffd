"""A fleet: clusters that are found, not listed, and the settings that they get by their labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from kubescript.config import section
from kubescript.config.context_table import ClusterPolicy
from kubescript.kube import selectors

__all__ = ["Fleet", "LabelSelector"]


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

    source: Literal["kubeconfig-dir"] | None = None
    """What names the clusters: `kubeconfig-dir`, the kubeconfig files of a folder. Default: no cluster is looked
    for."""
    folder: section.UserPath | None = None
    """The folder of kubeconfig files. It is read again when a file changes."""
    max_clusters: Annotated[int, Field(ge=1, le=10_000)] = 1000
    """How many clusters are offered, the first ones by name."""
    groups: Mapping[str, LabelSelector] = {}
    """Named label selectors, for `k8s.contexts(group="prod")`."""
    settings: tuple[FleetSettings, ...] = ()
    """The settings of found clusters: the first table that selects a cluster applies to it."""

    @pydantic.model_validator(mode="after")
    def _check(self) -> Fleet:
        if self.source == "kubeconfig-dir" and self.folder is None:
            raise ValueError("`fleet.source` is kubeconfig-dir, so `fleet.folder` must name the folder")
        return self
