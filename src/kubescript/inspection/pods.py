"""What an object says about pods: how many it makes and how it replaces them, or which of them it selects.

The text that an approver reads of a change depends on it. The objects may come from a stranger: values of unexpected
types are ignored, and every number is bounded.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from kubescript.kube import documents, pod_references, quantities, selectors, times
from kubescript.wire import inspection

__all__ = ["TooManyError", "of"]

_MAX: Final = 1_000
"""The maximum number of labels, and of references, of one object."""
_MAX_SELECTOR: Final = 10_000
"""The maximum number of characters of a label selector."""
_MAX_COUNT: Final = 1_000_000
"""The largest number of pods that is told."""
_PLACEMENT: Final = ("affinity", "nodeName", "nodeSelector", "tolerations")
"""The fields of a template that decide on which nodes its pods are."""
_SERVICE: Final = "kubernetes.io/service-name"
"""The label of an EndpointSlice that names its Service."""
_MAX_TIME: Final = 40
"""The maximum number of characters of a time."""


class TooManyError(ValueError):
    """The object has more labels or references than can be told."""


def of(document: dict[str, Any]) -> inspection.Pods | None:
    """Returns what an object says about pods; None for a kind that makes and selects none. Raises TooManyError."""
    version = document.get("apiVersion")
    group, _, _ = version.rpartition("/") if isinstance(version, str) else ("", "", "")
    read = _KINDS.get((group, str(document.get("kind"))))
    found = read(document) if read is not None else None
    if found is None:
        return None
    # Attack: an object refers to a million others, whose names the host would keep.
    if max(len(found.labels), len(found.references)) > _MAX or len(found.selector) > _MAX_SELECTOR:
        raise TooManyError
    return found


def _deployment(document: dict[str, Any]) -> inspection.Pods:
    spec = documents.mapping(document, "spec")
    strategy = documents.mapping(spec, "strategy")
    count = _count(spec, "replicas", 1)
    unavailable = count
    if strategy.get("type") != "Recreate":
        rolling = documents.mapping(strategy, "rollingUpdate")
        unavailable = _share(rolling.get("maxUnavailable"), count)
        # A rollout in which no pod may be missing and none may be added would not go on.
        if not unavailable and not _share(rolling.get("maxSurge"), count, up=True):
            unavailable = 1
    return _workload(
        document,
        count=count,
        replaced=count,
        unavailable=unavailable,
        strategy="Recreate" if strategy.get("type") == "Recreate" else "RollingUpdate",
        paused=spec.get("paused") is True,
    )


def _stateful_set(document: dict[str, Any]) -> inspection.Pods:
    spec = documents.mapping(document, "spec")
    strategy = documents.mapping(spec, "updateStrategy")
    rolling = documents.mapping(strategy, "rollingUpdate")
    count = _count(spec, "replicas", 1)
    first = _count(documents.mapping(spec, "ordinals"), "start", 0)
    # Pods below the partition keep the old template.
    kept = min(max(0, _count(rolling, "partition", 0) - first), count)
    retention = documents.mapping(spec, "persistentVolumeClaimRetentionPolicy")
    return _workload(
        document,
        count=count,
        replaced=count - kept,
        unavailable=max(1, _share(rolling.get("maxUnavailable", 1), count, up=True)),
        strategy="OnDelete" if strategy.get("type") == "OnDelete" else "RollingUpdate",
        first=first,
        deletes_claims=retention.get("whenScaled") == "Delete" and bool(_list(spec, "volumeClaimTemplates")),
    )


def _daemon_set(document: dict[str, Any]) -> inspection.Pods:
    strategy = documents.mapping(documents.mapping(document, "spec"), "updateStrategy")
    rolling = documents.mapping(strategy, "rollingUpdate")
    # The nodes decide how many pods there are.
    count = _count(documents.mapping(document, "status"), "desiredNumberScheduled", 0)
    return _workload(
        document,
        count=count,
        replaced=count,
        unavailable=_share(rolling.get("maxUnavailable", 1), count, up=True),
        strategy="OnDelete" if strategy.get("type") == "OnDelete" else "RollingUpdate",
        placement=_placement(document),
    )


def _placement(document: dict[str, Any]) -> str:
    """Returns a digest of what a DaemonSet says about nodes."""
    template = documents.mapping(documents.mapping(document, "spec"), "template")
    spec = documents.mapping(template, "spec")
    said = [spec.get(field) for field in _PLACEMENT]
    return hashlib.sha256(msgspec.json.encode(said, order="deterministic")).hexdigest()


def _unreplacing(document: dict[str, Any]) -> inspection.Pods:
    """Reads a kind whose pods stay as they are when its template changes."""
    return _workload(document, count=_count(documents.mapping(document, "spec"), "replicas", 1))


def _cron_job(document: dict[str, Any]) -> inspection.Pods:
    job = documents.mapping(documents.mapping(document, "spec"), "jobTemplate")
    template = documents.mapping(documents.mapping(job, "spec"), "template")
    return inspection.Pods(labels=documents.labels(template), references=_references(template))


def _job(document: dict[str, Any]) -> inspection.Pods:
    spec = documents.mapping(document, "spec")
    status = documents.mapping(document, "status")
    is_over = documents.has_condition(status, "Complete") or documents.has_condition(status, "Failed")
    is_suspended = spec.get("suspend") is True
    if is_over or is_suspended or _is_late(spec, status):
        return _workload(document, count=0)
    most = _count(spec, "parallelism", 1)
    left = _count(spec, "completions", most) - _count(status, "succeeded", 0)
    return _workload(document, count=min(most, max(0, left)))


def _is_late(spec: dict[str, Any], status: dict[str, Any]) -> bool:
    """Says whether a Job has passed its deadline, or its limit of failures, so that its pods are stopped."""
    if _count(status, "failed", 0) > _count(spec, "backoffLimit", _MAX_COUNT):
        return True
    started = times.parse(str(status.get("startTime"))[:_MAX_TIME])
    if started is None or "activeDeadlineSeconds" not in spec:
        return False
    age = datetime.datetime.now(datetime.UTC) - started
    return age.total_seconds() >= documents.number(spec, "activeDeadlineSeconds")


def _pod(document: dict[str, Any]) -> inspection.Pods:
    return inspection.Pods(labels=documents.labels(document), references=_references(document))


def _service(document: dict[str, Any]) -> inspection.Pods:
    spec = documents.mapping(document, "spec")
    # An empty selector selects nothing: something else writes the endpoints.
    selector = "" if spec.get("type") == "ExternalName" else _selector(spec)
    return inspection.Pods(selector=selector, takes_unready=spec.get("publishNotReadyAddresses") is True)


def _endpoint_slice(document: dict[str, Any]) -> inspection.Pods:
    # An endpoint without the condition is ready.
    ready = [
        each for each in _list(document, "endpoints") if documents.mapping(each, "conditions").get("ready") is not False
    ]
    return inspection.Pods(labels=documents.labels(document), count=len(ready))


def _endpoints(document: dict[str, Any]) -> inspection.Pods:
    """Reads what the API server's controller copies to EndpointSlices."""
    name = documents.mapping(document, "metadata").get("name")
    count = 0
    for each in _list(document, "subsets"):
        count += len(_list(each, "addresses")) if isinstance(each, dict) else 0
    return inspection.Pods(labels={_SERVICE: str(name)}, count=count)


def _workload(
    document: dict[str, Any],
    *,
    count: int | None,
    replaced: int = 0,
    unavailable: int = 0,
    strategy: inspection.Strategy = "",
    paused: bool = False,
    placement: str = "",
    first: int = 0,
    deletes_claims: bool = False,
) -> inspection.Pods:
    spec = documents.mapping(document, "spec")
    template = documents.mapping(spec, "template")
    return inspection.Pods(
        labels=documents.labels(template),
        selector=_selector(spec),
        references=_references(template),
        count=count,
        replaced=replaced,
        unavailable=unavailable,
        strategy=strategy,
        paused=paused,
        placement=placement,
        first=first,
        deletes_claims=deletes_claims,
    )


def _selector(spec: dict[str, Any]) -> str:
    """Returns the label selector of a Service, of a ReplicationController or of another workload."""
    selector = documents.mapping(spec, "selector")
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        selector = {"matchLabels": selector}
    return selectors.write(selector)


def _references(template: dict[str, Any]) -> tuple[str, ...]:
    found = pod_references.find(template.get("spec"))
    return tuple(sorted(f"{plural}/{name}" for plural, name in found))


def _list(value: dict[str, Any], key: str) -> list[Any]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _count(value: dict[str, Any], key: str, default: int) -> int:
    return min(max(0, documents.number(value, key, default)), _MAX_COUNT)


def _share(value: Any, count: int, *, up: bool = False) -> int:
    """Returns a number of pods that is given as such or in percent. A percentage is rounded as its controller does."""
    share = quantities.scale(value, count, up=up)
    return min(max(0, share), count)


_KINDS: Final[dict[tuple[str, str], Callable[[dict[str, Any]], inspection.Pods]]] = {
    ("", "Endpoints"): _endpoints,
    ("", "Pod"): _pod,
    ("", "ReplicationController"): _unreplacing,
    ("", "Service"): _service,
    ("apps", "DaemonSet"): _daemon_set,
    ("apps", "Deployment"): _deployment,
    ("apps", "ReplicaSet"): _unreplacing,
    ("apps", "StatefulSet"): _stateful_set,
    ("batch", "CronJob"): _cron_job,
    ("batch", "Job"): _job,
    ("discovery.k8s.io", "EndpointSlice"): _endpoint_slice,
}
