"""Provides `k8s.discovery()`: the kinds that the cluster serves, read with plain discovery requests and kept for the
rest of the script. dynamic.py and explain.py find kinds with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kubescript.guest.sdk.calls import session
from kubescript.guest.sdk.objects import schemas, views
from kubescript.guest.sdk.values import exceptions, names
from kubescript.kube import kinds
from kubescript.wire.exchanges import Call

__all__ = ["ApiResource", "Discovery"]


class ApiResource(NamedTuple):
    """One kind the cluster serves, in one version."""

    name: str
    """The kind's plural name, as in the URL."""
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
            hint = names.suggestion(key, self._fields)
            raise KeyError(f"{key!r}; {hint}")
        return getattr(self, _READABLE[key])

    def get(self, key: str, default: Any = None) -> Any:
        """A field by name, or `default`, as of a dict."""
        if key not in _READABLE:
            return default
        return self[key]

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
        """The same, by the official dynamic client's name."""
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
        other = [self.kind, self.singularName, *self.shortNames]
        with_version = f"{self.name}.{self.version}.{self.group}"
        own = [self.name, self.full_name, with_version, *other]
        if self.group:
            own += [f"{each}.{self.group}" for each in other]
        wanted = name.lower()
        # A kind may lack some of these names.
        return any(each and each.lower() == wanted for each in own)


_ALSO = ("api_version", "group_version", "short_names", "full_name")
_READABLE = {name: name for name in (*ApiResource._fields, *_ALSO)} | {
    "apiVersion": "api_version",
    "groupVersion": "group_version",
    "singular_name": "singularName",
    "plural": "name",
}
"""Maps the keys of items to attributes."""


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
        known = self._resources.get(group_version)
        if known is None:
            path = ("apis", *group_version.split("/")) if "/" in group_version else ("api", group_version)
            listing = self._get(path, "V1APIResourceList")
            known = self._resources[group_version] = _resources(listing, group_version)
        return known

    resources_for = server_resources_for_group_version

    def api_resources(
        self, *, group: str | None = None, namespaced: bool | None = None, verb: str | None = None
    ) -> list[ApiResource]:
        """Every kind in its preferred version: name, kind, namespaced, verbs, shortNames, group, version."""
        found = []
        for each in self.preferred():
            if group is not None and each.group != group:
                continue
            if namespaced is not None and each.namespaced != namespaced:
                continue
            if verb is None or verb in each.verbs:
                found.append(each)
        return found

    server_preferred_resources = resources = api_resources

    def preferred(self) -> Iterator[ApiResource]:
        """Every kind in its group's preferred version, the core group first; groups that do not answer are left out."""
        yield from self.server_resources_for_group_version("v1")
        for group in self.groups():
            yield from self._list_reachable(group.preferred_version.group_version)

    def is_preferred(self, resource: ApiResource) -> bool:
        """Whether the resource's group prefers its version."""
        # The core group has one version.
        if not resource.group:
            return True
        preferred = (each.preferred_version.group_version for each in self.groups())
        return resource.group_version in preferred

    def _list_reachable(self, group_version: str) -> list[ApiResource]:
        """Returns the kinds of a group version; an empty list if its server does not answer."""
        try:
            return self.server_resources_for_group_version(group_version)
        except exceptions.ApiException as error:
            # An aggregated API whose server is down must not hide all other kinds.
            if error.status in (404, 503):
                return []
            raise

    def find(self, name: str) -> ApiResource:
        """The resource kubectl would understand. Raises NotFoundException, which names the nearest."""
        seen: list[str] = []
        for each in self._candidates(name):
            if each.answers_to(name):
                return each
            seen.extend((each.name, each.kind, each.full_name))
        plural, _, group = name.partition(".")
        advice = _advise_syntax(name)
        if not advice and group:
            advice = self.advice(plural, group)
        if not advice:
            advice = names.suggestion(name, seen)
        raise exceptions.NotFoundException(404, "Not Found", message=f"no resource {name!r}; {advice}")

    def advice(self, name: str, group: str) -> str:
        """Why a group has no such kind: the group is not served, or the kind is in another group. Else empty."""
        elsewhere = [each for each in self.preferred() if each.answers_to(name)]
        if elsewhere:
            places = [each.api_version for each in elsewhere]
            return f"{elsewhere[0].kind} is in {' and '.join(places)}"
        served = {each.name for each in self.groups()}
        # The name may begin with a version: deployments.v1.apps.
        is_served = group in served or any(group.endswith(f".{each}") for each in served)
        if not group or is_served:
            return ""
        custom = [each for each in served if "." in each and not each.endswith(".k8s.io")]
        listed = ", ".join(sorted(custom)) or "none"
        return f"group {group} is not served; custom groups: {listed}"

    def _candidates(self, name: str) -> Iterator[ApiResource]:
        """Yields resources in the order to try."""
        _, _, group = name.partition(".")
        # A group in the name saves the requests for all other groups.
        if group:
            for each in self.groups():
                if group != each.name and not group.endswith(f".{each.name}"):
                    continue
                for version in each.versions:
                    yield from self._list_reachable(version.group_version)
        yield from self.preferred()

    def _get(self, path: tuple[str, ...], model: str) -> Any:
        """Returns the answer to a discovery request."""
        call = Call(method="GET", path=path)
        value, _ = self._session.fetch(call, schemas.shape_of(model))
        return value

    def __getattr__(self, name: str) -> Any:
        wanted = names.fold(name)
        if not name.startswith("_"):
            for each in dir(type(self)):
                if not each.startswith("_") and names.fold(each) == wanted:
                    return getattr(self, each)
            # `k8s.discovery().list_endpoint_slice_for_all_namespaces()` means the API group of that name.
            if wanted in map(names.fold, dir(self._typed)):
                return getattr(self._typed, name)
        hint = names.suggestion(name, dir(self))
        raise AttributeError(f"k8s.discovery() has no {name!r}; {hint}")

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
        listed = ", ".join(dir(self))
        return f"k8s.discovery(): {listed}"


def _advise_syntax(name: str) -> str:
    """Returns what to write instead of a kubectl argument that is more than a kind; else an empty string."""
    if name.startswith(("/", "--")):
        return "paths and flags are not read here: name the kind, such as k8s.get('nodes')"
    if name == "all":
        return "ask kind by kind: k8s.get('pods', namespace=...), k8s.get('deployments', namespace=...), …"
    if "," in name:
        kinds = [each.strip() for each in name.split(",")]
        return f"ask kind by kind: [k8s.get(kind, namespace=...) for kind in {kinds}]"
    if " " in name.strip():
        return "name the kind alone, and namespace=..., label_selector=... beside it"
    return ""


def _resources(listing: views.View, group_version: str) -> list[ApiResource]:
    """Returns a discovery document's kinds, each with its subresources."""
    entries = [each.to_dict() for each in listing.resources]
    subresources: dict[str, list[str]] = {}
    for each in entries:
        # The document lists a subresource as a separate entry, such as "pods/log".
        parent, _, child = each["name"].partition("/")
        if child:
            subresources.setdefault(parent, []).append(child)
    group, _, version = group_version.rpartition("/")
    # Older API servers leave the singular name empty.
    return [
        ApiResource(
            name=each["name"],
            kind=each["kind"],
            group=group,
            version=version,
            namespaced=bool(each.get("namespaced")),
            verbs=tuple(each.get("verbs") or ()),
            shortNames=tuple(each.get("short_names") or ()),
            singularName=each.get("singular_name") or each["kind"].lower(),
            categories=tuple(each.get("categories") or ()),
            subresources=tuple(subresources.get(each["name"], ())),
        )
        for each in entries
        if "/" not in each["name"]
    ]
