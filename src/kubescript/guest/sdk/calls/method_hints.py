"""Provides the hints for methods and clients that do not exist, such as `get_pod`, `listPods` or `batchV1beta1`.
client.py puts them into its AttributeErrors.

Meaning comes before spelling: synonyms of the verb and the kind's plural are tried first, then the nearest name.
"""

from __future__ import annotations

import re
from typing import Final

from kubescript.guest.sdk.objects import helptext
from kubescript.guest.sdk.values import names, operations

__all__ = ["current", "method", "missing_client", "missing_method", "other_version"]

_VERBS: Final = {
    **dict.fromkeys(("get", "read", "describe", "fetch", "show", "find"), ("read", "list")),
    **dict.fromkeys(("list", "getall", "all"), ("list",)),
    **dict.fromkeys(("update", "edit", "modify", "set"), ("patch", "replace")),
    **dict.fromkeys(("create", "add"), ("create",)),
    **dict.fromkeys(("apply",), ("patch", "create")),
    **dict.fromkeys(("delete", "remove", "kill"), ("delete",)),
    **dict.fromkeys(("patch", "replace", "watch"), ()),
}
"""Maps a verb that scripts write to the verbs of methods, in the order to offer them."""
_READING: Final = ("read_", "list_", "get_")
# Groups whose kinds have moved: `extensions` was split up, and metrics.k8s.io has no other version.
_MOVED: Final = {"extensions": ("appsv1", "networkingv1"), "metrics": ("metricsv1beta1",)}
_UNSTABLE: Final = re.compile(r"v\d+(?:alpha|beta)\d+(?:api)?$")
_VERSION: Final = re.compile(r"v\d+(?:(?:alpha|beta)\d+)?(?:api)?$")


def missing_method(api: str, name: str) -> str:
    """Returns the error for a method that a class does not have. The error names the method of this class that is
    meant, or else the class that has it, or else the nearest names."""
    head = f"{api} has no {name!r}"
    if name == "api_client":
        return f"{head}; json.dumps(obj) and obj.to_dict() give plain data, k8s.get('pods') reads any kind"
    if meant := method(api, name):
        return f"{head}; write {' or '.join(meant)}"
    if found := _find_elsewhere(name):
        return f"{head}; {_place(*found)}"
    known = operations.operations(api)
    # Writes need the operator's permission, so reading methods come first.
    near = sorted(names.nearest(name, known, 3), key=lambda each: not each.startswith(_READING))
    if near:
        return f"{head}; did you mean {' or '.join(near)}?"
    return f"{head}; dir(k8s.{helptext.accessor(api)}()) lists its methods"


def _place(api: str, meant: list[str]) -> str:
    """Returns where a method is, and what it is called there if the names differ from the script's."""
    place = f"it is in k8s.{helptext.accessor(api)}()"
    if not meant:
        return place
    return f"{place}: {' or '.join(meant)}"


def method(api: str, name: str) -> list[str]:
    """Returns the methods of a class that are meant by a name made of a verb and a kind."""
    verb, kind = _split(name)
    singular = _singular(kind)
    known = operations.operations(api)
    verbs = _VERBS.get(verb, ())
    # A plural, as in `get_pods`, means the list before the single object.
    if verbs[:1] == ("read",) and singular != kind:
        verbs = verbs[::-1]
    for each in verbs:
        prefix = f"{each}_"
        found = [own for own in known if own.startswith(prefix) and _kind(own) in (kind, singular)]
        if found:
            return sorted(found, key=lambda own: ("namespaced" not in own, own))
    return []


def _split(name: str) -> tuple[str, str]:
    """Returns verb and folded kind: listNamespacedPods is ("list", "pods")."""
    verb, _, rest = names.snake(name).partition("_")
    if verb == "get" and rest.startswith("all_"):
        verb = "list"
        rest = rest.removeprefix("all_")
    kind = rest.replace("namespaced_", "")
    kind = kind.replace("_for_all_namespaces", "")
    kind = kind.removeprefix("all_")
    return verb, names.fold(kind)


def _kind(operation: str) -> str:
    _, kind = _split(operation)
    return kind


def _singular(kind: str) -> str:
    """Returns the singular: pod of pods, policy of policies, ingress of ingresses; words such as endpoints stay
    unchanged."""
    if kind.endswith("ies"):
        return f"{kind[:-3]}y"
    if kind.endswith(("sses", "xes")):
        return kind[:-2]
    if kind.endswith(("ss", "status", "endpoints", "metrics")):
        return kind
    return kind.removesuffix("s")


def _find_elsewhere(name: str) -> tuple[str, list[str]] | None:
    """Returns a class that has the method, or has methods that the name means; stable versions come first."""
    wanted = names.fold(name)
    others = sorted(operations.apis(), key=_preference)
    for api in others:
        if any(names.fold(each) == wanted for each in operations.operations(api)):
            return api, []
    for api in others:
        if meant := method(api, name):
            return api, meant
    return None


def _preference(api: str) -> tuple[bool, bool, str]:
    """Returns the sort key of a class: stable versions come first, and the core group before others."""
    unstable = "beta" in api or "alpha" in api
    return unstable, api != "CoreV1Api", api


_INSTEAD: Final = {
    **dict.fromkeys(
        ("resources", "kubectl", "find", "ls", "run", "sh", "cmd", "query"), "k8s.get('pods', namespace=...)"
    ),
    **dict.fromkeys(("v1", "api", "client", "core_api"), "k8s.coreV1()"),
    **dict.fromkeys(("read", "describe"), "k8s.get('pods', name, namespace)"),
    **dict.fromkeys(("api_resources", "resources_list"), "k8s.discovery().api_resources()"),
    **dict.fromkeys(
        ("create", "patch", "replace", "update"),
        "k8s.apply(manifest), or k8s.dynamic().resources.get(api_version=..., kind=...).patch(...)",
    ),
    **dict.fromkeys(("watch", "stream"), "watch.Watch().stream(k8s.coreV1().list_namespaced_pod, 'shop')"),
    **dict.fromkeys(
        ("raw", "get_raw", "request", "call_api", "http"), "k8s.get('pods'): any kind by name, or k8s.get('/apis/...')"
    ),
    **dict.fromkeys(
        ("custom_metrics", "customMetrics", "customMetricsV1beta1", "customMetricsV1beta2"),
        "k8s.get('/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/http_requests')",
    ),
    **dict.fromkeys(
        ("external_metrics", "externalMetrics", "externalMetricsV1beta1"),
        "k8s.get('/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue_length')",
    ),
    "exec": "a log or status query: commands cannot be run in pods",
    "config": "k8s.contexts() and k8s.context(name)",
}
"""Maps attributes that scripts expect of `k8s` to what they can write instead."""


def stable(api: str) -> str:
    """Returns the class that a group's name alone means; an empty string if the class itself has objects."""
    # CoreApi has only the versions of its group; the objects are in CoreV1Api.
    if helptext.has_objects(api):
        return ""
    group = api.removesuffix("Api")
    for version in ("V2", "V1"):
        versioned = f"{group}{version}Api"
        if versioned in operations.apis():
            return versioned
    return ""


def missing_client(name: str, known: dict[str, str], listed: list[str]) -> str:
    """Returns the error for a name that `k8s` does not have."""
    head = f"k8s has no {name!r}"
    folded = names.fold(name)
    if name in _INSTEAD:
        return f"{head}; write {_INSTEAD[name]}"
    if served := current(folded, known):
        accessors = [f"k8s.{helptext.accessor(api)}()" for api in served]
        return f"{head}: {other_version(folded, accessors)}"
    if found := _find_elsewhere(name):
        return f"{head}; {_place(*found)}"
    if listing := _find_listing(name):
        namespaced = any("namespaced" in each for each in listing)
        place = ", namespace=..." if namespaced else ""
        return f"{head}; write k8s.get({folded!r}{place})"
    near = names.nearest(name, listed, 3)
    if near:
        return f"{head}; did you mean {' or '.join(near)}?"
    return f"{head}; see dir(k8s)"


def other_version(folded: str, served: list[str]) -> str:
    """Returns what is wrong with a version that clusters do not serve. `served` are the names to write instead."""
    meant = " or ".join(served)
    # Kubernetes removes alpha and beta versions, and has never removed a stable one.
    if _UNSTABLE.search(folded):
        return f"newer clusters do not serve that version; use {meant}"
    return f"no such API; did you mean {meant}?"


def _find_listing(kind: str) -> list[str]:
    """Returns the methods that list a kind."""
    wanted = f"list_{kind}"
    if meant := method("CoreV1Api", wanted):
        return meant
    elsewhere = _find_elsewhere(wanted)
    if elsewhere is None:
        return []
    _, meant = elsewhere
    return meant


def current(folded: str, known: dict[str, str]) -> list[str]:
    """Returns the classes that have the kinds of a version that clusters do not serve, such as BatchV1Api for
    batchv1beta1 and CoreV1Api for corev2."""
    match = _VERSION.search(folded)
    if match is None or folded in known:
        return []
    group = folded[: match.start()]
    if group in _MOVED:
        return [known[each] for each in _MOVED[group]]
    for version in ("v2", "v1"):
        newer = f"{group}{version}"
        if newer in known:
            return [known[newer]]
    return []
