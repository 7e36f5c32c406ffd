"""Provides `k8s.dynamic()`, which reaches any kind, built in or custom:
`k8s.dynamic().resources.get(api_version="v1", kind="Pod").get(namespace="shop")`.

Its names and its behaviour follow the official DynamicClient. In addition, resources can be named as in kubectl.
"""

from __future__ import annotations

import re
from typing import Any, Final

from kubescript.guest.sdk.calls import session
from kubescript.guest.sdk.discovery import discovery, resources
from kubescript.guest.sdk.values import exceptions, names

__all__ = ["DynamicClient", "ResourceNotFoundError", "Resources"]


class Resources:
    """`client.resources`: finds kinds."""

    def __init__(self, session: session.Session, discovery: discovery.Discovery) -> None:
        self._session = session
        self._discovery = discovery

    def get(self, api_version: str | None = None, kind: str | None = None, **wanted: Any) -> resources.Resource:
        """The one kind that matches api_version, kind, group, name, singular_name or short_names. Raises
        ResourceNotFoundError."""
        found = self.search(api_version=api_version, kind=kind, **wanted)
        if found:
            return found[0]
        asked = {"api_version": api_version, "kind": kind, **wanted}
        text = ", ".join(f"{key}={value!r}" for key, value in asked.items() if value is not None)
        # The advice is computed only now, since it may cost calls for discovery.
        near = self._advice(str(kind or wanted.get("name") or ""), api_version, wanted.get("group"))
        raise ResourceNotFoundError(404, "Not Found", message=f"no kind with {text}; {near}")

    def _advice(self, name: str, api_version: str | None, group: str | None) -> str:
        """Returns where the kind is, or the nearest kinds."""
        if not group and api_version:
            group, _, _ = api_version.rpartition("/")
        if advice := self._discovery.advice(name, group or ""):
            return advice
        pool = self._pool(api_version) or self._discovery.preferred()
        known = {each.kind for each in pool}
        return names.suggestion(name, known)

    def search(
        self, api_version: str | None = None, kind: str | None = None, **wanted: Any
    ) -> list[resources.Resource]:
        """All kinds that match, the preferred version first."""
        name = (
            kind
            or wanted.get("name")
            or wanted.get("plural")
            or wanted.get("singular_name")
            or _first(wanted.get("short_names"))
        )
        group = wanted.get("group")
        found = []
        for each in self._pool(api_version):
            if name is not None and not each.answers_to(name):
                continue
            if group is None or each.group == group:
                found.append(resources.Resource(self._session, self._discovery, each))
        return found

    def _pool(self, api_version: str | None) -> list[discovery.ApiResource]:
        """Returns the kinds of a version, by default the preferred ones of all groups."""
        if api_version is None:
            return self._discovery.api_resources()
        try:
            return self._discovery.server_resources_for_group_version(api_version)
        except exceptions.NotFoundException:
            return []

    def __iter__(self) -> Any:
        return iter(self.search())


def _first(values: Any) -> Any:
    """Returns the first of several values, and a single one unchanged."""
    if isinstance(values, list | tuple) and values:
        return values[0]
    return values


class ResourceNotFoundError(exceptions.NotFoundException):
    """The cluster does not serve this kind."""


# A group version such as "v1" or "apps/v1". No resource has such a name, so `get` can tell the two apart.
_VERSION: Final = re.compile(r"([\w.-]+/)?v\d+((alpha|beta)\d+)?")


class DynamicClient:
    """`k8s.dynamic()`."""

    def __init__(self, session: session.Session, discovery: discovery.Discovery) -> None:
        self._session = session
        self._discovery = discovery
        self.resources = Resources(session, discovery)

    def __call__(self, *_args: object, **_kwargs: object) -> DynamicClient:
        """The same client: there is one connection."""
        return self

    def resource(self, first: str, second: str | None = None) -> resources.Resource:
        """By kubectl name ("certificates.cert-manager.io") or by group version and name or kind ("apps/v1",
        "deployments")."""
        if second is not None:
            return self.resources.get(api_version=first, name=second)
        found = self._discovery.find(first)
        return resources.Resource(self._session, self._discovery, found)

    def list(self, resource: str | resources.Resource, namespace: str | None = None, **options: Any) -> Any:
        """The objects of one namespace or of all."""
        found = self._resolve(resource)
        return found.get(None, namespace, **options)

    def get(
        self,
        resource: str | resources.Resource = "",
        name: str | None = None,
        namespace: str | None = None,
        *,
        kind: str | None = None,
        api_version: str | None = None,
        **options: Any,
    ) -> Any:
        """One object with `name`, or as "deploy/web"; else a list. A kind may also be given as `kind=` and
        `api_version=`, or as "apps/v1" and "Deployment"."""
        if isinstance(resource, str):
            if _VERSION.fullmatch(resource):
                resource, name, api_version = name or "", None, resource
            # "deploy/web", as in kubectl.
            elif name is None and resource.count("/") == 1:
                resource, _, name = resource.partition("/")
            kind = kind or resource
            resource = self.resources.get(api_version=api_version, kind=kind) if api_version else kind
        found = self._resolve(resource)
        return found.get(name, namespace, **options)

    def create(
        self, resource: str | resources.Resource, body: Any = None, namespace: str | None = None, **options: Any
    ) -> Any:
        """Create an object."""
        return self._resolve(resource).create(body, namespace, **options)

    def replace(
        self,
        resource: str | resources.Resource,
        body: Any = None,
        name: str | None = None,
        namespace: str | None = None,
        **options: Any,
    ) -> Any:
        """Replace an object."""
        return self._resolve(resource).replace(body, name, namespace, **options)

    def patch(
        self,
        resource: str | resources.Resource,
        body: Any = None,
        name: str | None = None,
        namespace: str | None = None,
        **options: Any,
    ) -> Any:
        """Change an object."""
        return self._resolve(resource).patch(body, name, namespace, **options)

    def delete(
        self, resource: str | resources.Resource, name: str | None = None, namespace: str | None = None, **options: Any
    ) -> Any:
        """Delete an object."""
        return self._resolve(resource).delete(name, namespace, **options)

    def _resolve(self, resource: str | resources.Resource) -> resources.Resource:
        """Returns the resource of this name; if it is given a resource, returns it unchanged."""
        if isinstance(resource, resources.Resource):
            return resource
        return self.resource(resource)

    def __repr__(self) -> str:
        return (
            "k8s.dynamic(): resource(name), resources.get(api_version=, kind=), list(name, namespace=), get(name, ...)"
        )
