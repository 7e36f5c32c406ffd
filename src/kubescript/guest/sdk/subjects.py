"""Provides `Subject`, the object that an intent changes (intents.py). A script passes an object that it has read, or a
name such as "deployments/web"."""

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
"""An example of each intent, for errors."""


class Subject(NamedTuple):
    """The object that an intent changes."""

    resource: resources.Resource
    name: str
    namespace: str | None
    built_in: bool
    read: Any = None
    """The script's object; None if the script passed a name."""

    @property
    def uid(self) -> str | None:
        """Returns the uid of the script's object."""
        if self.read is None:
            return None
        metadata = self.read.get("metadata") or {}
        return metadata.get("uid")

    def __str__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        kind = self.resource.kind
        return f"{kind} {where}{self.name}"


class Subjects:
    """Finds the objects that the intents of one cluster change."""

    __slots__ = ("_client", "_session")

    def __init__(self, session: session.Session, client: dynamic.DynamicClient) -> None:
        self._session = session
        self._client = client

    def find(self, intent: str, given: Any, name: str | None, namespace: str | None) -> Subject:
        """Returns the subject. Raises TypeError with an example if the script's arguments name no object."""
        if not isinstance(given, str):
            return self.of_object(intent, given, namespace)
        kind, slash, rest = given.partition("/")
        if slash:
            # In k8s.delete("pods/web-0", "shop"), the second argument is the namespace.
            if name is not None and namespace is None:
                namespace = name
            name = rest
        if not name or "/" in name:
            raise TypeError(f"k8s.{intent}: which {kind or 'object'}? Write {EXAMPLES[intent]}")
        resource, built_in = self._find_kind(kind)
        return Subject(resource, name, namespace, built_in)

    def of_object(self, intent: str, given: Any, namespace: str | None) -> Subject:
        """Returns the subject for an object or a manifest, in `namespace` if it has none of its own. Raises
        TypeError."""
        metadata = given.get("metadata") if isinstance(given, Mapping | dict) else None
        name = kind = None
        if metadata:
            name = metadata.get("name")
            kind = given.get("kind")
        if not metadata or not name or not kind:
            raise TypeError(f"k8s.{intent} takes one object with its kind and metadata.name: {EXAMPLES[intent]}")
        own = metadata.get("namespace")
        if own and namespace and own != namespace:
            raise TypeError(f"k8s.{intent}: the object is in namespace {own!r}, not in {namespace!r}")
        resource, built_in = self._find_kind(kind, given.get("apiVersion"))
        where = None
        if resource.namespaced:
            where = own or namespace
        return Subject(resource, name, where, built_in, given)

    def _find_kind(self, kind: str, api_version: str | None = None) -> tuple[resources.Resource, bool]:
        """Returns a kind, and whether it is built in."""
        known = builtin_kinds.find(kind, api_version)
        if known is None:
            client = self._client
            found = client.resources.get(api_version, kind) if api_version else client.resource(kind)
            return found, False
        # A built-in kind is described here, so that a write needs no call for discovery.
        singular = known.kind.lower()
        described = discovery.ApiResource(
            known.plural, known.kind, known.group, known.version, known.namespaced, (), (), singular, ()
        )
        resource = resources.Resource(self._session, self._client._discovery, described)
        return resource, True
