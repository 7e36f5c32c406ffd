"""ReplicaSets, ReplicationControllers, StatefulSets and DaemonSets: workloads that own pods directly."""

from __future__ import annotations

import collections
import functools
from typing import Final

from kubescript.guest.kubectl.describe import claim, deployment, subject, template, values, writer
from kubescript.guest.kubectl.rows import cells
from kubescript.wire import messages

__all__ = ["daemon_set", "replica_set", "replication_controller", "stateful_set"]

_NODES: Final = {
    "Desired Number of Nodes Scheduled": "desiredNumberScheduled",
    "Current Number of Nodes Scheduled": "currentNumberScheduled",
    "Number of Nodes Scheduled with Up-to-date Pods": "updatedNumberScheduled",
    "Number of Nodes Scheduled with Available Pods": "numberAvailable",
    "Number of Nodes Misscheduled": "numberMisscheduled",
}


def replica_set(about: subject.Subject, out: writer.Writer) -> None:
    """Writes a ReplicaSet."""
    selector = cells.selector((about.object.get("spec") or {}).get("selector"))
    _replicas(about, out, selector, selector or cells.NONE)


def replication_controller(about: subject.Subject, out: writer.Writer) -> None:
    """Writes a ReplicationController."""
    labels = (about.object.get("spec") or {}).get("selector")
    _replicas(about, out, values.labels(labels) if labels else "", values.labels(labels))


def _replicas(about: subject.Subject, out: writer.Writer, selector: str, shown: str) -> None:
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("Selector", shown)
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    if owner := values.controller(about.object):
        out.field("Controlled By", f"{owner.get('kind')}/{owner.get('name')}")
    out.field("Replicas", f"{status.get('replicas', 0)} current / {spec.get('replicas', 1)} desired")
    out.field("Pods Status", _pods(about, selector))
    template.template(out, spec.get("template"))
    deployment.conditions(out, status)


def stateful_set(about: subject.Subject, out: writer.Writer) -> None:
    """Writes a StatefulSet."""
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    selector = cells.selector(spec.get("selector"))
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("CreationTimestamp", values.time(metadata.get("creationTimestamp")))
    out.field("Selector", selector)
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("Replicas", f"{spec.get('replicas', 1)} desired | {status.get('replicas', 0)} total")
    strategy = spec.get("updateStrategy") or {}
    out.field("Update Strategy", strategy.get("type"))
    rolling = strategy.get("rollingUpdate") or {}
    if rolling.get("partition") is not None:
        out.field("Partition", rolling["partition"], 1)
        out.given("MaxUnavailable", rolling.get("maxUnavailable"), 1)
    out.field("Pods Status", _pods(about, selector))
    template.template(out, spec.get("template"))
    claim.templates(out, spec.get("volumeClaimTemplates"))


def daemon_set(about: subject.Subject, out: writer.Writer) -> None:
    """Writes a DaemonSet."""
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    selector = cells.selector(spec.get("selector"))
    pod = (spec.get("template") or {}).get("spec") or {}
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("Selector", selector)
    out.field("Node-Selector", values.labels(pod.get("nodeSelector")))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    for title, key in _NODES.items():
        out.row(f"{title}: {status.get(key, 0)}")
    out.field("Pods Status", _pods(about, selector))
    template.template(out, spec.get("template"))


def _pods(about: subject.Subject, selector: str) -> str:
    """Returns in which phases the workload's own pods are."""
    list_pods = about.k8s.coreV1().list_namespaced_pod
    read = functools.partial(list_pods, about.namespace, label_selector=selector)
    found = subject.together(about.k8s, {"pods": read})["pods"]
    if isinstance(found, Exception):
        return messages.text("describe_not_read", reason=subject.reason(found))
    uid = (about.object.get("metadata") or {}).get("uid")
    counts: collections.Counter[str] = collections.Counter()
    for pod in found:
        if (values.controller(pod) or {}).get("uid") == uid:
            counts[values.text((pod.get("status") or {}).get("phase"))] += 1
    running, waiting = counts["Running"], counts["Pending"]
    return f"{running} Running / {waiting} Waiting / {counts['Succeeded']} Succeeded / {counts['Failed']} Failed"
