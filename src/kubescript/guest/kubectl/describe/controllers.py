"""Deployments, ReplicaSets, ReplicationControllers, StatefulSets and DaemonSets: workloads that keep pods running."""

from __future__ import annotations

import collections
import functools
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject, template, text_writer, texts, volumes
from kubescript.guest.kubectl.rows import cells
from kubescript.wire import messages

__all__ = ["conditions", "daemon_set", "deployment", "replica_set", "replication_controller", "stateful_set"]

_NODES: Final = {
    "Desired Number of Nodes Scheduled": "desiredNumberScheduled",
    "Current Number of Nodes Scheduled": "currentNumberScheduled",
    "Number of Nodes Scheduled with Up-to-date Pods": "updatedNumberScheduled",
    "Number of Nodes Scheduled with Available Pods": "numberAvailable",
    "Number of Nodes Misscheduled": "numberMisscheduled",
}


def replica_set(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a ReplicaSet."""
    selector = cells.selector((about.object.get("spec") or {}).get("selector"))
    _replicas(about, out, selector, selector or cells.NONE)


def replication_controller(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a ReplicationController."""
    labels = (about.object.get("spec") or {}).get("selector")
    _replicas(about, out, texts.labels(labels) if labels else "", texts.labels(labels))


def _replicas(about: subject.Subject, out: text_writer.Writer, selector: str, shown: str) -> None:
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("Selector", shown)
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    if owner := texts.controller(about.object):
        out.field("Controlled By", f"{owner.get('kind')}/{owner.get('name')}")
    out.field("Replicas", f"{status.get('replicas', 0)} current / {spec.get('replicas', 1)} desired")
    out.field("Pods Status", _pods(about, selector))
    template.template(out, spec.get("template"))
    conditions(out, status)


def stateful_set(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a StatefulSet."""
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    selector = cells.selector(spec.get("selector"))
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("CreationTimestamp", texts.time(metadata.get("creationTimestamp")))
    out.field("Selector", selector)
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("Replicas", f"{spec.get('replicas', 1)} desired | {status.get('replicas', 0)} total")
    strategy = spec.get("updateStrategy") or {}
    out.field("Update Strategy", strategy.get("type"))
    rolling = strategy.get("rollingUpdate") or {}
    if rolling.get("partition") is not None:
        out.field("Partition", rolling["partition"], 1)
        out.optional_field("MaxUnavailable", rolling.get("maxUnavailable"), 1)
    out.field("Pods Status", _pods(about, selector))
    template.template(out, spec.get("template"))
    volumes.claim_templates(out, spec.get("volumeClaimTemplates"))


def daemon_set(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a DaemonSet."""
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    selector = cells.selector(spec.get("selector"))
    pod = (spec.get("template") or {}).get("spec") or {}
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("Selector", selector)
    out.field("Node-Selector", texts.labels(pod.get("nodeSelector")))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    for title, key in _NODES.items():
        out.row(f"{title}: {status.get(key, 0)}")
    out.field("Pods Status", _pods(about, selector))
    template.template(out, spec.get("template"))


def _pods(about: subject.Subject, selector: str) -> str:
    """Returns how many of the workload's own pods are in each phase."""
    list_pods = about.k8s.coreV1().list_namespaced_pod
    read = functools.partial(list_pods, about.namespace, label_selector=selector)
    found = subject.together(about.k8s, {"pods": read})["pods"]
    if isinstance(found, Exception):
        return messages.text("describe_not_read", reason=subject.reason(found))
    uid = (about.object.get("metadata") or {}).get("uid")
    counts: collections.Counter[str] = collections.Counter()
    for pod in found:
        if (texts.controller(pod) or {}).get("uid") == uid:
            counts[texts.text((pod.get("status") or {}).get("phase"))] += 1
    running, waiting = counts["Running"], counts["Pending"]
    return f"{running} Running / {waiting} Waiting / {counts['Succeeded']} Succeeded / {counts['Failed']} Failed"


_HASH: Final = "pod-template-hash"


def deployment(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a Deployment with its ReplicaSets."""
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("CreationTimestamp", texts.time(metadata.get("creationTimestamp")))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("Selector", cells.selector(spec.get("selector")))
    out.field("Replicas", _replica_counts(spec, status))
    strategy = spec.get("strategy") or {}
    out.field("StrategyType", strategy.get("type"))
    out.field("MinReadySeconds", spec.get("minReadySeconds", 0))
    if rolling := strategy.get("rollingUpdate"):
        most, surge = texts.text(rolling.get("maxUnavailable")), texts.text(rolling.get("maxSurge"))
        out.field("RollingUpdateStrategy", f"{most} max unavailable, {surge} max surge")
    template.template(out, spec.get("template"))
    conditions(out, status)
    _replica_sets(about, out)


def _replica_counts(spec: texts.Object, status: texts.Object) -> str:
    updated, total = status.get("updatedReplicas", 0), status.get("replicas", 0)
    available, unavailable = status.get("availableReplicas", 0), status.get("unavailableReplicas", 0)
    return (
        f"{spec.get('replicas', 1)} desired | {updated} updated | {total} total | {available} available | "
        f"{unavailable} unavailable"
    )


def conditions(out: text_writer.Writer, status: texts.Object) -> None:
    """Writes the conditions of a Deployment, ReplicaSet or ReplicationController."""
    found = status.get("conditions")
    if not found:
        return
    out.title("Conditions")
    out.table(("Type", "Status", "Reason"), map(_condition, found))


def _condition(found: texts.Object) -> tuple[str, ...]:
    return f"{found.get('type', '')} ", texts.text(found.get("status")), texts.text(found.get("reason"))


def _replica_sets(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes the ReplicaSets of earlier templates, and that of the current one."""
    selector = cells.selector((about.object.get("spec") or {}).get("selector"))
    list_sets = about.k8s.appsV1().list_namespaced_replica_set
    read = functools.partial(list_sets, about.namespace, label_selector=selector)
    found = subject.together(about.k8s, {"sets": read})["sets"]
    if isinstance(found, Exception):
        out.field("ReplicaSets", messages.text("describe_not_read", reason=subject.reason(found)))
        return
    uid = (about.object.get("metadata") or {}).get("uid")
    own = [each for each in found if (texts.controller(each) or {}).get("uid") == uid]
    own.sort(key=lambda each: (texts.text(each["metadata"].get("creationTimestamp")), texts.name_of(each)))
    wanted = _strip_template(about.object)
    new = next((each for each in own if _strip_template(each) == wanted), None)
    if own:
        out.field(
            "OldReplicaSets", texts.join([_write_replica_set(each) for each in own if each is not new], between=", ")
        )
        out.field("NewReplicaSet", "<none>" if new is None else _write_replica_set(new))


def _write_replica_set(found: texts.Object) -> str:
    wanted, made = (found.get("spec") or {}).get("replicas", 1), (found.get("status") or {}).get("replicas", 0)
    return f"{texts.name_of(found)} ({made}/{wanted} replicas created)"


def _strip_template(found: texts.Object) -> Any:
    """Returns an object's pod template without the label that differs between a Deployment's templates."""
    return _drop_empty((found.get("spec") or {}).get("template") or {})


def _drop_empty(value: Any) -> Any:
    """Returns JSON without empty values, so that a missing list equals an empty one."""
    if isinstance(value, dict):
        kept = {key: _drop_empty(each) for key, each in value.items() if key != _HASH}
        return {key: each for key, each in kept.items() if each not in (None, {}, [], "")}
    return [_drop_empty(each) for each in value] if isinstance(value, list) else value
