"""Owns the hints for methods and clients that do not exist, such as `get_pod`, `listPods` or `batchV1beta1`. client.py
puts them into its AttributeErrors.

Meaning comes before spelling: synonyms of the verb and the plural of the kind are tried first, then the nearest name.
"""

from __future__ import annotations

import re
from typing import Final

from kubescript.guest.sdk.objects import helptext
from kubescript.guest.sdk.values import names, operations

__all__ = ["current", "method", "missing_client", "missing_method"]

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
_MOVED: Final = {"extensions": ("appsv1", "networkingv1"), "metrics": ("metricsv1beta1",)}
_VERSION: Final = re.compile(r"v\d+(?:(?:alpha|beta)\d+)?(?:api)?$")


def missing_method(api: str, name: str) -> str:
    """Returns the error for a method that a class does not have. It names the method of this class that is meant, else
    the class that has it, else the nearest names."""
    head = f"{api} has no {name!r}"
    if name == "api_client":
        return f"{head}; json.dumps(obj) and obj.to_dict() give plain data, k8s.get('pods') reads any kind"
    if meant := method(api, name):
        return f"{head}; write {' or '.join(meant)}"
    if found := _elsewhere(name):
        other, exact = found
        return f"{head}; it is in k8s.{helptext.accessor(other)}()" + (f": {' or '.join(exact)}" if exact else "")
    near = sorted(names.nearest(name, operations.operations(api), 3), key=lambda each: not each.startswith(_READING))
    hint = f"did you mean {' or '.join(near)}?" if near else f"dir(k8s.{helptext.accessor(api)}()) lists its methods"
    return f"{head}; {hint}"


def method(api: str, name: str) -> list[str]:
    """Returns the methods of a class that a name made of a verb and a kind means."""
    verb, kind = _split(name)
    known = operations.operations(api)
    verbs = _VERBS.get(verb, ())
    # A plural, as in `get_pods`, means the list before the single object.
    for each in reversed(verbs) if verbs[:1] == ("read",) and _singular(kind) != kind else verbs:
        found = [own for own in known if own.startswith(f"{each}_") and _kind(own) in (kind, _singular(kind))]
        if found:
            return sorted(found, key=lambda own: ("namespaced" not in own, own))
    return []


def _split(name: str) -> tuple[str, str]:
    """Returns verb and folded kind: listNamespacedPods is ("list", "pods")."""
    verb, _, rest = names.snake(name).partition("_")
    if verb == "get" and rest.startswith("all_"):
        verb, rest = "list", rest.removeprefix("all_")
    return verb, names.fold(rest.replace("namespaced_", "").replace("_for_all_namespaces", "").removeprefix("all_"))


def _kind(operation: str) -> str:
    return _split(operation)[1]


def _singular(kind: str) -> str:
    """Returns the singular: pod of pods, policy of policies, ingress of ingresses; endpoints and the like unchanged."""
    if kind.endswith("ies"):
        return f"{kind[:-3]}y"
    if kind.endswith(("sses", "xes")):
        return kind[:-2]
    return kind[:-1] if kind.endswith("s") and not kind.endswith(("ss", "status", "endpoints", "metrics")) else kind


def _elsewhere(name: str) -> tuple[str, list[str]] | None:
    """Returns another class that has the method, or that has methods the name means; stable versions come first."""
    wanted = names.fold(name)
    others = sorted(operations.apis(), key=lambda api: ("beta" in api or "alpha" in api, api != "CoreV1Api", api))
    for api in others:
        if any(names.fold(each) == wanted for each in operations.operations(api)):
            return api, []
    return next(((api, found) for api in others if (found := method(api, name))), None)


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
    **dict.fromkeys(("raw", "get_raw", "request", "call_api", "http"), "k8s.get('pods'): any kind by name"),
    "exec": "a log or status query: commands cannot be run in pods",
    "config": "k8s.contexts() and k8s.context(name)",
}
"""Maps names that scripts ask of `k8s` to what they can write instead."""


def stable(api: str) -> str:
    """Returns the class that a group's name alone means; empty when the class itself has objects."""
    # CoreApi has only the versions of its group; the objects are in CoreV1Api.
    if helptext.has_objects(api):
        return ""
    known = (f"{api.removesuffix('Api')}{version}Api" for version in ("V2", "V1"))
    return next((each for each in known if each in operations.apis()), "")


def missing_client(name: str, known: dict[str, str], listed: list[str]) -> str:
    """Returns the error for a name that `k8s` does not have."""
    head = f"k8s has no {name!r}"
    if found_now := current(names.fold(name), known):
        instead = " or ".join(f"k8s.{helptext.accessor(api)}()" for api in found_now)
        return f"{head}: clusters no longer serve that version; use {instead}"
    if found := _elsewhere(name):
        api, exact = found
        return f"{head}; it is in k8s.{helptext.accessor(api)}()" + (f": {' or '.join(exact)}" if exact else "")
    if listing := _listing(name):
        place = ", namespace=..." if any("namespaced" in each for each in listing) else ""
        return f"{head}; write k8s.get({names.fold(name)!r}{place})"
    if name in _INSTEAD:
        return f"{head}; write {_INSTEAD[name]}"
    near = names.nearest(name, listed, 3)
    return f"{head}; {'did you mean ' + ' or '.join(near) + '?' if near else 'see dir(k8s)'}"


def _listing(kind: str) -> list[str]:
    """Returns the methods that list a kind."""
    elsewhere = _elsewhere(f"list_{kind}")
    return method("CoreV1Api", f"list_{kind}") or (elsewhere[1] if elsewhere else [])


def current(folded: str, known: dict[str, str]) -> list[str]:
    """Returns the classes that now have the kinds of a version that is no longer served: BatchV1Api for
    batchv1beta1."""
    match = _VERSION.search(folded)
    if match is None or folded in known:
        return []
    group = folded[: match.start()]
    now = [known[f"{group}{version}"] for version in ("v2", "v1") if f"{group}{version}" in known]
    return [known[each] for each in _MOVED[group]] if group in _MOVED else now[:1]
