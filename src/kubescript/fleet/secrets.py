"""The source `secrets`: a Secret for each cluster, with its kubeconfig."""

from __future__ import annotations

from collections.abc import Iterator

from kubescript.cluster import base
from kubescript.fleet import following, hub, objects

__all__ = ["Secrets"]


class Secrets(following.Followed):
    """Secrets of one namespace; their names and labels are the clusters'."""

    def __init__(self, cluster: base.Cluster, namespace: str, label_selector: str, most: int) -> None:
        """At most `most` Secrets are kept."""
        kind = objects.Kind("", "secrets", namespace, label_selector)
        self._secrets = hub.Watch(cluster, kind, _read, most)
        super().__init__(self._secrets)

    def find(self) -> Iterator[following.Candidate]:
        """See `following.Followed`."""
        for key, secret in self._secrets.objects().items():
            yield following.Candidate(key.name, secret.labels, secret.value)


def _read(content: bytes) -> objects.Secret:
    return objects.read_secret(content, ("kubeconfig", "value"), or_only=True)
