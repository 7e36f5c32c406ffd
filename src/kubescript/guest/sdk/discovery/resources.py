"""Provides `Resource`, one kind of object, built in or custom, and the calls for it. `k8s.dynamic().resources.get(…)`
returns it.

Its names and its behaviour follow the official DynamicClient.
"""

from __future__ import annotations

from typing import Any, Final

from kubescript.guest.sdk.calls import call_arguments, session, watch
from kubescript.guest.sdk.discovery import discovery
from kubescript.guest.sdk.objects import schemas
from kubescript.guest.sdk.values import names, operations
from kubescript.kube import paths
from kubescript.wire.exchanges import Call

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
"""The segments of a path's template that are replaced."""


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
            value, _ = self._session.fetch(call, self._shape())
            return value
        call = self._call("GET", None, namespace, {}, options, _LISTING)
        found, _ = self._session.fetch_list(call, self._shape(), f"{self.kind}List")
        return found

    def list(self, namespace: str | None = None, **options: Any) -> Any:
        """The objects of one namespace or of all."""
        return self.get(None, namespace, **options)

    def create(self, body: Any = None, namespace: str | None = None, **options: Any) -> Any:
        """Create an object from `body`."""
        return self._write("POST", None, namespace, body, options)

    def replace(self, body: Any = None, name: str | None = None, namespace: str | None = None, **options: Any) -> Any:
        """Replace an object; with its resourceVersion in `body`, a concurrent change is a conflict."""
        name = name or _metadata(body, "name")
        return self._write("PUT", name, namespace, body, options)

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
        name = name or _metadata(body, "name")
        return self._write("PATCH", name, namespace, body, options, media)

    def delete(self, name: str | None = None, namespace: str | None = None, body: Any = None, **options: Any) -> Any:
        """Delete one object, or with a selector instead of a name all that match."""
        # Without a name, the path would be the collection's and the request would delete every object in it.
        selectors = options.keys() & {"label_selector", "field_selector", "labelSelector", "fieldSelector"}
        if name is None and not selectors:
            raise TypeError(f"deleting {self.name} needs a name, or a label_selector or field_selector")
        call = self._call("DELETE", name, namespace, body or {}, options, _DELETING, body)
        # The answer is the object or a Status.
        value, _ = self._session.fetch(call, schemas.OBJECT)
        return value

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
        """Whether its group prefers its version."""
        return self._served.is_preferred(self._api)

    @property
    def subresources(self) -> dict[str, Resource]:
        """Its subresources by name."""
        return {name: self.subresource(name) for name in self._api.subresources}

    @property
    def urls(self) -> dict[str, str]:
        """Its path templates, by the official client's names."""
        root = f"/{self.prefix}/{self.group_version}"
        in_namespace = f"{root}/namespaces/{{namespace}}"
        return {
            "base": f"{root}/{self.name}",
            "namespaced_base": f"{in_namespace}/{self.name}",
            "full": f"{root}/{self.name}/{{name}}",
            "namespaced_full": f"{in_namespace}/{self.name}/{{name}}",
        }

    def path(self, name: str | None = None, namespace: str | None = None) -> str:
        """The path of one object or of all."""
        template, places = self._template("GET", name, namespace)
        # Attack: an API server names a resource `{name.__class__}`, and `format` would read that attribute.
        parts = template.split("/")
        for index, part in enumerate(parts):
            place = part[1:-1]
            if part in _PLACES and place in places:
                parts[index] = str(places[place])
        return "/".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Its entry in discovery."""
        return self._api.to_dict()

    def _write(
        self, verb: Any, name: str | None, namespace: str | None, body: Any, options: dict[str, Any], media: Any = None
    ) -> Any:
        if body is None:
            raise TypeError(f"{self.kind}: body is missing")
        call = self._call(verb, name, namespace, body, options, _WRITING, body, media)
        value, _ = self._session.fetch(call, self._shape())
        return value

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
        title = f"{self.kind}.{verb.lower()}"
        with_body = body is not None
        parameters = (*places, *allowed, "body") if with_body else (*places, *allowed)
        kind = "object" if with_body else ""
        operation = operations.Operation(
            "CustomObjectsApi", title, verb, template, parameters, len(places), kind, "object", self._media()
        )
        for each in options:
            # A request without a namespace has no such parameter, and `call_arguments` would say that the kind has
            # none.
            if names.fold(each) in ("ns", "namespaces", "project"):
                raise TypeError(f"{title} has no parameter {each!r}; did you mean 'namespace'?")
        given = {**options, **places}
        if with_body:
            given["body"] = body
        accept = _accept(given.pop("header_params", None))
        if media:
            given["_content_type"] = media
        call = call_arguments.bind(operation, (), given)
        return Call(call.method, call.path, call.query + extra, call.body, call.content_type, accept=accept)

    def _template(self, verb: str, name: str | None, namespace: str | None) -> tuple[str, dict[str, str]]:
        """Returns the path's template and its parameters."""
        parts = ["", *paths.root(self._api.group, self._api.version)]
        parameters: dict[str, str] = {}
        if self.namespaced and namespace is not None:
            parts += ["namespaces", "{namespace}"]
            parameters["namespace"] = namespace
        elif self.namespaced and (name is not None or verb != "GET"):
            raise TypeError(f"{self.kind} lives in a namespace: add namespace='...'")
        parts.append(self.name)
        # A PUT or PATCH without a name then fails with an error about the name.
        if name is not None or verb in ("PUT", "PATCH"):
            parts.append("{name}")
            parameters["name"] = name or ""
        if self._subresource:
            parts.append(self._subresource)
        return "/".join(parts), parameters

    def _media(self) -> tuple[str, ...]:
        """Returns the content types of patches."""
        media = ("application/json-patch+json", "application/merge-patch+json")
        # The API server cannot merge the lists of custom resources.
        if self._shape() is schemas.OBJECT:
            return media
        return (*media, "application/strategic-merge-patch+json")

    def _shape(self) -> schemas.Shape:
        """Returns the model of a built-in kind, and for any other kind the shape of any object."""
        if self._subresource in ("", "status"):
            return _builtin_shape(self._api)
        return schemas.OBJECT

    def __getattr__(self, name: str) -> Any:
        public = not name.startswith("_")
        if public and name in self._api.subresources:
            return self.subresource(name)
        spelled = _SPELLINGS.get(names.fold(name))
        if public and spelled is not None:
            return getattr(self, spelled)
        known = ["get", "list", "create", "replace", "patch", "delete", "watch", *self._api.subresources]
        hint = names.suggestion(name, known)
        raise AttributeError(f"the resource {self.name} has no {name!r}; {hint}")

    def __repr__(self) -> str:
        verbs = ", ".join(self.verbs)
        return f"<Resource {self._api.full_name} {self.api_version} {self.kind}: {verbs}>"


_FIELDS = (
    *("api_version", "categories", "group", "group_version", "kind", "name", "namespaced", "preferred", "prefix"),
    *("short_names", "singular_name", "subresources", "urls", "verbs"),
)
_SPELLINGS = {names.fold(name): name for name in _FIELDS} | {"plural": "name"}
"""Maps the folded names of a resource's fields to attributes."""


def _builtin_shape(description: discovery.ApiResource) -> schemas.Shape:
    """Returns the model that the typed client uses for this kind."""
    api = _find_api(description)
    if api is None:
        return schemas.OBJECT
    # The typed method that reads one object returns the kind's model.
    end = f"/{description.name}/{{name}}"
    for each in operations.operations(api):
        operation = operations.operation(api, each)
        if operation.verb == "GET" and operation.path.endswith(end):
            return schemas.shape_of(operation.returns, plain=True)
    return schemas.OBJECT


def _find_api(description: discovery.ApiResource) -> str | None:
    """Returns the typed API class of a kind's group and version; None for a custom group."""
    group, _, _ = description.group.removesuffix(".k8s.io").partition(".")
    wanted = names.fold(f"{group or 'core'}{description.version}Api")
    # The class of rbac.authorization.k8s.io has both parts of the group's name.
    spellings = (wanted, wanted.replace("rbac", "rbacauthorization"))
    for each in operations.apis():
        if names.fold(each) in spellings:
            return each
    return None


def _accept(headers: Any) -> Any:
    """Returns the representation that the Accept header asks for. Raises TypeError for any other header."""
    # The Accept header is the only one with an effect: it can ask for names and labels instead of whole objects.
    wanted = {key.lower(): value for key, value in (headers or {}).items()}
    if wanted.keys() - {"accept"}:
        raise TypeError("header_params: only Accept can be set; leave the others out")
    accept = wanted.get("accept", "")
    return "metadata" if "PartialObjectMetadata" in accept else "json"


def _metadata(body: Any, key: str) -> str | None:
    """Returns a field of the body's metadata."""
    # A JSON patch is a list, and has no metadata.
    metadata = body.get("metadata") if hasattr(body, "get") else None
    if metadata is None:
        return None
    value = metadata.get(key)
    return value if isinstance(value, str) else None
