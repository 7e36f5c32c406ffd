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
_JOB_STATES: Final = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
_MOST_METRICS: Final = 2
_METRICS: Final = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
"""Metric type → the field that describes it."""


def of_deployment(obj: Json) -> list[Any]:
    """Returns the cells of a Deployment."""
    return [
        cells.name(obj),
        _ready(obj),
        cells.at(obj, "status.updatedReplicas", 0),
        cells.at(obj, "status.availableReplicas", 0),
        cells.age(obj),
        *_template(obj),
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
        *_template(obj),
        _selector(obj),
    ]


def of_stateful_set(obj: Json) -> list[Any]:
    """Returns the cells of a StatefulSet."""
    return [cells.name(obj), _ready(obj), cells.age(obj), *_template(obj)]


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
        *_template(obj),
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
        *_template(obj),
        _selector(obj),
    ]


def of_cron_job(obj: Json) -> list[Any]:
    """Returns the cells of a CronJob."""
    last, suspended = cells.at(obj, "status.lastScheduleTime"), cells.at(obj, "spec.suspend")
    job = cells.at(obj, "spec.jobTemplate", {})
    return [
        cells.name(obj),
        cells.at(obj, "spec.schedule"),
        cells.at(obj, "spec.timeZone", cells.NONE),
        cells.UNSET if suspended is None else str(suspended),
        len(cells.elements(obj, "status.active")),
        cells.since(last) if last else cells.NONE,
        cells.age(obj),
        *_template(job),
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


def _template(obj: Json) -> tuple[str, str]:
    return cells.containers(cells.at(obj, "spec.template"))


def _selector(obj: Json) -> str:
    return cells.selector(cells.at(obj, "spec.selector")) or cells.NONE


def _ready(obj: Json) -> str:
    return f"{cells.at(obj, 'status.readyReplicas', 0)}/{cells.at(obj, 'spec.replicas', 0)}"


def _job_state(job: Json) -> str:
    if cells.condition(job, "Complete") == "True":
        return "Complete"
    if cells.condition(job, "Failed") == "True":
        return "Failed"
    if cells.at(job, "metadata.deletionTimestamp"):
        return "Terminating"
    return next((each for each in _JOB_STATES if cells.condition(job, each) == "True"), "Running")


def _completions(job: Json) -> str:
    done, wanted = cells.at(job, "status.succeeded", 0), cells.at(job, "spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallel = cells.at(job, "spec.parallelism", 0)
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _duration(job: Json) -> str:
    start, end = (timestamps.parse_time(cells.at(job, path)) for path in ("status.startTime", "status.completionTime"))
    if not isinstance(start, datetime.datetime):
        return ""
    end = end if isinstance(end, datetime.datetime) else datetime.datetime.now(datetime.UTC)
    return str(ages.Age.of(end - start))


def _targets(autoscaler: Json) -> str:
    wanted = cells.elements(autoscaler, "spec.metrics")
    if not wanted:
        return cells.NONE
    current = cells.elements(autoscaler, "status.currentMetrics")
    found = [_metric(each, current[index] if index < len(current) else {}) for index, each in enumerate(wanted)]
    more = f" + {len(found) - _MOST_METRICS} more..." if len(found) > _MOST_METRICS else ""
    return ", ".join(found[:_MOST_METRICS]) + more


def _metric(wanted: Json, current: Json) -> str:
    """Returns a metric's current value and target."""
    field = _METRICS.get(wanted.get("type", ""))
    if field is None:
        return "<unknown type>"
    name = cells.at(wanted, f"{field}.name")
    title = f"{name}: " if name else ""

    def now(value: str) -> str:
        return str(cells.at(current, f"{field}.current.{value}", "<unknown>"))

    target = cells.at(wanted, f"{field}.target", {})
    if "averageValue" in target:
        kind = " (avg)" if field in ("external", "object") else ""
        return f"{title}{now('averageValue')}/{target['averageValue']}{kind}"
    if not title:
        return f"{now('value')}/{target.get('value', '0')}"
    share = target.get("averageUtilization")
    known = now("averageUtilization")
    return f"{title}{_percent(known)}/{'<auto>' if share is None else f'{share}%'}"


def _percent(known: str) -> str:
    return known if known.startswith("<") else f"{known}%"
