"""Owns `k8s.discovery()`: the kinds that the cluster serves, read with plain discovery requests and kept for the rest
of the script. dynamic.py and explain.py find kinds with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kubescript.kube import kinds
from kubescript.wire.exchanges import Call
from kubescript.worker.sdk import errors, names, schemas, session, views

__all__ = ["ApiResource", "Discovery"]


class ApiResource(NamedTuple):
    """One kind the cluster serves, in one version."""

    name: str
    """The plural, as in the URL."""
    kind: str
    group: str
    version: str
    namespaced: bool
    verbs: tuple[str, ...]
    shortNames: tuple[str, ...]  # noqa: N815 - as in the API
    singularName: str  # noqa: N815
    categories: tuple[str, ...]
    subresources: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        """By name, as in the API's JSON or as an attribute; by number as in a tuple."""
        if not isinstance(key, str):
            return tuple.__getitem__(self, key)
        if key not in _READABLE:
            raise KeyError(f"{key!r}; {names.suggestion(key, self._fields)}")
        return getattr(self, _READABLE[key])

    def get(self, key: str, default: Any = None) -> Any:
        """A field by name, or `default`, as of a dict."""
        return self[key] if key in _READABLE else default

    def keys(self) -> tuple[str, ...]:
        """The names of its fields."""
        return self._fields

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain dict."""
        return self._asdict()

    @property
    def api_version(self) -> str:
        """Group and version as in an object's apiVersion."""
        return kinds.api_version(self.group, self.version)

    @property
    def group_version(self) -> str:
        """The same, by the name the official dynamic client has for it."""
        return self.api_version

    @property
    def short_names(self) -> tuple[str, ...]:
        """Such as "po"."""
        return self.shortNames

    @property
    def full_name(self) -> str:
        """Plural and group, such as "certificates.cert-manager.io"."""
        return kinds.full_name(self.group, self.name)

    def answers_to(self, name: str) -> bool:
        """Whether kubectl would understand `name` as this resource."""
        own = {
            self.name,
            self.kind,
            self.singularName,
            self.full_name,
            *self.shortNames,
            f"{self.name}.{self.version}.{self.group}",
            *(f"{each}.{self.group}" for each in (self.kind, self.singularName, *self.shortNames) if self.group),
        }
        return name.lower() in {each.lower() for each in own if each}


_ALSO = ("api_version", "group_version", "short_names", "full_name")
_READABLE = {name: name for name in (*ApiResource._fields, *_ALSO)} | {
    "apiVersion": "api_version",
    "groupVersion": "group_version",
    "singular_name": "singularName",
    "plural": "name",
}
"""Maps the names that an item may be read by to attributes."""


class Discovery:
    """`k8s.discovery()`. Method names are found in any case, as everywhere."""

    def __init__(self, session: session.Session, typed: Any = None) -> None:
        self._session = session
        self._typed = typed
        self._groups: Any = None
        self._resources: dict[str, list[ApiResource]] = {}

    def server_version(self) -> Any:
        """`.git_version`, `.major`, `.minor`, `.platform`."""
        return self._get(("version",), "VersionInfo")

    get_code = get_version = version = server_version

    def groups(self) -> Any:
        """API groups with their versions; the core group is not among them."""
        if self._groups is None:
            self._groups = self._get(("apis",), "V1APIGroupList")
        return self._groups.groups

    server_groups = get_api_groups = groups

    def server_resources_for_group_version(self, group_version: str) -> list[ApiResource]:
        """The kinds of one group version, such as "apps/v1"."""
        if group_version not in self._resources:
            path = ("apis", *group_version.split("/")) if "/" in group_version else ("api", group_version)
            listing = self._get(path, "V1APIResourceList")
            self._resources[group_version] = _resources(listing, group_version)
        return self._resources[group_version]

    resources_for = server_resources_for_group_version

    def api_resources(
        self, *, group: str | None = None, namespaced: bool | None = None, verb: str | None = None
    ) -> list[ApiResource]:
        """Every kind in its preferred version: name, kind, namespaced, verbs, shortNames, group, version."""
        return [
            each
            for each in self.preferred()
            if (group is None or each.group == group)
            and (namespaced is None or each.namespaced == namespaced)
            and (verb is None or verb in each.verbs)
        ]

    server_preferred_resources = resources = api_resources

    def preferred(self) -> Iterator[ApiResource]:
        """Every kind in its group's preferred version, the core group first; without groups that do not answer."""
        yield from self.server_resources_for_group_version("v1")
        for group in self.groups():
            yield from self._reachable(group.preferred_version.group_version)

    def is_preferred(self, resource: ApiResource) -> bool:
        """Whether a resource is of the version that its group prefers."""
        return not resource.group or any(
            each.preferred_version.group_version == resource.group_version for each in self.groups()
        )

    def _reachable(self, group_version: str) -> list[ApiResource]:
        try:
            return self.server_resources_for_group_version(group_version)
        except errors.ApiException as error:
            # An aggregated API whose server is down must not hide all other kinds.
            if error.status in (404, 503):
                return []
            raise

    def find(self, name: str) -> ApiResource:
        """The resource kubectl would understand. Raises NotFoundException naming the nearest."""
        seen: list[str] = []
        for each in self._candidates(name):
            if each.answers_to(name):
                return each
            seen.extend((each.name, each.kind, each.full_name))
        plural, _, group = name.partition(".")
        if several := _several(name):
            raise errors.NotFoundException(404, "Not Found", message=f"no resource {name!r}; {several}")
        advice = self.advice(plural, group) if group else ""
        advice = advice or names.suggestion(name, seen)
        raise errors.NotFoundException(404, "Not Found", message=f"no resource {name!r}; {advice}")

    def advice(self, name: str, group: str) -> str:
        """Why a group has no such kind: the group is not served, or the kind is in another group. Else empty."""
        places = [each.api_version for each in self.preferred() if each.answers_to(name)]
        if places:
            kind = next(each.kind for each in self.preferred() if each.answers_to(name))
            return f"{kind} is in {' and '.join(places)}"
        served = {each.name for each in self.groups()}
        if not group or group in served or any(group.endswith(f".{each}") for each in served):
            return ""
        custom = ", ".join(sorted(each for each in served if "." in each and not each.endswith(".k8s.io")))
        return f"group {group} is not served; custom groups: {custom or 'none'}"

    def _candidates(self, name: str) -> Iterator[ApiResource]:
        """Resources in the order to try."""
        _, _, group = name.partition(".")
        # A group in the name saves the requests for all other groups.
        for each in self.groups() if group else ():
            if each.name == group or group.endswith(f".{each.name}"):
                for version in each.versions:
                    yield from self._reachable(version.group_version)
        yield from self.preferred()

    def _get(self, path: tuple[str, ...], model: str) -> Any:
        value, _ = self._session.fetch(Call(method="GET", path=path), schemas.shape_of(model))
        return value

    def __getattr__(self, name: str) -> Any:
        wanted = names.fold(name)
        public = [each for each in dir(type(self)) if not each.startswith("_")]
        found = next((each for each in public if names.fold(each) == wanted), None)
        # `k8s.discovery().list_endpoint_slice_for_all_namespaces()` means the API group of that name.
        if found is None and not name.startswith("_") and wanted in map(names.fold, dir(self._typed)):
            return getattr(self._typed, name)
        if found is None or name.startswith("_"):
            raise AttributeError(f"k8s.discovery() has no {name!r}; {names.suggestion(name, dir(self))}")
        return getattr(self, found)

    def __dir__(self) -> list[str]:
        return [
            "api_resources",
            "find",
            "groups",
            "server_groups",
            "server_resources_for_group_version",
            "server_version",
        ]

    def __repr__(self) -> str:
        return f"k8s.discovery(): {', '.join(dir(self))}"


def _several(name: str) -> str:
    """Returns what to write instead of an argument of kubectl that is more than a kind; else an empty text."""
    if name.startswith(("/", "--")):
        return "paths and flags are not read here: name the kind, such as k8s.get('nodes')"
    if name == "all":
        return "ask kind by kind: k8s.get('pods', namespace=...), k8s.get('deployments', namespace=...), …"
    if "," in name:
        kinds = [each.strip() for each in name.split(",")]
        return f"ask kind by kind: [k8s.get(kind, namespace=...) for kind in {kinds}]"
    return "name the kind alone, and namespace=..., label_selector=... beside it" if " " in name.strip() else ""


def _resources(listing: views.View, group_version: str) -> list[ApiResource]:
    """Returns a discovery document's kinds, each with its subresources."""
    entries = [each.to_dict() for each in listing.resources]
    subresources: dict[str, list[str]] = {}
    for each in entries:
        # The document lists a subresource as an entry of its own, such as "pods/log".
        parent, _, child = each["name"].partition("/")
        if child:
            subresources.setdefault(parent, []).append(child)
    group, _, version = group_version.rpartition("/")
    return [
        ApiResource(
            each["name"],
            each["kind"],
            group,
            version,
            bool(each.get("namespaced")),
            tuple(each.get("verbs") or ()),
            tuple(each.get("short_names") or ()),
            each.get("singular_name") or each["kind"].lower(),
            tuple(each.get("categories") or ()),
            tuple(subresources.get(each["name"], ())),
        )
        for each in entries
        if "/" not in each["name"]
    ]
