"""kubectl's rows for workloads, which create pods, and for autoscalers."""

from __future__ import annotations

import datetime
from typing import Any, Final

from kubescript.guest.kubectl.rows import cells
from kubescript.guest.sdk.values import ages, timestamps

__all__ = [
    "of_autoscaler",
    "of_cron_job",
    "of_daemon_set",
    "of_deployment",
    "of_job",
    "of_replica_set",
    "of_stateful_set",
]

Json = dict[str, Any]
_UNKNOWN: Final = "<unknown>"
_JOB_STATES: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
# How many metrics are shown. As in kubectl, further ones are only counted.
_MOST_METRICS: Final = 2
_METRICS: Final = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""Maps a metric's type to the field that describes it."""


def of_deployment(obj: Json) -> list[Any]:
    """Returns the cells of a Deployment."""
    return [
        cells.name(obj),
        _ready_share(obj),
        cells.at(obj, "status.updatedReplicas", 0),
        cells.at(obj, "status.availableReplicas", 0),
        cells.age(obj),
        *_containers(obj),
        cells.selector(cells.at(obj, "spec.selector")),
    ]


def of_replica_set(obj: Json) -> list[Any]:
    """Returns the cells of a ReplicaSet."""
    return [
        cells.name(obj),
        cells.at(obj, "spec.replicas", 0),
        cells.at(obj, "status.replicas", 0),
        cells.at(obj, "status.readyReplicas", 0),
        cells.age(obj),
        *_containers(obj),
        _selector(obj),
    ]


def of_stateful_set(obj: Json) -> list[Any]:
    """Returns the cells of a StatefulSet."""
    return [
        cells.name(obj),
        _ready_share(obj),
        cells.age(obj),
        *_containers(obj),
    ]


def of_daemon_set(obj: Json) -> list[Any]:
    """Returns the cells of a DaemonSet."""
    return [
        cells.name(obj),
        cells.at(obj, "status.desiredNumberScheduled", 0),
        cells.at(obj, "status.currentNumberScheduled", 0),
        cells.at(obj, "status.numberReady", 0),
        cells.at(obj, "status.updatedNumberScheduled", 0),
        cells.at(obj, "status.numberAvailable", 0),
        cells.labels(cells.at(obj, "spec.template.spec.nodeSelector")),
        cells.age(obj),
        *_containers(obj),
        _selector(obj),
    ]


def of_job(obj: Json) -> list[Any]:
    """Returns the cells of a Job."""
    return [
        cells.name(obj),
        _job_state(obj),
        _completions(obj),
        _duration(obj),
        cells.age(obj),
        *_containers(obj),
        _selector(obj),
    ]


def of_cron_job(obj: Json) -> list[Any]:
    """Returns the cells of a CronJob."""
    last = cells.at(obj, "status.lastScheduleTime")
    suspended = cells.at(obj, "spec.suspend")
    job = cells.at(obj, "spec.jobTemplate", {})
    return [
        cells.name(obj),
        cells.at(obj, "spec.schedule"),
        cells.at(obj, "spec.timeZone", cells.NONE),
        cells.UNSET if suspended is None else str(suspended),
        len(cells.elements(obj, "status.active")),
        cells.since(last) if last else cells.NONE,
        cells.age(obj),
        *_containers(job),
        _selector(job),
    ]


def of_autoscaler(obj: Json) -> list[Any]:
    """Returns the cells of a HorizontalPodAutoscaler."""
    target = cells.at(obj, "spec.scaleTargetRef", {})
    return [
        cells.name(obj),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _targets(obj),
        str(cells.at(obj, "spec.minReplicas", cells.UNSET)),
        cells.at(obj, "spec.maxReplicas", 0),
        cells.at(obj, "status.currentReplicas", 0),
        cells.age(obj),
    ]


def _containers(obj: Json) -> tuple[str, str]:
    """Returns the names and images of the containers in a workload's template."""
    template = cells.at(obj, "spec.template")
    return cells.containers(template)


def _selector(obj: Json) -> str:
    """Returns a workload's selector."""
    selector = cells.at(obj, "spec.selector")
    return cells.selector(selector) or cells.NONE


def _ready_share(obj: Json) -> str:
    """Returns how many of the wanted pods are ready, such as `2/3`."""
    ready = cells.at(obj, "status.readyReplicas", 0)
    wanted = cells.at(obj, "spec.replicas", 0)
    return f"{ready}/{wanted}"


def _job_state(job: Json) -> str:
    """Returns kubectl's word for a job's state."""
    if cells.condition(job, "Complete") == "True":
        return "Complete"
    if cells.condition(job, "Failed") == "True":
        return "Failed"
    if cells.at(job, "metadata.deletionTimestamp"):
        return "Terminating"
    for state in _JOB_STATES:
        if cells.condition(job, state) == "True":
            return state
    return "Running"


def _completions(job: Json) -> str:
    """Returns how many pods have succeeded, such as `1/3`."""
    succeeded = cells.at(job, "status.succeeded", 0)
    wanted = cells.at(job, "spec.completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    # The job has a work queue: one pod's success is enough, and several pods may run.
    parallel = cells.at(job, "spec.parallelism", 0)
    if parallel > 1:
        return f"{succeeded}/1 of {parallel}"
    return f"{succeeded}/1"


def _duration(job: Json) -> str:
    """Returns how long a job has been running or took; an empty string if it has not begun."""
    start = timestamps.parse_time(cells.at(job, "status.startTime"))
    end = timestamps.parse_time(cells.at(job, "status.completionTime"))
    if not isinstance(start, datetime.datetime):
        return ""
    if not isinstance(end, datetime.datetime):
        end = datetime.datetime.now(datetime.UTC)
    elapsed = ages.Age.of(end - start)
    return str(elapsed)


# --- metrics ----------------------------------------------------------------------------------------------------------


def _targets(autoscaler: Json) -> str:
    """Returns the first metrics of an autoscaler, and the number of others."""
    metrics = cells.elements(autoscaler, "spec.metrics")
    if not metrics:
        return cells.NONE
    current = cells.elements(autoscaler, "status.currentMetrics")
    found = []
    for position, metric in enumerate(metrics):
        # The controller reports metrics in the order of the spec. A new autoscaler has no metrics yet.
        own = current[position] if position < len(current) else {}
        found.append(_describe_metric(metric, own))
    text = ", ".join(found[:_MOST_METRICS])
    more = len(found) - _MOST_METRICS
    if more <= 0:
        return text
    return f"{text} + {more} more..."


def _describe_metric(metric: Json, current: Json) -> str:
    """Returns a metric's current value and target, such as `cpu: 5%/80%`."""
    field = _METRICS.get(metric.get("type", ""))
    if field is None:
        return "<unknown type>"
    target = cells.at(metric, f"{field}.target", {})
    values = cells.at(current, f"{field}.current", {})
    # Only metrics of resources have a name here.
    name = cells.at(metric, f"{field}.name")
    title = f"{name}: " if name else ""
    if "averageValue" in target:
        average = cells.at(values, "averageValue", _UNKNOWN)
        kind = " (avg)" if field in ("external", "object") else ""
        return f"{title}{average}/{target['averageValue']}{kind}"
    if not title:
        value = cells.at(values, "value", _UNKNOWN)
        return f"{value}/{target.get('value', '0')}"
    share = cells.at(values, "averageUtilization")
    wanted = target.get("averageUtilization")
    return f"{title}{_percent(share, _UNKNOWN)}/{_percent(wanted, '<auto>')}"


def _percent(share: Any, absent: str) -> str:
    """Returns a percentage; `absent` if it is not known."""
    if share is None:
        return absent
    return f"{share}%"
