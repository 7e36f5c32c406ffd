"""The source `cluster-api`: Clusters of Cluster API, whose kubeconfigs it keeps in Secrets beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from kubescript.cluster import base
from kubescript.fleet import following, hub, objects

__all__ = ["ClusterApi"]

_GROUP: Final = "cluster.x-k8s.io"
# Cluster API's contract: the kubeconfig of CLUSTER is in the key `value` of the Secret CLUSTER-kubeconfig.
_LABEL: Final = "cluster.x-k8s.io/cluster-name"
_SUFFIX: Final = "-kubeconfig"
_KEY: Final = "value"


class _Status(msgspec.Struct, frozen=True):
    phase: str = ""


class _Cluster(msgspec.Struct, frozen=True):
    metadata: objects.Metadata
    status: _Status = _Status()


class ClusterApi(following.Followed):
    """Clusters of one namespace, or of all; they are members while they are provisioned."""

    def __init__(self, cluster: base.Cluster, namespace: str, label_selector: str, most: int) -> None:
        """An empty namespace means all; `label_selector` selects Clusters. At most `most` of them are kept."""
        clusters = objects.Kind(_GROUP, "clusters", namespace, label_selector)
        secrets = objects.Kind("", "secrets", namespace, _LABEL)
        self._clusters = hub.Watch(cluster, clusters, _read_cluster, most)
        # Attack: a tenant who may make Secrets, and no Clusters, makes as many as are kept.
        self._secrets = hub.Watch(cluster, secrets, _read_secret, most, self._list_needed)
        super().__init__(self._clusters, self._secrets)

    def find(self) -> Iterator[following.Candidate | following.Problem]:
        """See `following.Followed`."""
        secrets = self._secrets.objects()
        for key, cluster in self._clusters.objects().items():
            name = self._name(key)
            secret = secrets.get(_secret_of(key))
            if secret is None:
                yield following.Problem(name, f"there is no usable Secret {key}{_SUFFIX} with the label {_LABEL}")
            else:
                yield following.Candidate(name, cluster.metadata.labels, secret.value)

    def _list_needed(self) -> frozenset[objects.Key] | None:
        """Returns the Secrets of all Clusters; None before the first list of these."""
        if not self._clusters.changes:
            return None
        return frozenset(map(_secret_of, self._clusters.objects()))

    def _name(self, key: objects.Key) -> str:
        """Returns the member's name: the Cluster's own, or behind its namespace where all are watched."""
        # Attack: a Cluster made in another namespace takes over a name, with all that the name permits.
        # A namespace has no dots, so no two Clusters have one name.
        return key.name if self._clusters.kind.namespace else f"{key.namespace}.{key.name}"


def _secret_of(cluster: objects.Key) -> objects.Key:
    return objects.Key(cluster.namespace, cluster.name + _SUFFIX)


def _read_cluster(content: bytes) -> _Cluster | None:
    """Returns a provisioned Cluster; others have no place among those that are kept."""
    cluster = msgspec.json.decode(content, type=_Cluster)
    return cluster if cluster.status.phase == "Provisioned" else None


def _read_secret(content: bytes) -> objects.Secret | None:
    """Returns the kubeconfig; None for the Secrets with keys of CAs, which have the same label."""
    if not msgspec.json.decode(content, type=objects.Object).metadata.name.endswith(_SUFFIX):
        return None
    return objects.read_secret(content, (_KEY,))
