"""Owns `Subject`, the object that an intent is about (intents.py): one that the script has read, or that it names as
"deployments/web"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kubescript.guest.sdk.calls import session
from kubescript.guest.sdk.discovery import discovery, dynamic, resources
from kubescript.guest.sdk.values import builtin_kinds

__all__ = ["EXAMPLES", "Subject", "Subjects"]

EXAMPLES: Final = {
    "apply": "k8s.apply({'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': ..., 'namespace': ...}, ...})",
    "scale": "k8s.scale('deployments/web', 3, namespace='shop')",
    "restart": "k8s.restart('deployments/web', namespace='shop')",
    "set_image": "k8s.set_image('deployments/web', web='nginx:1.29', namespace='shop')",
    "delete": "k8s.delete('pods/web-0', namespace='shop')",
    "evict": "k8s.evict('pods/web-0', namespace='shop')",
}
"""How each intent is written, for errors."""


class Subject(NamedTuple):
    """The object that a write is for."""

    resource: resources.Resource
    name: str
    namespace: str | None
    built_in: bool
    read: Any = None
    """The object as the script has it; None when it has named it."""

    @property
    def uid(self) -> str | None:
        """Returns the uid of the object that the script has read."""
        return (self.read.get("metadata") or {}).get("uid") if self.read is not None else None

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.kind} {where}{self.name}"


class Subjects:
    """Finds what the intents of one cluster are about."""

    __slots__ = ("_client", "_session")

    def __init__(self, session: session.Session, client: dynamic.DynamicClient) -> None:
        self._session = session
        self._client = client

    def find(self, intent: str, given: Any, name: str | None, namespace: str | None) -> Subject:
        """Returns the subject. Raises TypeError that says what to write."""
        if not isinstance(given, str):
            return self.of_object(intent, given, namespace)
        kind, slash, rest = given.partition("/")
        if slash and name is not None and namespace is None:
            namespace = name
        name = rest if slash else name
        if not name or "/" in name:
            raise TypeError(f"k8s.{intent}: which {kind or 'object'}? Write {EXAMPLES[intent]}")
        resource, built_in = self._kind(kind)
        return Subject(resource, name, namespace, built_in)

    def of_object(self, intent: str, given: Any, namespace: str | None) -> Subject:
        """Returns the subject for an object or a manifest; `namespace` is for one that names none. Raises TypeError."""
        metadata = given.get("metadata") if isinstance(given, Mapping | dict) else None
        name, kind = (metadata.get("name"), given.get("kind")) if metadata else (None, None)
        if not metadata or not name or not kind:
            raise TypeError(f"k8s.{intent} takes one object with its kind and metadata.name: {EXAMPLES[intent]}")
        own = metadata.get("namespace")
        if own and namespace and own != namespace:
            raise TypeError(f"k8s.{intent}: the object is in namespace {own!r}, not in {namespace!r}")
        resource, built_in = self._kind(kind, given.get("apiVersion"))
        where = own or namespace if resource.namespaced else None
        return Subject(resource, name, where, built_in, given)

    def _kind(self, kind: str, api_version: str | None = None) -> tuple[resources.Resource, bool]:
        """Returns a kind, and whether it is built in: no call is made for those."""
        known = builtin_kinds.find(kind, api_version)
        if known is None:
            found = self._client.resources.get(api_version, kind) if api_version else self._client.resource(kind)
            return found, False
        singular = known.kind.lower()
        described = discovery.ApiResource(
            known.plural, known.kind, known.group, known.version, known.namespaced, (), (), singular, ()
        )
        return resources.Resource(self._session, self._client._discovery, described), True
