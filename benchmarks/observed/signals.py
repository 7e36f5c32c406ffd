"""The series of the lab: a sample a minute, from a day before its moment zero to hours after it, always the same but for
that moment."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.observed.estate import CLAIMS, GIB, HPAS, NODES, App, Pod, pods

__all__ = ["AFTER", "BEFORE", "Series", "exposition", "generate", "openmetrics"]

BEFORE: Final = 1440
AFTER: Final = 360
"""Minutes before and after the moment zero."""
_MINUTES: Final = range(-BEFORE, AFTER + 1)
_BOUNDS: Final = ("0.1", "0.25", "0.5", "1", "2.5", "5", "+Inf")
_USUAL: Final = (0.6, 0.85, 0.95, 0.985, 0.999, 1, 1)
_SLOW: Final = (0.35, 0.6, 0.75, 0.9, 0.97, 1, 1)
"""Which part of requests takes no longer than each bound."""
_THROTTLED: Final = {("reconciler", 0): 0.62, ("reconciler", 1): 0.21, ("checkout", 2): 0.17, ("web", 0): 0.12}
_FREE_MEMORY: Final = {"node-b2": 0.055, "node-a1": 0.19}
_FREE_SPACE: Final = {
    "ledger-data": (6.0, 0.8),
    "prometheus-db": (8.6, 0.0),
    "loki-chunks": (31.0, 0.3),
    "search-index": (17.0, 0.02),
    "catalog-images": (64.0, 0.1),
}
"""GiB free at the moment zero, and how many an hour go."""
_STATE: Final = {"job": "kube-state-metrics", "instance": "kube-state-metrics:8080"}

Level = Callable[[int], float]
"""What a series has at a minute; minute 0 is the moment zero."""


@dataclass(frozen=True)
class Series:
    """One series; a value is None where there is no sample."""

    name: str
    labels: dict[str, str]
    values: list[float | None]


def generate() -> list[Series]:
    """All series."""
    return [*itertools.chain.from_iterable(map(_of_pod, pods())), *_of_nodes(), *_of_claims(), *_of_owners()]


def openmetrics(series: list[Series], zero: int) -> str:
    """The series up to the moment zero, in seconds since 1970, as promtool loads them."""
    moments = [zero + 60 * minute for minute in range(-BEFORE, 1)]
    lines = []
    for each in series:
        title = _title(each)
        written = zip(moments, each.values[: len(moments)], strict=True)
        lines += [f"{title} {value:.10g} {moment}\n" for moment, value in written if value is not None]
    return "".join(lines)


def exposition(series: list[Series], zero: int, minute: int) -> str:
    """The samples of one minute, as Prometheus scrapes them."""
    samples = [(each, each.values[BEFORE + minute]) for each in series]
    moment = (zero + 60 * minute) * 1000
    return "".join(f"{_title(each)} {value:.10g} {moment}\n" for each, value in samples if value is not None)


def _title(series: Series) -> str:
    labels = ",".join(f'{name}="{value}"' for name, value in series.labels.items())
    return f"{series.name}{{{labels}}}"


def _of_pod(pod: Pod) -> Iterator[Series]:
    """What the kubelet, kube-state-metrics and the pod itself tell of a pod."""
    kubelet = {"job": "kubelet", "instance": f"{pod.node}:10250", "node": pod.node}
    at = {**pod.labels, "container": "app", **kubelet}
    yield _gauge("container_memory_working_set_bytes", at, pod, _memory(pod), 2**20, noise=0.02)
    yield _counter("container_cpu_usage_seconds_total", at, pod, _busy(pod.app.uses[0]))
    if pod.app.has_proxy:
        beside = at | {"container": "proxy"}
        yield _gauge("container_memory_working_set_bytes", beside, pod, lambda m: 38, 2**20)
        yield _counter("container_cpu_usage_seconds_total", beside, pod, lambda m: 1.2)
    if pod.app.cpu[1]:
        yield _counter("container_cpu_cfs_periods_total", at, pod, lambda m: 600, noise=0)
        yield _counter("container_cpu_cfs_throttled_periods_total", at, pod, lambda m: 600 * _throttled(pod, m))
    state = {**pod.labels, "container": "app", **_STATE}
    yield _gauge("kube_pod_container_status_restarts_total", state, pod, _restarts(pod), noise=0)
    yield from _of_sizes(pod)
    yield _gauge("up", pod.labels | _scraped(pod), pod, lambda m: float(not _is_down(pod, m)), noise=0)
    if pod.app.requests:
        yield from _requests(pod)


def _of_sizes(pod: Pod) -> Iterator[Series]:
    """What its containers request and may use, where that is set."""
    for container, (cpu, memory) in pod.app.sizes.items():
        for resource, unit, size, scale in (("cpu", "core", cpu, 0.001), ("memory", "byte", memory, 2**20)):
            labels = {**pod.labels, "container": container, "node": pod.node, "resource": resource, "unit": unit}
            for what, value in zip(("requests", "limits"), size, strict=True):
                if value:
                    name = f"kube_pod_container_resource_{what}"
                    yield _gauge(name, labels | _STATE, pod, _flat(value), scale, noise=0)


def _scraped(pod: Pod) -> dict[str, str]:
    return {"job": pod.app.name, "instance": f"{pod.name}:8080"}


def _requests(pod: Pod) -> Iterator[Series]:
    labels = {**pod.labels, **_scraped(pod), "service": pod.app.name}
    asked = _asked(pod)
    for route, part in (("/list", 0.7), ("/submit", 0.3)):
        for code in ("200", "404", "500"):
            level = _coded(pod, asked * part, code)
            yield _counter("http_requests_total", {**labels, "route": route, "code": code}, pod, level)
    if pod.app.name in {"api", "checkout"}:
        shares = _SLOW if pod.key == ("api", 2) else _USUAL
        parts = [share - less for less, share in itertools.pairwise((0.0, *shares))]
        buckets = [_counter("", {}, pod, _busy(asked * part), salt=number) for number, part in enumerate(parts)]
        total: list[float | None] = [0 if value is not None else None for value in buckets[0].values]
        for bound, bucket in zip(_BOUNDS, buckets, strict=True):
            total = [None if a is None or b is None else a + b for a, b in zip(total, bucket.values, strict=True)]
            yield Series("http_request_duration_seconds_bucket", {**labels, "le": bound}, total)


def _of_nodes() -> Iterator[Series]:
    for name, (_, size) in NODES.items():
        free = _FREE_MEMORY.get(name, random.Random(name).uniform(0.28, 0.6))
        labels = {"node": name, "job": "node-exporter", "instance": f"{name}:9100"}
        yield _gauge("node_memory_MemTotal_bytes", labels, None, _flat(size), GIB, noise=0)
        yield _gauge("node_memory_MemAvailable_bytes", labels, None, _flat(size * free), GIB, noise=0.02)


def _of_claims() -> Iterator[Series]:
    for (space, name), (_, size, _) in CLAIMS.items():
        free, lost = _FREE_SPACE[name]
        labels = {"namespace": space, "persistentvolumeclaim": name, "job": "kubelet", "instance": "node-a1:10250"}
        yield _gauge("kubelet_volume_stats_capacity_bytes", labels, None, _flat(size), GIB, noise=0)
        left = _gauge("kubelet_volume_stats_available_bytes", labels, None, _shrinking(free, lost), GIB, noise=0.003)
        yield left
        used = [None if value is None else size * GIB - value for value in left.values]
        yield Series("kubelet_volume_stats_used_bytes", labels, used)


def _of_owners() -> Iterator[Series]:
    for (space, name), (_, most, now) in HPAS.items():
        labels = {"namespace": space, "horizontalpodautoscaler": name, **_STATE}
        yield _gauge("kube_horizontalpodautoscaler_spec_max_replicas", labels, None, _flat(most), noise=0)
        yield _gauge("kube_horizontalpodautoscaler_status_current_replicas", labels, None, _flat(now), noise=0)
    for app in {pod.app: None for pod in pods()}:
        labels = {"namespace": app.namespace, "deployment": app.name, **_STATE}
        yield _gauge("kube_deployment_spec_replicas", labels, None, _flat(app.replicas), noise=0)
        yield _gauge("kube_deployment_status_replicas", labels, None, _flat(app.replicas), noise=0)
        yield _gauge("kube_deployment_status_replicas_available", labels, None, _available(app), noise=0)


def _gauge(
    name: str, labels: dict[str, str], pod: Pod | None, level: Level, unit: float = 1, noise: float = 0.03
) -> Series:
    lot = random.Random(f"{name}{labels}")
    values: list[float | None] = []
    for minute in _MINUTES:
        value = level(minute) * unit * (1 + noise * lot.gauss(0, 0.5))
        values.append(value if _is_there(pod, minute) else None)
    return Series(name, labels, values)


def _counter(name: str, labels: dict[str, str], pod: Pod, level: Level, noise: float = 0.1, salt: int = 0) -> Series:
    """A counter that grows by `level` in a minute."""
    lot = random.Random(f"{name}{labels}{pod.name}{salt}")
    total = 0.0
    values: list[float | None] = []
    for minute in _MINUTES:
        is_there = _is_there(pod, minute)
        if is_there:
            total += level(minute) * max(0, 1 + noise * lot.gauss(0, 1))
        values.append(total if is_there else None)
    return Series(name, labels, values)


def _is_there(pod: Pod | None, minute: int) -> bool:
    if pod is None:
        return True
    return minute < -pod.app.started if pod.is_gone else minute >= -pod.app.started


def _flat(value: float) -> Level:
    return lambda _: value


def _busy(rate: float) -> Level:
    """What comes in a minute of `rate` a second."""
    return lambda minute: 60 * rate * _day(minute)


def _shrinking(free: float, lost: float) -> Level:
    return lambda minute: max(free - lost * minute / 60, 0)


def _day(minute: int) -> float:
    """What the time of day makes of a load."""
    return 1 + 0.1 * math.sin(2 * math.pi * minute / 1440)


def _memory(pod: Pod) -> Level:
    base = pod.app.uses[1] * random.Random(pod.name).uniform(0.93, 1.07)
    if pod.key == ("cart", 1):
        return lambda m: 221 + max(0, m + 600) * 0.4  # the leak
    if pod.key == ("search", 1):
        return lambda m: 900 + (m % 25) * 24  # until it is killed
    if pod.key == ("api", 1):
        return lambda m: 707
    if pod.key == ("gateway", 0) and pod.is_gone:
        return lambda m: 300 + max(0, m + 1200) * 0.55  # why it was rolled out
    return lambda m: base * (1 + 0.02 * math.sin(2 * math.pi * m / 1440))


def _throttled(pod: Pod, minute: int) -> float:
    if pod.app.name == "cart" and -480 <= minute < -360:
        return 0.7
    return _THROTTLED.get(pod.key, 0.02 + 0.02 * pod.number) if not pod.is_gone else 0.05


def _restarts(pod: Pod) -> Level:
    if pod.key == ("search", 1):
        return lambda m: max(0, pod.restarts - max(0, -4 - m + 24) // 25)
    return lambda m: pod.restarts if m > -540 else 0


def _is_down(pod: Pod, minute: int) -> bool:
    return pod.key == ("catalog", 2) and minute > -200 and random.Random(f"up/{minute}").random() < 0.17


def _asked(pod: Pod) -> float:
    if pod.app.name == "fraud":
        return 2 if pod.number else 20  # the second is not ready
    return pod.app.requests * random.Random(f"asked/{pod.name}").uniform(0.9, 1.1)


def _coded(pod: Pod, asked: float, code: str) -> Level:
    def level(minute: int) -> float:
        failed = _failed(pod, minute)
        part = {"500": failed, "404": 0.02, "200": 0.98 - failed}[code]
        return 60 * asked * _day(minute) * part

    return level


def _failed(pod: Pod, minute: int) -> float:
    """The part of requests that end with a 500."""
    if pod.app.name == "checkout":
        return 0.004 if pod.is_gone else 0.085
    if pod.app.name == "api" and -300 <= minute < -291:
        return 0.25
    return 0.006 if pod.app.name == "api" else 0.002


def _available(app: App) -> Level:
    missing = sum(not pod.is_ready for pod in pods() if pod.app is app and not pod.is_gone)
    if app.name == "web":
        return lambda m: app.replicas - int(-72 <= m < -50)
    return lambda m: app.replicas - missing
