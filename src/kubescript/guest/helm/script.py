"""`k8s.helm`, which lets scripts read releases."""

from __future__ import annotations

from typing import Any

from kubescript.guest.helm import helm_lists, release, storage
from kubescript.guest.sdk import client

__all__ = ["Helm"]


class Helm:
    """`k8s.helm`: the results of releases(), status(), values() and history() as data."""

    __slots__ = ("_k8s",)

    def __init__(self, k8s: client.K8s) -> None:
        self._k8s = k8s

    def releases(self, namespace: str | None = None, status: str = "all") -> list[dict[str, str]]:
        """Returns each release's last revision: name, namespace, revision, updated, status, chart, app_version."""
        return helm_lists.releases(self._k8s, namespace, status)

    def status(self, name: str, namespace: str | None = None, revision: int = storage.LATEST) -> storage.Release:
        """Returns one revision: name, namespace, version, info, chart, config, hooks, resources."""
        return release.status(self._k8s, name, namespace, revision=revision)

    def values(
        self,
        name: str,
        namespace: str | None = None,
        revision: int = storage.LATEST,
        *,
        all_values: bool = False,
    ) -> dict[str, Any] | None:
        """Returns the values given to a release; with all_values=True, also those of its chart."""
        return release.values(self._k8s, name, namespace, revision=revision, all_values=all_values)

    def history(self, name: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """Returns a release's revisions: revision, updated, status, chart, app_version, description."""
        return release.history(self._k8s, name, namespace)

    def __repr__(self) -> str:
        return "k8s.helm: releases(namespace=None), status(name, ns), values(name, ns), history(name, ns)"
