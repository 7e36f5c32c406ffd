"""Owns `Resource`, one kind of object, built in or custom, and the calls for it. `k8s.dynamic().resources.get(…)`
returns it.

Names and behaviour are those of the official DynamicClient.
"""

from __future__ import annotations

from typing import Any, Final

from kubescript.kube import paths
from kubescript.wire.exchanges import Call
from kubescript.worker.sdk import arguments, discovery, names, operations, schemas, session, watch

__all__ = ["Resource"]

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


_PLACES: Final = frozenset({"{name}", "{namespace}"})


class Resource:
    """One kind: get, list, create, replace, patch, delete, watch. Attributes such as `status` and `scale` are
    subresources."""

    def __init__(
        self,
        session: session.Session,
        served: discovery.Discovery,
        description: discovery.ApiResource,
        subresource: str = "",
    ) -> None:
        self._session = session
        self._served = served
        self._api = description
        self._subresource = subresource
        self.name = description.name
        self.kind = description.kind
        self.version = description.version
        self.group = description.group
        self.api_version = description.api_version
        self.namespaced = description.namespaced
        self.verbs = description.verbs
        self.group_version = description.group_version
        self.prefix = "apis" if description.group else "api"
        self.singular_name = description.singularName
        self.short_names = description.shortNames
        self.categories = description.categories

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
        """Replace an object; with its resourceVersion in `body`, a concurrent change is a conflict."""
        return self._write("PUT", name or _metadata(body, "name"), namespace, body, options)

    def patch(
        self,
        body: Any = None,
        name: str | None = None,
        namespace: str | None = None,
        content_type: str | None = None,
        **options: Any,
    ) -> Any:
        """Change an object: a list is a JSON patch; a dict is a strategic merge patch for a built-in kind, else a merge
        patch."""
        media = content_type or options.pop("_content_type", None)
        return self._write("PATCH", name or _metadata(body, "name"), namespace, body, options, media)

    def delete(self, name: str | None = None, namespace: str | None = None, body: Any = None, **options: Any) -> Any:
        """Delete one object, or with a selector instead of a name all that match."""
        # Without a name the path is that of all objects, so the request would delete every one of them.
        if name is None and not (
            options.keys() & {"label_selector", "field_selector", "labelSelector", "fieldSelector"}
        ):
            raise TypeError(f"deleting {self.name} needs a name, or a label_selector or field_selector")
        call = self._call("DELETE", name, namespace, body or {}, options, _DELETING, body)
        return self._session.fetch(call, schemas.OBJECT)[0]

    def watch(
        self, namespace: str | None = None, name: str | None = None, timeout: int | None = None, **options: Any
    ) -> Any:
        """Events, like those of `watch.Watch().stream`."""
        options.setdefault("timeout_seconds", timeout or watch.DEFAULT_SECONDS)
        if name:
            options["field_selector"] = f"metadata.name={name}"
        call = self._call("GET", None, namespace, {}, options, _LISTING, extra=(("watch", "true"),))
        return watch.events(self._session, call, self._shape())

    def subresource(self, name: str) -> Resource:
        """A subresource, such as "status" or "scale"."""
        return Resource(self._session, self._served, self._api, name)

    @property
    def preferred(self) -> bool:
        """Whether its version is the one that its group prefers."""
        return self._served.is_preferred(self._api)

    @property
    def subresources(self) -> dict[str, Resource]:
        """Its subresources by name."""
        return {name: self.subresource(name) for name in self._api.subresources}

    @property
    def urls(self) -> dict[str, str]:
        """Its paths, by what they lead to."""
        root, name = f"/{self.prefix}/{self.group_version}", self.name
        return {
            "base": f"{root}/{name}",
            "namespaced_base": f"{root}/namespaces/{{namespace}}/{name}",
            "full": f"{root}/{name}/{{name}}",
            "namespaced_full": f"{root}/namespaces/{{namespace}}/{name}/{{name}}",
        }

    def path(self, name: str | None = None, namespace: str | None = None) -> str:
        """The path of one object or of all."""
        template, places = self._template("GET", name, namespace)
        # Attack: an API server that names a resource `{name.__class__}`, which `format` would read.
        parts = [
            str(places[part[1:-1]]) if part in _PLACES and part[1:-1] in places else part
            for part in template.split("/")
        ]
        return "/".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """What discovery tells of it."""
        return self._api.to_dict()

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
        """Returns the request. Parameters are checked like those of the typed methods."""
        template, places = self._template(verb, name, namespace or _metadata(source, "namespace"))
        with_body = ("body",) if body is not None else ()
        title, kind = f"{self.kind}.{verb.lower()}", "object" if with_body else ""
        parameters = (*places, *allowed, *with_body)
        operation = operations.Operation(
            "CustomObjectsApi", title, verb, template, parameters, len(places), kind, "object", self._media()
        )
        given = {**options, **places, **dict.fromkeys(with_body, body)}
        if wrong := [each for each in options if names.fold(each) in ("ns", "namespaces", "project")]:
            raise TypeError(f"{title} has no parameter {wrong[0]!r}; did you mean 'namespace'?")
        accept = _accept(given.pop("header_params", None))
        call = arguments.bind(operation, (), {**given, "_content_type": media} if media else given)
        return Call(call.method, call.path, call.query + extra, call.body, call.content_type, accept=accept)

    def _template(self, verb: str, name: str | None, namespace: str | None) -> tuple[str, dict[str, str]]:
        """Returns the path's template and its parameters."""
        root = "/" + "/".join(paths.root(self._api.group, self._api.version))
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
        strategic = ("application/strategic-merge-patch+json",) if self._shape() is not schemas.OBJECT else ()
        return ("application/json-patch+json", "application/merge-patch+json", *strategic)

    def _shape(self) -> schemas.Shape:
        """Returns the model of a built-in kind, else the shape of any object."""
        return _builtin_shape(self._api) if not self._subresource or self._subresource == "status" else schemas.OBJECT

    def __getattr__(self, name: str) -> Any:
        if name in self._api.subresources and not name.startswith("_"):
            return self.subresource(name)
        if (spelled := _SPELLINGS.get(names.fold(name))) is not None and not name.startswith("_"):
            return getattr(self, spelled)
        known = ["get", "list", "create", "replace", "patch", "delete", "watch", *self._api.subresources]
        raise AttributeError(f"the resource {self.name} has no {name!r}; {names.suggestion(name, known)}")

    def __repr__(self) -> str:
        return f"<Resource {self._api.full_name} {self.api_version} {self.kind}: {', '.join(self.verbs)}>"


_FIELDS = (
    *("api_version", "categories", "group", "group_version", "kind", "name", "namespaced", "preferred", "prefix"),
    *("short_names", "singular_name", "subresources", "urls", "verbs"),
)
_SPELLINGS = {names.fold(name): name for name in _FIELDS} | {"plural": "name"}
"""Maps the folded names of its fields to attributes."""


def _builtin_shape(description: discovery.ApiResource) -> schemas.Shape:
    """Returns the model that the typed client uses for this kind."""
    group = description.group.removesuffix(".k8s.io").partition(".")[0]
    wanted = names.fold(f"{group or 'core'}{description.version}Api")
    api = next(
        (
            each
            for each in operations.apis()
            if names.fold(each) in (wanted, wanted.replace("rbac", "rbacauthorization"))
        ),
        None,
    )
    end = f"/{description.name}/{{name}}"
    for each in operations.operations(api) if api else ():
        operation = operations.operation(str(api), each)
        if operation.verb == "GET" and operation.path.endswith(end):
            return schemas.shape_of(operation.returns, plain=True)
    return schemas.OBJECT


def _accept(headers: Any) -> Any:
    """Returns what the Accept header asks for. Raises TypeError for any other header."""
    # The Accept header is the only one with an effect: it can ask for names and labels instead of whole objects.
    wanted = {key.lower(): value for key, value in (headers or {}).items()}
    if set(wanted) - {"accept"}:
        raise TypeError("header_params: only Accept can be set; leave the others out")
    return "metadata" if "PartialObjectMetadata" in wanted.get("accept", "") else "json"


def _metadata(body: Any, key: str) -> str | None:
    """Returns a field of the body's metadata."""
    metadata = body.get("metadata") if hasattr(body, "get") else None
    value = metadata.get(key) if metadata is not None else None
    return value if isinstance(value, str) else None
