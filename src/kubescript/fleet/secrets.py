"""The source `secrets`: a Secret for each cluster, with its kubeconfig."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping

from kubescript.cluster import base
from kubescript.fleet import following, hub, member, objects

__all__ = ["Secrets"]


class Secrets:
    """Secrets of one namespace; their names and labels are the clusters'."""

    def __init__(self, cluster: base.Cluster, namespace: str, label_selector: str, most: int) -> None:
        """At most `most` Secrets are kept."""
        kind = hub.Kind("", "secrets", namespace, label_selector)
        self._secrets = hub.Watch(cluster, kind, _read, most)

    @property
    def kinds(self) -> tuple[hub.Kind, ...]:
        """What the server's account must be allowed to list and watch."""
        return (self._secrets.kind,)

    def watch(self, publish: Callable[[Mapping[str, member.Member]], None], stop: threading.Event) -> None:
        """See `fleet.Source`."""
        following.follow((self._secrets,), self._find, publish, stop)

    def _find(self) -> Iterator[following.Candidate]:
        for key, secret in self._secrets.objects().items():
            yield following.Candidate(key.name, secret.labels, secret.value)


def _read(content: bytes) -> objects.Secret:
    return objects.read_secret(content, ("kubeconfig", "value"), or_only=True)
