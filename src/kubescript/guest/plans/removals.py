"""The effects of deletions on other objects.

Each namespace is read once, however many deletions it has: the kinds that usually have owners, and those that show how
many pods remain.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
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

__all__ = ["list_effects"]

Json = dict[str, Any]
Id = tuple[str, str, str]
"""The group, kind and name of an object, as in owner references."""
Named = tuple[tool_kinds.Kind, str]
"""The kind and name of an object in a namespace."""

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
"""How many custom kinds of the targets' groups are also read."""
_MAX_NAMES: Final = 5
"""How many names one line lists."""
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
        for kind, found in self.listed.items():
            if kind.model and kind.plural == plural:
                return found
        return []


class _Gone(NamedTuple):
    """A namespace's deleted objects."""

    objects: Sequence[Named]

    def of(self, plural: str) -> set[str]:
        """Returns the names of the objects of a built-in kind."""
        found = set()
        for kind, name in self.objects:
            # A custom kind may have the same plural.
            if kind.model and kind.plural == plural:
                found.add(name)
        return found


def list_effects(k8s: client.K8s, targets: Sequence[Mapping[str, str]]) -> list[list[str]]:
    """Returns each deletion's effects on other objects: lines of text, in the order of the targets, which are dicts of
    group, version, resource, namespace and name."""
    found = [_find_target(k8s, each) for each in targets]
    by_namespace: defaultdict[str, list[int]] = defaultdict(list)
    for index, target in enumerate(found):
        by_namespace[target.namespace].append(index)
    lines: dict[int, list[str]] = {}
    for namespace, indexes in by_namespace.items():
        here = [found[index] for index in indexes]
        if namespace:
            lines.update(zip(indexes, _in_namespace(k8s, namespace, here), strict=True))
            continue
        for index, target in zip(indexes, here, strict=True):
            lines[index] = _in_cluster(k8s, target)
    return [lines[index] for index in range(len(found))]


def _find_target(k8s: client.K8s, given: Mapping[str, str]) -> _Target:
    """Returns the object that a deletion names."""
    group = given["group"]
    resource = given["resource"]
    # The version is left out: deleting an object deletes it in all versions of its kind.
    kind = tool_kinds.find(k8s, kube_kinds.full_name(group, resource))
    return _Target(kind, given["namespace"], given["name"])


# --- reading ----------------------------------------------------------------------------------------------------------


def _read(k8s: client.K8s, namespace: str, more: Sequence[tool_kinds.Kind] = ()) -> _Namespace:
    """Reads a namespace: the usual kinds, and `more`."""
    usual = [tool_kinds.find(k8s, each) for each in (*_WHOLE, *_OWNED)]
    wanted = [*usual, *more]
    reads = {}
    for kind in wanted:
        accept: exchanges.Accept = "json" if kind.plural in _WHOLE else "metadata"
        call = exchanges.Call("GET", kind.path(namespace), accept=accept)
        reads[kind.full_name] = _reader(k8s, call)
    answers = subject.together(k8s, reads)
    listed = {}
    missing = []
    for kind in wanted:
        answer = answers[kind.full_name]
        if isinstance(answer, list):
            listed[kind] = answer
        # Kinds that the cluster does not serve are ignored.
        elif not isinstance(answer, exceptions.NotFoundException):
            reason = getattr(answer, "status", None) or subject.reason(answer)
            missing.append(f"{kind.plural} ({reason})")
    return _Namespace(listed, missing)


def _reader(k8s: client.K8s, call: exchanges.Call) -> Callable[[], list_objects.ListObject]:
    """Returns a function that lists objects with this call."""

    def read() -> list_objects.ListObject:
        found, _ = k8s._session.fetch_list(call, schemas.OBJECT, "")
        return found

    return read


def _find_related_kinds(k8s: client.K8s, targets: Sequence[_Target]) -> list[tool_kinds.Kind]:
    """Returns the custom kinds of the targets' groups, whose objects may own each other."""
    groups = {each.kind.group for each in targets if not each.kind.model}
    if not groups:
        return []
    related = []
    for each in k8s.discovery().preferred():
        if each.group in groups and each.namespaced and "list" in each.verbs:
            kind = tool_kinds.Kind(each.group, each.version, each.name, each.kind, each.namespaced)
            related.append(kind)
    return related[:_MAX_CUSTOM]


# --- deleted objects --------------------------------------------------------------------------------------------------


def _in_namespace(k8s: client.K8s, namespace: str, targets: Sequence[_Target]) -> list[list[str]]:
    """Returns the lines of the targets in a namespace."""
    read = _read(k8s, namespace, _find_related_kinds(k8s, targets))
    owned = _find_owned(read)
    dependents = [_collect_dependents(owned, each.id) for each in targets]
    deleted = [[*found, (each.kind, each.name)] for each, found in zip(targets, dependents, strict=True)]
    # It may take all deletions together for a Service to lose its last endpoint; then the line appears for each
    # deletion that takes one of its endpoints.
    gone = _Gone([each for found in deleted for each in found])
    shared = [*_services(read, gone), *_budgets(read, gone)]
    lines = []
    for target, taken, with_target in zip(targets, dependents, deleted, strict=True):
        pods = _Gone(with_target).of("pods")
        own = _takes(_by_kind(taken))
        own += [text for text, lost in shared if lost & pods]
        own += _autoscalers(read, gone, target)
        own += _unread(read)
        lines.append(own)
    return lines


def _takes(by_kind: Mapping[str, list[str]]) -> list[str]:
    """Returns a line for each kind whose objects are deleted too."""
    lines = []
    for kind, names in by_kind.items():
        count = _write_count(kind, names)
        lines.append(f"takes {count} with it")
    return lines


def _unread(read: _Namespace) -> list[str]:
    """Returns the line about kinds that could not be read, if there are any."""
    if not read.missing:
        return []
    missing = ", ".join(read.missing)
    return [f"not everything could be looked at: {missing}"]


def _find_owned(read: _Namespace) -> dict[Id, list[Named]]:
    """Maps each owner to the kinds and names of the objects that it owns."""
    owned = defaultdict(list)
    for kind, objects in read.listed.items():
        for each in objects:
            named = (kind, cells.name(each))
            for owner in cells.elements(each, "metadata.ownerReferences"):
                owned[_reference_id(owner)].append(named)
    return owned


def _reference_id(reference: Mapping[str, Any]) -> Id:
    """Returns the object that an owner reference or a scale target names."""
    # The version is left out: an object is the same in all versions of its kind.
    group, _, _ = str(reference.get("apiVersion", "")).rpartition("/")
    return group, reference.get("kind", ""), reference.get("name", "")


def _collect_dependents(owned: Mapping[Id, list[Named]], root: Id) -> list[Named]:
    """Returns all objects deleted along with one object, directly owned ones first."""
    # Attack: a namespace has objects that own one another in a circle.
    found: dict[Named, None] = {}
    waiting = [root]
    while waiting:
        owner = waiting.pop(0)
        for kind, name in owned.get(owner, ()):
            if (kind, name) not in found:
                found[kind, name] = None
                waiting.append((kind.group, kind.kind, name))
    return list(found)


def _by_kind(taken: Sequence[Named]) -> dict[str, list[str]]:
    """Returns the names of the objects that are worth reporting, by kind."""
    found = defaultdict(list)
    for kind, name in taken:
        if kind.plural not in _UNTOLD:
            found[kind.full_name].append(name)
    return found


def _write_count(kind: str, names: Sequence[str]) -> str:
    """Returns `3 pods (web-1, web-2, web-3)`, or `pods web-1`."""
    count = len(names)
    if count == 1:
        return f"{kind} {cells.line(names[0])}"
    first = sorted(names)[:_MAX_NAMES]
    # Attack: a name with a line end would add a line to the text that the approver reads.
    shown = ", ".join(cells.line(name) for name in first)
    more = ", …" if count > _MAX_NAMES else ""
    return f"{count} {kind} ({shown}{more})"


# --- remaining objects ------------------------------------------------------------------------------------------------


def _services(read: _Namespace, gone: _Gone) -> Iterator[tuple[str, set[str]]]:
    """Yields a line for each Service that loses its last ready endpoints, and the names of their pods."""
    ready: dict[str, set[str]] = defaultdict(set)
    for each in read.of("endpointslices"):
        service = cells.at(each, "metadata.labels", {}).get(_SERVICE, "")
        for endpoint in cells.elements(each, "endpoints"):
            # An endpoint without the condition is ready.
            if not cells.at(endpoint, "conditions.ready", True):
                continue
            # The empty name stands for an endpoint that is not a pod, which no deletion of pods removes.
            is_pod = cells.at(endpoint, "targetRef.kind") == "Pod"
            ready[service].add(cells.at(endpoint, "targetRef.name") if is_pod else "")
    lost = gone.of("pods")
    for service in sorted(ready.keys() - gone.of("services") - {""}):
        pods = ready[service]
        if not pods <= lost:
            continue
        count = len(pods)
        last = "its last ready endpoint" if count == 1 else f"all its {count} ready endpoints"
        yield f"service {cells.line(service)} loses {last}", pods


def _budgets(read: _Namespace, gone: _Gone) -> Iterator[tuple[str, set[str]]]:
    """Yields a line for each PodDisruptionBudget that does not allow the deletions, and the affected pods."""
    pods = gone.of("pods")
    budgets = gone.of("poddisruptionbudgets")
    # A pod that is not ready does not count towards a budget.
    healthy = [
        each for each in read.of("pods") if cells.name(each) in pods and cells.condition(each, "Ready") == "True"
    ]
    for budget in read.of("poddisruptionbudgets"):
        name = cells.name(budget)
        selector = cells.at(budget, "spec.selector")
        # A missing selector matches nothing; an empty one matches everything.
        if selector is None or name in budgets:
            continue
        matches = selectors.labels(cells.selector(selector))
        lost = {cells.name(each) for each in healthy if matches is None or matches(each)}
        allowed = cells.at(budget, "status.disruptionsAllowed", 0)
        if len(lost) > allowed:
            text = f"{len(lost)} of its pods would go, and it allows {allowed}"
            yield f"violates poddisruptionbudget {cells.line(name)}: {text}", lost


def _autoscalers(read: _Namespace, gone: _Gone, target: _Target) -> list[str]:
    """Returns a line for each HorizontalPodAutoscaler of a target."""
    lines = []
    deleted = gone.of("horizontalpodautoscalers")
    for each in read.of("horizontalpodautoscalers"):
        name = cells.name(each)
        scaled = cells.at(each, "spec.scaleTargetRef", {})
        if _reference_id(scaled) == target.id and name not in deleted:
            lines.append(f"leaves horizontalpodautoscaler {cells.line(name)} without what it scales")
    return lines


# --- cluster-wide objects ---------------------------------------------------------------------------------------------


def _in_cluster(k8s: client.K8s, target: _Target) -> list[str]:
    """Returns the lines of a cluster-wide target."""
    kind = target.kind
    if kind.model == "V1Namespace":
        return _content(_read(k8s, target.name))
    if kind.model == "V1Node":
        query = (("fieldSelector", f"spec.nodeName={target.name}"),)
        return _all_of(k8s, tool_kinds.find(k8s, "pods"), "that run on it", query)
    # The definition is named after the kind that it defines.
    if kind.plural == "customresourcedefinitions":
        return _all_of(k8s, tool_kinds.find(k8s, target.name), "of all namespaces with it")
    return [] if kind.model else ["what it owns in namespaces was not looked for"]


def _content(read: _Namespace) -> list[str]:
    """Returns the lines of a namespace: its contents."""
    by_kind = {}
    for kind, found in read.listed.items():
        if found and kind.plural not in _UNTOLD:
            by_kind[kind.full_name] = [cells.name(each) for each in found]
    return [*_takes(by_kind), "takes objects of all other kinds in it", *_unread(read)]


def _all_of(k8s: client.K8s, kind: tool_kinds.Kind, where: str, query: tuple[tuple[str, str], ...] = ()) -> list[str]:
    """Returns a line about the objects of a kind in the whole cluster."""
    call = exchanges.Call("GET", kind.path(None), query, accept="metadata")
    answers = subject.together(k8s, {"all": _reader(k8s, call)})
    answer = answers["all"]
    if isinstance(answer, Exception):
        return [f"{kind.full_name} could not be listed: {subject.reason(answer)}"]
    names = [cells.name(each) for each in answer]
    if not names:
        return []
    return [f"takes {_write_count(kind.full_name, names)} {where}"]
