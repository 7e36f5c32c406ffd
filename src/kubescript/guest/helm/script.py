"""`k8s.helm`, which lets scripts read releases."""

from __future__ import annotations

from typing import Any

from kubescript.guest.helm import helm_lists, release, storage
from kubescript.guest.sdk import client

__all__ = ["Helm"]


class Helm:
    """`k8s.helm`: releases(), status(), values() and history(), as data."""

    __slots__ = ("_k8s",)

    def __init__(self, k8s: client.K8s) -> None:
        self._k8s = k8s

    def releases(self, namespace: str | None = None, status: str = "all") -> list[dict[str, str]]:
        """The last revision of each release: name, namespace, revision, updated, status, chart, app_version."""
        return helm_lists.releases(self._k8s, namespace, status)

    def status(self, name: str, namespace: str | None = None, revision: int = storage.LATEST) -> storage.Release:
        """One revision: name, namespace, version, info, chart, config, hooks, resources."""
        return release.status(self._k8s, name, namespace, revision=revision)

    def values(
        self,
        name: str,
        namespace: str | None = None,
        revision: int = storage.LATEST,
        *,
        all_values: bool = False,
    ) -> dict[str, Any] | None:
        """The values that a release was given; with all_values=True those of its chart too."""
        return release.values(self._k8s, name, namespace, revision=revision, all_values=all_values)

    def history(self, name: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """The revisions of a release: revision, updated, status, chart, app_version, description."""
        return release.history(self._k8s, name, namespace)

    def __repr__(self) -> str:
        return "k8s.helm: releases(namespace=None), status(name, ns), values(name, ns), history(name, ns)"
