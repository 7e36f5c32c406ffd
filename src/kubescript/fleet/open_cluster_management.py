"""The source `open-cluster-management`: ManagedClusters, with the tokens of one ManagedServiceAccount in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from kubescript.cluster import base
from kubescript.fleet import following, hub, objects

__all__ = ["OpenClusterManagement"]

_GROUP: Final = "cluster.open-cluster-management.io"
_AVAILABLE: Final = "ManagedClusterConditionAvailable"


class _ClientConfig(msgspec.Struct, frozen=True):
    url: str
    ca: str = msgspec.field(name="caBundle", default="")


class _Spec(msgspec.Struct, frozen=True):
    configs: list[_ClientConfig] = msgspec.field(name="managedClusterClientConfigs", default_factory=list)
    is_accepted: bool = msgspec.field(name="hubAcceptsClient", default=False)


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition] = []


class _Written(msgspec.Struct, frozen=True):
    metadata: objects.Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


@dataclass(frozen=True, slots=True)
class _Cluster:
    """What is kept of a ManagedCluster."""

    labels: Mapping[str, str]
    is_available: bool
    """Whether the hub has accepted the cluster, and its agent reports it available."""
    config: _ClientConfig | None


class OpenClusterManagement(following.Followed):
    """Managed clusters that the hub has accepted; they are members while they are available."""

    def __init__(self, cluster: base.Cluster, account: str, label_selector: str, most: int) -> None:
        """`account` is the name of the ManagedServiceAccount; `label_selector` selects ManagedClusters. At most `most`
        of them are kept."""
        clusters = objects.Kind(_GROUP, "managedclusters", label_selector=label_selector)
        # The addon's agent keeps the account's token in a Secret of the same name, in the cluster's namespace.
        tokens = objects.Kind("", "secrets", name=account)
        self._account = account
        self._clusters = hub.Watch(cluster, clusters, _read_cluster, most)
        self._tokens = hub.Watch(cluster, tokens, _read_token, most)
        super().__init__(self._clusters, self._tokens)

    def find(self) -> Iterator[following.Candidate | following.Problem]:
        """See `following.Followed`."""
        tokens = self._tokens.objects()
        for key, cluster in self._clusters.objects().items():
            if not cluster.is_available:
                continue
            secret = tokens.get(objects.Key(key.name, self._account))
            if secret is None:
                why = f"there is no usable Secret {key.name}/{self._account}, which a ManagedServiceAccount makes"
                yield following.Problem(key.name, why)
            elif cluster.config is None:
                yield following.Problem(key.name, "the ManagedCluster has no address in managedClusterClientConfigs")
            else:
                content = objects.write_kubeconfig(_cluster_of(cluster.config), secret.value)
                yield following.Candidate(key.name, cluster.labels, content)


def _cluster_of(config: _ClientConfig) -> dict[str, str]:
    """Returns the cluster's section of a kubeconfig; without a CA, the system's CAs count."""
    return {"server": config.url, "certificate-authority-data": config.ca}


def _read_cluster(content: bytes) -> _Cluster:
    cluster = msgspec.json.decode(content, type=_Written)
    config = next(iter(cluster.spec.configs), None)
    size = len(config.url) + len(config.ca) if config is not None else 0
    if size > objects.MAX_BYTES:
        raise ValueError(f"its address and caBundle are larger than {objects.MAX_BYTES >> 10} KiB")
    is_reported = _Condition(_AVAILABLE, "True") in cluster.status.conditions
    is_available = cluster.spec.is_accepted and is_reported
    return _Cluster(cluster.metadata.labels, is_available, config)


def _read_token(content: bytes) -> objects.Secret:
    return objects.read_secret(content, ("token",))
