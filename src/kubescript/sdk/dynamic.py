"""Any kind, built in or custom: `k8s.dynamic().resources.get(api_version="v1", kind="Pod").get(namespace="shop")`.

Names and behaviour are those of the official DynamicClient; besides, resources can be named as in kubectl.
"""

from __future__ import annotations

from typing import Any

from kubescript.sandbox.protocol import Call
from kubescript.sdk import arguments, discovery, errors, names, session, shapes, tables, watch

__all__ = ["DynamicClient", "Resource", "Resources"]

_LISTING = (
    "label_selector",
    "field_selector",
    "limit",
    "_continue",
    "resource_version",
    "resource_version_match",
    "timeout_seconds",
    "allow_watch_bookmarks",
)
_WRITING = ("dry_run", "field_manager", "field_validation", "force")
_DELETING = (
    "dry_run",
    "grace_period_seconds",
    "propagation_policy",
    "orphan_dependents",
    "label_selector",
    "field_selector",
)


class Resource:
    """One kind: get, list, create, replace, patch, delete, watch. Attributes such as `status` and `scale` are
    subresources."""

    def __init__(self, session: session.Session, description: discovery.ApiResource, subresource: str = "") -> None:
        self._session = session
        self._api = description
        self._subresource = subresource
        self.name = description.name
        self.kind = description.kind
        self.group = description.group
        self.api_version = description.api_version
        self.namespaced = description.namespaced
        self.verbs = description.verbs

    def get(self, name: str | None = None, namespace: str | None = None, **options: Any) -> Any:
        """One object with `name`, else a list; of one namespace or of all."""
        if options.pop("all_namespaces", False):
            namespace = None
        if name is not None:
            call = self._call("GET", name, namespace, {}, options, ("resource_version",))
            return self._session.fetch(call, self._shape())[0]
        call = self._call("GET", None, namespace, {}, options, _LISTING)
        return self._session.fetch_list(call, self._shape(), f"{self.kind}List")[0]

    def list(self, namespace: str | None = None, **options: Any) -> Any:
        """The objects of one namespace or of all."""
        return self.get(None, namespace, **options)

    def create(self, body: Any = None, namespace: str | None = None, **options: Any) -> Any:
        """Create an object from `body`."""
        return self._write("POST", None, namespace, body, options)

    def replace(self, body: Any = None, name: str | None = None, namespace: str | None = None, **options: Any) -> Any:
        """Replace an object; its resourceVersion in `body` makes a concurrent change a conflict."""
        return self._write("PUT", name or _metadata(body, "name"), namespace, body, options)

    def patch(
        self,
        body: Any = None,
        name: str | None = None,
        namespace: str | None = None,
        content_type: str | None = None,
        **options: Any,
    ) -> Any:
        """Change an object: a list is a JSON patch, a dict a strategic merge patch of a built-in kind, else a merge
        patch."""
        media = content_type or options.pop("_content_type", None)
        return self._write("PATCH", name or _metadata(body, "name"), namespace, body, options, media)

    def delete(self, name: str | None = None, namespace: str | None = None, body: Any = None, **options: Any) -> Any:
        """Delete one object, or with a selector instead of a name all that match."""
        if name is None and not (
            options.keys() & {"label_selector", "field_selector", "labelSelector", "fieldSelector"}
        ):
            raise TypeError(f"deleting {self.name} needs a name, or a label_selector or field_selector")
        call = self._call("DELETE", name, namespace, body or {}, options, _DELETING, body)
        return self._session.fetch(call, shapes.OBJECT)[0]

    def watch(
        self, namespace: str | None = None, name: str | None = None, timeout: int | None = None, **options: Any
    ) -> Any:
        """Events, as `watch.Watch().stream` gives them."""
        options.setdefault("timeout_seconds", timeout or watch.DEFAULT_SECONDS)
        if name:
            options["field_selector"] = f"metadata.name={name}"
        call = self._call("GET", None, namespace, {}, options, _LISTING, extra=(("watch", "true"),))
        return watch.events(self._session, call, self._shape())

    def subresource(self, name: str) -> Resource:
        """Such as "status" or "scale"."""
        return Resource(self._session, self._api, name)

    def _write(
        self, verb: Any, name: str | None, namespace: str | None, body: Any, options: dict[str, Any], media: Any = None
    ) -> Any:
        if body is None:
            raise TypeError(f"{self.kind}: body is missing")
        call = self._call(verb, name, namespace, body, options, _WRITING, body, media)
        return self._session.fetch(call, self._shape())[0]

    def _call(
        self,
        verb: Any,
        name: str | None,
        namespace: str | None,
        source: Any,
        options: dict[str, Any],
        allowed: tuple[str, ...],
        body: Any = None,
        media: Any = None,
        extra: tuple[tuple[str, str], ...] = (),
    ) -> Call:
        """The request; parameters are checked as those of the typed methods are."""
        template, places = self._template(verb, name, namespace or _metadata(source, "namespace"))
        with_body = ("body",) if body is not None else ()
        title, kind = f"{self.kind}.{verb.lower()}", "object" if with_body else ""
        parameters = (*places, *allowed, *with_body)
        operation = tables.Operation(
            "CustomObjectsApi", title, verb, template, parameters, len(places), kind, "object", self._media()
        )
        given = {**options, **places, **dict.fromkeys(with_body, body)}
        if wrong := [each for each in options if names.fold(each) in ("ns", "namespaces", "project")]:
            raise TypeError(f"{title} has no parameter {wrong[0]!r}; did you mean 'namespace'?")
        accept = _accept(given.pop("header_params", None))
        call = arguments.bind(operation, (), {**given, "_content_type": media} if media else given)
        return Call(call.method, call.path, call.query + extra, call.body, call.content_type, accept=accept)

    def _template(self, verb: str, name: str | None, namespace: str | None) -> tuple[str, dict[str, str]]:
        """The path's template and its parameters."""
        root = f"/apis/{self._api.group}/{self._api.version}" if self._api.group else f"/api/{self._api.version}"
        parameters: dict[str, str] = {}
        if self.namespaced and namespace is not None:
            root, parameters["namespace"] = root + "/namespaces/{namespace}", namespace
        elif self.namespaced and (name is not None or verb != "GET"):
            raise TypeError(f"{self.kind} lives in a namespace: add namespace='...'")
        root += f"/{self.name}"
        if name is not None or (verb in ("PUT", "PATCH")):
            root, parameters["name"] = root + "/{name}", name or ""
        return (f"{root}/{self._subresource}" if self._subresource else root), parameters

    def _media(self) -> tuple[str, ...]:
        strategic = ("application/strategic-merge-patch+json",) if self._shape() is not shapes.OBJECT else ()
        return ("application/json-patch+json", "application/merge-patch+json", *strategic)

    def _shape(self) -> shapes.Shape:
        """The model of a built-in kind, else what is known of any object."""
        return builtin_shape(self._api) if not self._subresource or self._subresource == "status" else shapes.OBJECT

    def __getattr__(self, name: str) -> Resource:
        if name in self._api.subresources and not name.startswith("_"):
            return self.subresource(name)
        known = ["get", "list", "create", "replace", "patch", "delete", "watch", *self._api.subresources]
        raise AttributeError(f"the resource {self.name} has no {name!r}; {names.suggestion(name, known)}")

    def __repr__(self) -> str:
        return f"<Resource {self._api.full_name} {self.api_version} {self.kind}: {', '.join(self.verbs)}>"


def builtin_shape(description: discovery.ApiResource) -> shapes.Shape:
    """The model that the typed client reads this kind with."""
    group = description.group.removesuffix(".k8s.io").partition(".")[0]
    wanted = names.fold(f"{group or 'core'}{description.version}Api")
    api = next(
        (each for each in tables.apis() if names.fold(each) in (wanted, wanted.replace("rbac", "rbacauthorization"))),
        None,
    )
    end = f"/{description.name}/{{name}}"
    for each in tables.operations(api) if api else ():
        operation = tables.operation(str(api), each)
        if operation.verb == "GET" and operation.path.endswith(end):
            return shapes.shape_of(operation.returns, plain=True)
    return shapes.OBJECT


def _accept(headers: Any) -> Any:
    """The one header that means something here: names and labels instead of whole objects."""
    wanted = {key.lower(): value for key, value in (headers or {}).items()}
    if set(wanted) - {"accept"}:
        raise TypeError("header_params: only Accept can be set; leave the others out")
    return "metadata" if "PartialObjectMetadata" in wanted.get("accept", "") else "json"


def _metadata(body: Any, key: str) -> str | None:
    """A field of the body's metadata."""
    metadata = body.get("metadata") if hasattr(body, "get") else None
    value = metadata.get(key) if metadata is not None else None
    return value if isinstance(value, str) else None


class Resources:
    """`client.resources`: finds kinds."""

    def __init__(self, session: session.Session, discovery: discovery.Discovery) -> None:
        self._session = session
        self._discovery = discovery

    def get(self, api_version: str | None = None, kind: str | None = None, **wanted: Any) -> Resource:
        """The one kind that matches api_version, kind, group, name, singular_name or short_names. Raises
        ResourceNotFoundError."""
        found = self.search(api_version=api_version, kind=kind, **wanted)
        if not found:
            words = {"api_version": api_version, "kind": kind, **wanted}
            text = ", ".join(f"{key}={value!r}" for key, value in words.items() if value is not None)
            near = self._advice(str(kind or wanted.get("name") or ""), api_version, wanted.get("group"))
            raise ResourceNotFoundError(404, "Not Found", message=f"no kind with {text}; {near}")
        return found[0]

    def _advice(self, name: str, api_version: str | None, group: str | None) -> str:
        group = group or (api_version or "").rpartition("/")[0]
        if advice := self._discovery.advice(name, group):
            return advice
        return names.suggestion(name, {each.kind for each in self._pool(api_version) or self._discovery.preferred()})

    def search(self, api_version: str | None = None, kind: str | None = None, **wanted: Any) -> list[Resource]:
        """All kinds that match, the preferred version first."""
        name = (
            kind
            or wanted.get("name")
            or wanted.get("plural")
            or wanted.get("singular_name")
            or _first(wanted.get("short_names"))
        )
        group = wanted.get("group")
        return [
            Resource(self._session, each)
            for each in self._pool(api_version)
            if (name is None or each.answers_to(name)) and (group is None or each.group == group)
        ]

    def _pool(self, api_version: str | None) -> list[discovery.ApiResource]:
        if api_version is None:
            return self._discovery.api_resources()
        try:
            return self._discovery.server_resources_for_group_version(api_version)
        except errors.NotFoundException:
            return []

    def __iter__(self) -> Any:
        return iter(self.search())


def _first(values: Any) -> Any:
    return values[0] if isinstance(values, list | tuple) and values else values


class ResourceNotFoundError(errors.NotFoundException):
    """The cluster does not serve this kind."""


class DynamicClient:
    """`k8s.dynamic()`."""

    def __init__(self, session: session.Session, discovery: discovery.Discovery) -> None:
        self._session = session
        self._discovery = discovery
        self.resources = Resources(session, discovery)

    def __call__(self, *_args: object, **_kwargs: object) -> DynamicClient:
        """The same client: there is one connection."""
        return self

    def resource(self, first: str, second: str | None = None) -> Resource:
        """By kubectl name ("certificates.cert-manager.io") or by group version and name or kind ("apps/v1",
        "deployments")."""
        if second is None:
            return Resource(self._session, self._discovery.find(first))
        return self.resources.get(api_version=first, name=second)

    def list(self, resource: str | Resource, namespace: str | None = None, **options: Any) -> Any:
        """The objects of one namespace or of all."""
        return self._named(resource).get(None, namespace, **options)

    def get(
        self, resource: str | Resource, name: str | None = None, namespace: str | None = None, **options: Any
    ) -> Any:
        """One object with `name`, else a list."""
        return self._named(resource).get(name, namespace, **options)

    def create(self, resource: str | Resource, body: Any = None, namespace: str | None = None, **options: Any) -> Any:
        """Create an object."""
        return self._named(resource).create(body, namespace, **options)

    def replace(
        self,
        resource: str | Resource,
        body: Any = None,
        name: str | None = None,
        namespace: str | None = None,
        **options: Any,
    ) -> Any:
        """Replace an object."""
        return self._named(resource).replace(body, name, namespace, **options)

    def patch(
        self,
        resource: str | Resource,
        body: Any = None,
        name: str | None = None,
        namespace: str | None = None,
        **options: Any,
    ) -> Any:
        """Change an object."""
        return self._named(resource).patch(body, name, namespace, **options)

    def delete(
        self, resource: str | Resource, name: str | None = None, namespace: str | None = None, **options: Any
    ) -> Any:
        """Delete an object."""
        return self._named(resource).delete(name, namespace, **options)

    def _named(self, resource: str | Resource) -> Resource:
        return resource if isinstance(resource, Resource) else self.resource(resource)

    def __repr__(self) -> str:
        return (
            "k8s.dynamic(): resource(name), resources.get(api_version=, kind=), list(name, namespace=), get(name, ...)"
        )
