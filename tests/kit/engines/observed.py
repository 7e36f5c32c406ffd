"""Four engines with the data of one incident in the namespace `shop`: what happened is what `Observed` says, and all
else is generated from a seed. After `now` the series go on as they are scraped.

Series, lines, alerts and the trace agree with each other: the memory of `checkout` leaks since LEAK_S before `now`, its
requests fail since FAILING_S before, and a pod of `cart` is down since DOWN_S before.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import startable
from tests.kit import patience
from tests.kit.engines import shop
from tests.kit.engines.alertmanager import Alertmanager
from tests.kit.engines.loki import Loki
from tests.kit.engines.prometheus import Prometheus
from tests.kit.engines.served import Served
from tests.kit.engines.tempo import Recorded, Span

__all__ = ["BEFORE_S", "DOWN_S", "ERRORS_MIN", "FAILING_S", "LEAK_S", "STEP_S", "Line", "Observed", "Series"]

BEFORE_S: Final = 6 * 3600
STEP_S: Final = 30
LEAK_S, FAILING_S, DOWN_S = 3 * 3600, 45 * 60, 10 * 60
ERRORS_MIN: Final = {"checkout": (44, 43, 31, 30, 29, 12, 5, 2), "cart": (10, 9), "api": (200,)}
"""How many minutes before `now` the first pod of a deployment logs an error."""
_BOUNDS: Final = {"0.1": 0.7, "0.5": 0.9, "2.5": 0.97, "+Inf": 1.0}
"""The upper bound of a bucket ▶ the share of requests up to it."""
_TRACE: Final = "4bf92f3577b34da6a3ce929d0e0e4736"
_RULES: Final = {
    "MemoryNearLimit": "container_memory_working_set_bytes / on (namespace, pod, container) group_left "
    'kube_pod_container_resource_limits{resource="memory"} > 0.85',
    "TargetDown": "up == 0",
    "RequestsFail": 'sum by (namespace, service) (rate(http_requests_total{code="500"}[5m])) '
    "/ sum by (namespace, service) (rate(http_requests_total[5m])) > 0.1",
}
_Value = Callable[[float], float]
"""Seconds since `now` ▶ a value."""


@dataclass(frozen=True)
class _Pod:
    app: str
    name: str
    node: str
    is_first: bool
    """Of its deployment."""


def _pods() -> list[_Pod]:
    made: list[_Pod] = []
    for each in shop.pods():
        app = each["metadata"]["labels"]["app"]
        is_first = all(one.app != app for one in made)
        made.append(_Pod(app, each["metadata"]["name"], each["spec"]["nodeName"], is_first))
    return made


_PODS: Final = _pods()
_FIRST: Final = [each for each in _PODS if each.is_first]


@dataclass(frozen=True)
class Series:
    """One series as it was loaded."""

    name: str
    labels: Mapping[str, str]
    points: tuple[tuple[int, float], ...]
    """Times in seconds since 1970, and values, up to `now`."""
    value: _Value
    """What it is at any time."""


@dataclass(frozen=True)
class Line:
    """One line of a log as it was loaded."""

    labels: Mapping[str, str]
    time: float
    text: str


@dataclass
class Observed(startable.Startable):
    """Prometheus, Alertmanager, Loki and recordings of Tempo about the pods of `shop`."""

    folder: Path
    now: int
    seed: int = 0
    series: list[Series] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    prometheus: Prometheus = field(init=False)
    alertmanager: Alertmanager = field(init=False)
    loki: Loki = field(init=False)
    tempo: Recorded = field(init=False)

    def __post_init__(self) -> None:
        self._stack = contextlib.ExitStack()
        chance = random.Random(self.seed)
        for pod in _PODS:
            measured = [*_measure_resources(chance, pod), *_measure_requests(chance, pod)]
            self.series += [self._sample(*each) for each in measured]
            self.lines += self._log(chance, pod)

    def start(self) -> None:
        """Starts all, loads the data, and waits until the alerts of the rules fire."""
        (self.folder / "prometheus").mkdir()
        exporter = self._stack.enter_context(Served(self._write_now, "text/plain; version=0.0.4"))
        self.tempo = self._stack.enter_context(Recorded(self._trace()))
        self.loki = self._stack.enter_context(Loki(self.folder))
        self.alertmanager = self._stack.enter_context(Alertmanager(self.folder))
        self.alertmanager.silence({"alertname": "TargetDown"}, self.now - DOWN_S, self.now + 86400, "cart is moved")
        self.prometheus = self._stack.enter_context(Prometheus(
            self.folder / "prometheus", openmetrics=self._write(), rules=[_group()], every="2s",
            alertmanager=self.alertmanager.address, targets=[exporter.address],
        ))  # fmt: skip
        for labels, lines in itertools.groupby(self.lines, lambda each: each.labels):
            self.loki.push(labels, [(each.time, each.text) for each in lines])
        self.prometheus.wait_for_alerts(*_RULES)
        patience.until(lambda: len(self.alertmanager.get("alerts")) == len(self.prometheus.get("alerts")["alerts"]))

    def close(self) -> None:
        """Ends all for good."""
        self._stack.close()

    def _sample(self, name: str, labels: Mapping[str, str], value: _Value) -> Series:
        times = range(self.now - BEFORE_S, self.now + 1, STEP_S)
        return Series(name, labels, tuple((time, value(time - self.now)) for time in times), value)

    def _log(self, chance: random.Random, pod: _Pod) -> Iterator[Line]:
        labels = {"namespace": shop.NAMESPACE, "app": pod.app, "pod": pod.name, "container": pod.app}
        errors = ERRORS_MIN.get(pod.app, ()) if pod.is_first else ()
        for minute in range(BEFORE_S // 60, 0, -1):
            at = self.now - minute * 60
            yield Line(labels, at, f"level=info msg=served requests={chance.randint(100, 400)}")
            if minute in errors:
                yield Line(labels, at + 1, f'level=error msg="payment: no answer in 4s" trace_id={_TRACE}')

    def _trace(self) -> list[Span]:
        """A request that fails at the time of the error of twelve minutes ago."""
        begins = self.now - 12 * 60
        places = {pod.app: (("k8s.namespace.name", shop.NAMESPACE), ("k8s.pod.name", pod.name)) for pod in _FIRST}
        web, checkout, cart = (f"00f067aa0ba902b{number}" for number in (1, 2, 3))
        return [
            Span(_TRACE, web, "GET /buy", "web", begins, 4.3, "", places["web"], failed=True),
            Span(_TRACE, checkout, "POST /pay", "checkout", begins + 0.1, 4.1, web, places["checkout"], failed=True),
            Span(_TRACE, cart, "GET /cart", "cart", begins + 0.2, 0.08, checkout, places["cart"]),
        ]

    def _write(self) -> str:
        """The series up to `now`, as OpenMetrics."""
        return "".join(f"{_title(each)} {value} {time}\n" for each in self.series for time, value in each.points)

    def _write_now(self, _: object) -> tuple[int, str]:
        at = time.time() - self.now
        return 200, "".join(f"{_title(each)} {each.value(at)}\n" for each in self.series)


def _title(series: Series) -> str:
    labels = ",".join(f'{name}="{value}"' for name, value in series.labels.items())
    return f"{series.name}{{{labels}}}"


def _measure_resources(chance: random.Random, pod: _Pod) -> Iterator[tuple[str, Mapping[str, str], _Value]]:
    base, cores = chance.randint(100, 130), chance.uniform(0.05, 0.2)
    leak = 350 / LEAK_S if pod.app == "checkout" else 0  # MiB a second

    def memory(at: float) -> float:
        used = base + leak * max(0, LEAK_S + at) + 3 * math.sin(base + at / 97)
        return shop.MEBIBYTE * round(min(used, 510))  # its limit is 512

    held = {"namespace": shop.NAMESPACE, "pod": pod.name, "container": pod.app}
    kubelet = {**held, "job": "kubelet", "instance": f"{pod.node}:10250", "node": pod.node}
    yield "container_memory_working_set_bytes", kubelet, memory
    yield "container_cpu_usage_seconds_total", kubelet, lambda at: cores * (BEFORE_S + at)
    name, state = "kube_pod_container_resource_limits", {**held, "job": "state", "instance": "kube-state-metrics:8080"}
    yield name, {**state, "resource": "memory", "unit": "byte"}, lambda _: 512 * shop.MEBIBYTE
    yield name, {**state, "resource": "cpu", "unit": "core"}, lambda _: 0.5


def _measure_requests(chance: random.Random, pod: _Pod) -> Iterator[tuple[str, Mapping[str, str], _Value]]:
    rate = chance.uniform(2, 6)
    share = 0.3 if pod.app == "checkout" else 0.001
    is_cart = pod.app == "cart" and pod.is_first

    def count(part: float) -> _Value:
        return lambda at: int(part * rate * (BEFORE_S + at))

    def failed(at: float) -> int:
        return int(rate * share * max(0, FAILING_S + at))

    here = {"namespace": shop.NAMESPACE, "pod": pod.name, "job": pod.app, "instance": f"{pod.name}:8080"}
    served = {**here, "service": pod.app}
    yield "up", here, lambda at: 0 if is_cart and at >= -DOWN_S else 1
    yield "http_requests_total", {**served, "code": "500"}, failed
    yield "http_requests_total", {**served, "code": "200"}, lambda at: count(1)(at) - failed(at)
    for bound, part in _BOUNDS.items():
        yield "http_request_duration_seconds_bucket", {**served, "le": bound}, count(part)
    yield "http_request_duration_seconds_count", served, count(1)
    yield "http_request_duration_seconds_sum", served, lambda at: 0.3 * rate * (BEFORE_S + at)


def _group() -> dict[str, object]:
    rules = [{"alert": name, "expr": text, "labels": {"severity": "critical"}} for name, text in _RULES.items()]
    return {"name": shop.NAMESPACE, "rules": rules}
