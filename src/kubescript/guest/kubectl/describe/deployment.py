"""Deployments."""

from __future__ import annotations

import functools
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject, template, values, writer
from kubescript.guest.kubectl.rows import cells
from kubescript.wire import messages

__all__ = ["conditions", "write"]

_HASH: Final = "pod-template-hash"


def write(about: subject.Subject, out: writer.Writer) -> None:
    """Writes a Deployment with its ReplicaSets."""
    metadata, spec, status = (about.object.get(key) or {} for key in ("metadata", "spec", "status"))
    out.field("Name", metadata.get("name"))
    out.field("Namespace", metadata.get("namespace"))
    out.field("CreationTimestamp", values.time(metadata.get("creationTimestamp")))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))
    out.field("Selector", cells.selector(spec.get("selector")))
    out.field("Replicas", _replicas(spec, status))
    strategy = spec.get("strategy") or {}
    out.field("StrategyType", strategy.get("type"))
    out.field("MinReadySeconds", spec.get("minReadySeconds", 0))
    if rolling := strategy.get("rollingUpdate"):
        most, surge = values.text(rolling.get("maxUnavailable")), values.text(rolling.get("maxSurge"))
        out.field("RollingUpdateStrategy", f"{most} max unavailable, {surge} max surge")
    template.template(out, spec.get("template"))
    conditions(out, status)
    _replica_sets(about, out)


def _replicas(spec: values.Object, status: values.Object) -> str:
    updated, total = status.get("updatedReplicas", 0), status.get("replicas", 0)
    available, unavailable = status.get("availableReplicas", 0), status.get("unavailableReplicas", 0)
    return (
        f"{spec.get('replicas', 1)} desired | {updated} updated | {total} total | {available} available | "
        f"{unavailable} unavailable"
    )


def conditions(out: writer.Writer, status: values.Object) -> None:
    """Writes the conditions of a Deployment, ReplicaSet or ReplicationController."""
    found = status.get("conditions")
    if not found:
        return
    out.title("Conditions")
    out.table(("Type", "Status", "Reason"), map(_condition, found))


def _condition(found: values.Object) -> tuple[str, ...]:
    return f"{found.get('type', '')} ", values.text(found.get("status")), values.text(found.get("reason"))


def _replica_sets(about: subject.Subject, out: writer.Writer) -> None:
    """Writes which ReplicaSets are left of earlier templates, and which is that of this one."""
    selector = cells.selector((about.object.get("spec") or {}).get("selector"))
    list_sets = about.k8s.appsV1().list_namespaced_replica_set
    read = functools.partial(list_sets, about.namespace, label_selector=selector)
    found = subject.together(about.k8s, {"sets": read})["sets"]
    if isinstance(found, Exception):
        out.field("ReplicaSets", messages.text("describe_not_read", reason=subject.reason(found)))
        return
    uid = (about.object.get("metadata") or {}).get("uid")
    own = [each for each in found if (values.controller(each) or {}).get("uid") == uid]
    own.sort(key=lambda each: (values.text(each["metadata"].get("creationTimestamp")), values.name_of(each)))
    wanted = _compared(about.object)
    new = next((each for each in own if _compared(each) == wanted), None)
    if own:
        out.field("OldReplicaSets", values.joined([_counted(each) for each in own if each is not new], between=", "))
        out.field("NewReplicaSet", "<none>" if new is None else _counted(new))


def _counted(found: values.Object) -> str:
    wanted, made = (found.get("spec") or {}).get("replicas", 1), (found.get("status") or {}).get("replicas", 0)
    return f"{values.name_of(found)} ({made}/{wanted} replicas created)"


def _compared(found: values.Object) -> Any:
    """Returns an object's pod template without the label that tells the templates of a Deployment apart."""
    return _filled((found.get("spec") or {}).get("template") or {})


def _filled(value: Any) -> Any:
    """Returns JSON without what is empty: a list that is absent equals an empty one."""
    if isinstance(value, dict):
        kept = {key: _filled(each) for key, each in value.items() if key != _HASH}
        return {key: each for key, each in kept.items() if each not in (None, {}, [], "")}
    return [_filled(each) for each in value] if isinstance(value, list) else value
