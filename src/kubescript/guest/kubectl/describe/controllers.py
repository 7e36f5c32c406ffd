"""Deployments, ReplicaSets, ReplicationControllers, StatefulSets and DaemonSets: workloads that keep pods running."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject, template, texts, volumes
from kubescript.guest.kubectl.describe.subject import Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.guest.kubectl.rows import cells

__all__ = ["conditions", "daemon_set", "deployment", "replica_set", "replication_controller", "stateful_set"]

_NODES: Final = {
    "Desired Number of Nodes Scheduled": "desiredNumberScheduled",
    "Current Number of Nodes Scheduled": "currentNumberScheduled",
    "Number of Nodes Scheduled with Up-to-date Pods": "updatedNumberScheduled",
    "Number of Nodes Scheduled with Available Pods": "numberAvailable",
    "Number of Nodes Misscheduled": "numberMisscheduled",
}
_HASH: Final = "pod-template-hash"


def replica_set(about: Subject, out: Writer) -> None:
    """Writes a ReplicaSet."""
    selector = cells.selector(about.spec.get("selector"))
    _write_replicas(about, out, selector, selector or cells.NONE)


def replication_controller(about: Subject, out: Writer) -> None:
    """Writes a ReplicationController."""
    # A ReplicationController selects by a map of labels: it is older than selectors with expressions.
    labels = about.spec.get("selector")
    shown = texts.labels(labels)
    selector = shown if labels else ""
    _write_replicas(about, out, selector, shown)


def _write_replicas(about: Subject, out: Writer, selector: str, shown: str) -> None:
    """Writes a ReplicaSet or ReplicationController. `shown` is its selector as kubectl prints it."""
    spec = about.spec
    status = about.status
    out.names(about.metadata)
    out.field("Selector", shown)
    out.labels_and_annotations(about.metadata)
    out.optional_field("Controlled By", texts.controller_name(about.object))
    current = status.get("replicas", 0)
    desired = spec.get("replicas", 1)
    out.field("Replicas", f"{current} current / {desired} desired")
    out.field("Pods Status", _count_pods(about, selector))
    template.template(out, spec.get("template"))
    conditions(out, status)


def stateful_set(about: Subject, out: Writer) -> None:
    """Writes a StatefulSet."""
    metadata = about.metadata
    spec = about.spec
    selector = cells.selector(spec.get("selector"))
    out.names(metadata)
    out.field("CreationTimestamp", texts.time(metadata.get("creationTimestamp")))
    out.field("Selector", selector)
    out.labels_and_annotations(metadata)
    desired = spec.get("replicas", 1)
    total = about.status.get("replicas", 0)
    out.field("Replicas", f"{desired} desired | {total} total")
    _write_update_strategy(out, spec.get("updateStrategy") or {})
    out.field("Pods Status", _count_pods(about, selector))
    template.template(out, spec.get("template"))
    volumes.claim_templates(out, spec.get("volumeClaimTemplates"))


def _write_update_strategy(out: Writer, strategy: Object) -> None:
    """Writes how a StatefulSet's pods are replaced."""
    out.field("Update Strategy", strategy.get("type"))
    rolling = strategy.get("rollingUpdate") or {}
    partition = rolling.get("partition")
    if partition is None:
        return
    out.field("Partition", partition, 1)
    out.optional_field("MaxUnavailable", rolling.get("maxUnavailable"), 1)


def daemon_set(about: Subject, out: Writer) -> None:
    """Writes a DaemonSet."""
    spec = about.spec
    status = about.status
    pod_template = spec.get("template") or {}
    pod = pod_template.get("spec") or {}
    selector = cells.selector(spec.get("selector"))
    out.names(about.metadata)
    out.field("Selector", selector)
    out.field("Node-Selector", texts.labels(pod.get("nodeSelector")))
    out.labels_and_annotations(about.metadata)
    for title, key in _NODES.items():
        count = status.get(key, 0)
        out.row(f"{title}: {count}")
    out.field("Pods Status", _count_pods(about, selector))
    template.template(out, spec.get("template"))


def _count_pods(about: Subject, selector: str) -> str:
    """Returns how many of the workload's own pods are in each phase."""
    found = _list_selected(about, about.k8s.coreV1().list_namespaced_pod, selector)
    if isinstance(found, Exception):
        return subject.describe_failure(found)
    phases: Counter[str] = Counter()
    for pod in _select_owned(about, found):
        status = pod.get("status") or {}
        phases[texts.text(status.get("phase"))] += 1
    running = phases["Running"]
    waiting = phases["Pending"]
    succeeded = phases["Succeeded"]
    failed = phases["Failed"]
    return f"{running} Running / {waiting} Waiting / {succeeded} Succeeded / {failed} Failed"


def _list_selected(about: Subject, list_objects: Callable[..., Any], selector: str) -> Any:
    """Returns the objects with these labels in the workload's namespace, or a failed call's ApiException."""

    def read() -> Any:
        return list_objects(about.namespace, label_selector=selector)

    return subject.together(about.k8s, {"found": read})["found"]


def _select_owned(about: Subject, found: list[Object]) -> list[Object]:
    """Returns the objects that the workload controls."""
    # Another workload may have the same selector, so the labels alone do not show the owner.
    uid = about.metadata.get("uid")
    return [each for each in found if _controller_uid(each) == uid]


def _controller_uid(found: Object) -> Any:
    """Returns the uid of an object's controller; None if it has none."""
    owner = texts.controller(found)
    if owner is None:
        return None
    return owner.get("uid")


def deployment(about: Subject, out: Writer) -> None:
    """Writes a Deployment with its ReplicaSets."""
    metadata = about.metadata
    spec = about.spec
    out.names(metadata)
    out.field("CreationTimestamp", texts.time(metadata.get("creationTimestamp")))
    out.labels_and_annotations(metadata)
    out.field("Selector", cells.selector(spec.get("selector")))
    out.field("Replicas", _replica_counts(spec, about.status))
    strategy = spec.get("strategy") or {}
    out.field("StrategyType", strategy.get("type"))
    out.field("MinReadySeconds", spec.get("minReadySeconds", 0))
    rolling = strategy.get("rollingUpdate")
    if rolling:
        unavailable = texts.text(rolling.get("maxUnavailable"))
        surge = texts.text(rolling.get("maxSurge"))
        out.field("RollingUpdateStrategy", f"{unavailable} max unavailable, {surge} max surge")
    template.template(out, spec.get("template"))
    conditions(out, about.status)
    _write_replica_sets(about, out)


def _replica_counts(spec: Object, status: Object) -> str:
    """Returns how many pods are in which state, such as `3 desired | 3 updated`."""
    # The API server leaves out counts of zero, and the default of `replicas` is 1.
    counts = {
        "desired": spec.get("replicas", 1),
        "updated": status.get("updatedReplicas", 0),
        "total": status.get("replicas", 0),
        "available": status.get("availableReplicas", 0),
        "unavailable": status.get("unavailableReplicas", 0),
    }
    return " | ".join(f"{count} {name}" for name, count in counts.items())


def conditions(out: Writer, status: Object) -> None:
    """Writes the conditions of a Deployment, ReplicaSet or ReplicationController."""
    found = status.get("conditions")
    if not found:
        return
    out.title("Conditions")
    out.table(("Type", "Status", "Reason"), map(_condition_row, found))


def _condition_row(condition: Object) -> tuple[str, ...]:
    """Returns the cells of a condition. The first one ends with a space, as in kubectl."""
    kind = condition.get("type", "")
    status = texts.text(condition.get("status"))
    reason = texts.text(condition.get("reason"))
    return f"{kind} ", status, reason


# --- a Deployment's ReplicaSets ---------------------------------------------------------------------------------------


def _write_replica_sets(about: Subject, out: Writer) -> None:
    """Writes the ReplicaSets of earlier templates, and that of the current one."""
    selector = cells.selector(about.spec.get("selector"))
    found = _list_selected(about, about.k8s.appsV1().list_namespaced_replica_set, selector)
    if isinstance(found, Exception):
        note = subject.describe_failure(found)
        out.field("ReplicaSets", note)
        return
    own = sorted(_select_owned(about, found), key=_age_and_name)
    if not own:
        return
    current = _find_current(about, own)
    old = [_summarize(each) for each in own if each is not current]
    out.field("OldReplicaSets", texts.join(old, between=", "))
    out.field("NewReplicaSet", "<none>" if current is None else _summarize(current))


def _age_and_name(replica_set: Object) -> tuple[str, str]:
    """Returns the sort key of a ReplicaSet: the oldest comes first."""
    created = replica_set["metadata"].get("creationTimestamp")
    return texts.text(created), texts.name_of(replica_set)


def _find_current(about: Subject, replica_sets: list[Object]) -> Object | None:
    """Returns the ReplicaSet with the Deployment's own template."""
    wanted = _strip_template(about.object)
    for each in replica_sets:
        if _strip_template(each) == wanted:
            return each
    return None


def _summarize(replica_set: Object) -> str:
    """Returns a string such as `web-5d4f (2/3 replicas created)`."""
    spec = replica_set.get("spec") or {}
    status = replica_set.get("status") or {}
    wanted = spec.get("replicas", 1)
    created = status.get("replicas", 0)
    return f"{texts.name_of(replica_set)} ({created}/{wanted} replicas created)"


def _strip_template(found: Object) -> Any:
    """Returns an object's pod template without the label that differs between a Deployment's templates."""
    spec = found.get("spec") or {}
    return _drop_empty(spec.get("template") or {})


def _drop_empty(value: Any) -> Any:
    """Returns JSON without empty values, so that a missing list equals an empty one."""
    if isinstance(value, list):
        return [_drop_empty(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for key, each in value.items():
        if key == _HASH:
            continue
        below = _drop_empty(each)
        if below not in (None, {}, [], ""):
            found[key] = below
    return found
