"""plan_dependents: the effects of deletions on other objects, for the people who approve a plan. The host runs it as a
script.

Each namespace is read once, however many deletions it has: the kinds that usually have owners, and those that show how
many pods remain.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl import tool_kinds
from kubescript.guest.kubectl.describe import subject
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import list_objects, schemas
from kubescript.guest.sdk.values import exceptions
from kubescript.kube import kinds as kube_kinds
from kubescript.kube import selectors
from kubescript.wire import exchanges

__all__ = ["plan_dependents"]

Json = dict[str, Any]
Id = tuple[str, str, str]
"""Group, kind and name of an object, as in owner references."""
Named = tuple[tool_kinds.Kind, str]
"""Kind and name of an object in a namespace."""

_OWNED: Final = (
    *("replicasets", "statefulsets", "deployments", "daemonsets", "replicationcontrollers", "jobs", "cronjobs"),
    *("services", "ingresses", "networkpolicies", "configmaps", "secrets", "persistentvolumeclaims"),
    *("serviceaccounts", "roles", "rolebindings"),
)
"""Kinds whose metadata is read."""
_WHOLE: Final = ("pods", "endpointslices", "poddisruptionbudgets", "horizontalpodautoscalers")
_UNTOLD: Final = frozenset({"endpointslices"})
"""Owned kinds that are not worth reporting."""
_MAX_CUSTOM: Final = 20
"""How many custom kinds are also read: those of the targets' groups."""
_MAX_NAMES: Final = 5
"""How many names a line has."""
_SERVICE: Final = "kubernetes.io/service-name"


class _Target(NamedTuple):
    """One object to be deleted."""

    kind: tool_kinds.Kind
    namespace: str
    name: str

    @property
    def id(self) -> Id:
        """The object's group, kind and name, as in owner references."""
        return self.kind.group, self.kind.kind, self.name


class _Namespace(NamedTuple):
    """One namespace's objects."""

    listed: dict[tool_kinds.Kind, list[Json]]
    missing: list[str]
    """Kinds that could not be read, with the reason."""

    def of(self, plural: str) -> list[Json]:
        """Returns the objects of a built-in kind."""
        return next((found for kind, found in self.listed.items() if kind.model and kind.plural == plural), [])


class _Gone(NamedTuple):
    """A namespace's deleted objects."""

    objects: Sequence[Named]

    def of(self, plural: str) -> set[str]:
        """Returns the names of the objects of a built-in kind."""
        return {name for kind, name in self.objects if kind.model and kind.plural == plural}


def plan_dependents(k8s: client.K8s, targets: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """Returns each deletion's effects on other objects: lines of text, in the order of the targets, which are dicts of
    group, version, resource, namespace and name."""
    found = [_target(k8s, each) for each in targets]
    lines: dict[int, list[str]] = {}
    for namespace in dict.fromkeys(each.namespace for each in found):
        here = {place: each for place, each in enumerate(found) if each.namespace == namespace}
        if namespace:
            lines |= zip(here, _in_namespace(k8s, namespace, list(here.values())), strict=True)
        else:
            lines |= {place: _in_cluster(k8s, each) for place, each in here.items()}
    return [lines[place] for place in range(len(found))]


def _target(k8s: client.K8s, given: Mapping[str, str]) -> _Target:
    group, resource = given["group"], given["resource"]
    kind = tool_kinds.find(k8s, kube_kinds.full_name(group, resource))
    return _Target(kind, given["namespace"], given["name"])


# --- reading ----------------------------------------------------------------------------------------------------------


def _read(k8s: client.K8s, namespace: str, more: Sequence[tool_kinds.Kind] = ()) -> _Namespace:
    """Reads a namespace: the usual kinds, and `more`."""
    wanted = [*(tool_kinds.find(k8s, each) for each in (*_WHOLE, *_OWNED)), *more]
    reads = {}
    for kind in wanted:
        accept: exchanges.Accept = "json" if kind.plural in _WHOLE else "metadata"
        call = exchanges.Call("GET", kind.path(namespace), accept=accept)
        reads[kind.full_name] = functools.partial(_listing, k8s, call)
    answers = subject.together(k8s, reads)
    listed, missing = {}, []
    for kind in wanted:
        answer = answers[kind.full_name]
        if isinstance(answer, list):
            listed[kind] = answer
        elif not isinstance(answer, exceptions.NotFoundException):  # kinds that the cluster does not serve are ignored
            missing.append(f"{kind.plural} ({getattr(answer, 'status', None) or subject.reason(answer)})")
    return _Namespace(listed, missing)


def _listing(k8s: client.K8s, call: exchanges.Call) -> list_objects.ListObject:
    found, _ = k8s._session.fetch_list(call, schemas.OBJECT, "")
    return found


def _find_related_kinds(k8s: client.K8s, targets: Sequence[_Target]) -> list[tool_kinds.Kind]:
    """Returns the custom kinds of the targets' groups, whose objects may own each other."""
    groups = {each.kind.group for each in targets if not each.kind.model}
    if not groups:
        return []
    served = [each for each in k8s.discovery().preferred() if each.group in groups]
    return [
        tool_kinds.Kind(each.group, each.version, each.name, each.kind, each.namespaced)
        for each in served
        if each.namespaced and "list" in each.verbs
    ][:_MAX_CUSTOM]


# --- deleted objects --------------------------------------------------------------------------------------------------


def _in_namespace(k8s: client.K8s, namespace: str, targets: Sequence[_Target]) -> list[list[str]]:
    """Returns the lines of the targets in a namespace."""
    read = _read(k8s, namespace, _find_related_kinds(k8s, targets))
    owned = _find_owned(read)
    taken = [_collect_dependents(owned, each.id) for each in targets]
    gone = _Gone([*(each for found in taken for each in found), *((each.kind, each.name) for each in targets)])
    lines = []
    for target, found in zip(targets, taken, strict=True):
        pods = _Gone([*found, (target.kind, target.name)]).of("pods")
        own = [f"takes {_write_count(kind, names)} with it" for kind, names in _by_kind(found).items()]
        own += [text for text, lost in _services(read, gone) if lost & pods]
        own += [text for text, lost in _budgets(read, gone) if lost & pods]
        own += _autoscalers(read, gone, target)
        own += [f"not everything could be looked at: {', '.join(read.missing)}"] if read.missing else []
        lines.append(own)
    return lines


def _find_owned(read: _Namespace) -> dict[Id, list[Named]]:
    """Returns owner → kinds and names of its objects."""
    owned = defaultdict(list)
    for kind, objects in read.listed.items():
        for each in objects:
            for owner in cells.elements(each, "metadata.ownerReferences"):
                group = str(owner.get("apiVersion", "")).rpartition("/")[0]
                owned[group, owner.get("kind", ""), owner.get("name", "")].append((kind, cells.name(each)))
    return owned


def _collect_dependents(owned: Mapping[Id, list[Named]], root: Id) -> list[Named]:
    """Returns all objects deleted along with one object, directly owned ones first."""
    # Attack: a namespace has objects that own one another in a circle.
    found: dict[Named, None] = {}
    waiting = [root]
    while waiting:
        for kind, name in owned.get(waiting.pop(0), ()):
            if (kind, name) not in found:
                found[kind, name] = None
                waiting.append((kind.group, kind.kind, name))
    return list(found)


def _by_kind(taken: Sequence[Named]) -> dict[str, list[str]]:
    found = defaultdict(list)
    for kind, name in taken:
        if kind.plural not in _UNTOLD:
            found[kind.full_name].append(name)
    return found


def _write_count(kind: str, names: Sequence[str]) -> str:
    """Returns `3 pods (web-1, web-2, web-3)`, or `pods web-1`."""
    if len(names) == 1:
        return f"{kind} {cells.line(names[0])}"
    shown = ", ".join(cells.line(name) for name in sorted(names)[:_MAX_NAMES])
    more = ", …" if len(names) > _MAX_NAMES else ""
    return f"{len(names)} {kind} ({shown}{more})"


# --- remaining objects ------------------------------------------------------------------------------------------------


def _services(read: _Namespace, gone: _Gone) -> Iterator[tuple[str, set[str]]]:
    """Yields a line for each Service that loses its last ready endpoints, and their pods."""
    ready: dict[str, set[str]] = defaultdict(set)
    for each in read.of("endpointslices"):
        service = cells.at(each, "metadata.labels", {}).get(_SERVICE, "")
        for endpoint in cells.elements(each, "endpoints"):
            # Without the condition, an endpoint is ready.
            if cells.at(endpoint, "conditions.ready", True):
                kind, name = cells.at(endpoint, "targetRef.kind"), cells.at(endpoint, "targetRef.name")
                ready[service].add(name if kind == "Pod" else "")
    for service in sorted(ready.keys() - gone.of("services") - {""}):
        pods = ready[service]
        if pods <= gone.of("pods"):
            last = "its last ready endpoint" if len(pods) == 1 else f"all its {len(pods)} ready endpoints"
            yield f"service {cells.line(service)} loses {last}", pods


def _budgets(read: _Namespace, gone: _Gone) -> Iterator[tuple[str, set[str]]]:
    """Yields a line for each PodDisruptionBudget that does not allow the deletions, and the affected pods."""
    pods, budgets = gone.of("pods"), gone.of("poddisruptionbudgets")
    healthy = [
        each for each in read.of("pods") if cells.name(each) in pods and cells.condition(each, "Ready") == "True"
    ]
    for budget in read.of("poddisruptionbudgets"):
        name, selector = cells.name(budget), cells.at(budget, "spec.selector")
        if selector is None or name in budgets:  # no selector matches nothing; an empty one matches all
            continue
        picks = selectors.labels(cells.selector(selector))
        lost = {cells.name(each) for each in healthy if picks is None or picks(each)}
        allowed = cells.at(budget, "status.disruptionsAllowed", 0)
        if len(lost) > allowed:
            text = f"{len(lost)} of its pods would go, and it allows {allowed}"
            yield f"violates poddisruptionbudget {cells.line(name)}: {text}", lost


def _autoscalers(read: _Namespace, gone: _Gone, target: _Target) -> list[str]:
    """Returns a line for each HorizontalPodAutoscaler of a target."""
    lines = []
    for each in read.of("horizontalpodautoscalers"):
        name, scaled = cells.name(each), cells.at(each, "spec.scaleTargetRef", {})
        group = str(scaled.get("apiVersion", "")).rpartition("/")[0]
        points = (group, scaled.get("kind"), scaled.get("name")) == target.id
        if points and name not in gone.of("horizontalpodautoscalers"):
            lines.append(f"leaves horizontalpodautoscaler {cells.line(name)} without what it scales")
    return lines


# --- cluster-wide objects ---------------------------------------------------------------------------------------------


def _in_cluster(k8s: client.K8s, target: _Target) -> list[str]:
    """Returns the lines of a cluster-wide target."""
    if target.kind.model == "V1Namespace":
        return _content(_read(k8s, target.name))
    if target.kind.model == "V1Node":
        query = (("fieldSelector", f"spec.nodeName={target.name}"),)
        return _all_of(k8s, tool_kinds.find(k8s, "pods"), "that run on it", query)
    if target.kind.plural == "customresourcedefinitions":
        return _all_of(k8s, tool_kinds.find(k8s, target.name), "of all namespaces with it")
    return [] if target.kind.model else ["what it owns in namespaces was not looked for"]


def _content(read: _Namespace) -> list[str]:
    """Returns the lines of a namespace: its contents."""
    shown = {kind: found for kind, found in read.listed.items() if found and kind.plural not in _UNTOLD}
    lines = [
        f"takes {_write_count(kind.full_name, [cells.name(each) for each in shown[kind]])} with it" for kind in shown
    ]
    lines.append("takes objects of all other kinds in it")
    return lines + [f"not everything could be looked at: {', '.join(read.missing)}"] * bool(read.missing)


def _all_of(k8s: client.K8s, kind: tool_kinds.Kind, where: str, query: tuple[tuple[str, str], ...] = ()) -> list[str]:
    """Returns a line with the objects of a kind in the whole cluster."""
    call = exchanges.Call("GET", kind.path(None), query, accept="metadata")
    (answer,) = subject.together(k8s, {"all": functools.partial(_listing, k8s, call)}).values()
    if isinstance(answer, Exception):
        return [f"{kind.full_name} could not be listed: {subject.reason(answer)}"]
    names = [cells.name(each) for each in answer]
    return [f"takes {_write_count(kind.full_name, names)} {where}"] if names else []
