"""The objects of its namespace that a pod refers to: what it mounts, reads its environment from, or runs as.

An object may come from a stranger: values of unexpected types are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubescript.kube import documents

__all__ = ["Reference", "find"]

Reference = tuple[str, str]
"""The plural of a kind of the core group, and a name."""

_FIELDS: Final = (
    ("configMap", "configmaps", "name"),
    ("configMapRef", "configmaps", "name"),
    ("configMapKeyRef", "configmaps", "name"),
    ("secret", "secrets", "secretName"),
    # A projected volume names a Secret in another field than a plain one does.
    ("secret", "secrets", "name"),
    ("secretRef", "secrets", "name"),
    ("secretKeyRef", "secrets", "name"),
    ("persistentVolumeClaim", "persistentvolumeclaims", "claimName"),
    ("azureFile", "secrets", "secretName"),
    ("nodePublishSecretRef", "secrets", "name"),
)
"""Fields of volumes and containers: the field, the kind it refers to, and the member that names the object."""


def find(spec: Any) -> set[Reference]:
    """Returns what a pod's spec refers to."""
    found = set(_find_named(spec))
    for each in documents.walk(spec):
        for field, plural, member in _FIELDS:
            name = documents.mapping(each, field).get(member)
            if isinstance(name, str):
                found.add((plural, name))
    return found


def _find_named(spec: Any) -> Iterator[Reference]:
    """Yields the service account, and the Secrets with which images are pulled."""
    if not isinstance(spec, dict):
        return
    account = spec.get("serviceAccountName")
    if isinstance(account, str):
        yield "serviceaccounts", account
    pulled_with = spec.get("imagePullSecrets")
    for each in pulled_with if isinstance(pulled_with, list) else ():
        if isinstance(each, dict) and isinstance(each.get("name"), str):
            yield "secrets", each["name"]
