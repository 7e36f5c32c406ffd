"""What the data of the lab says at a moment: the plain arithmetic of the truths, without PromQL and LogQL."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from benchmarks.observed import lines, signals
from benchmarks.observed.estate import GIB, App, Pod, pods

__all__ = ["MIB", "View"]

MIB: Final = 2**20
_FREE: Final = "kubelet_volume_stats_available_bytes"
_SERIES: Final = signals.generate()


@dataclass
class View:
    """The data as it is `minute` minutes after the moment zero: what comes later is not known."""

    minute: int

    @property
    def running(self) -> list[Pod]:
        """The pods that are there."""
        return [pod for pod in pods() if not pod.is_gone]

    def pod(self, app: str, number: int = 0) -> Pod:
        """A running pod."""
        return next(pod for pod in self.running if pod.key == (app, number))

    def of(self, app: str) -> list[Pod]:
        """The running pods of a Deployment."""
        return [pod for pod in self.running if pod.app.name == app]

    def series(self, name: str, of: Pod | None = None, **labels: str) -> list[signals.Series]:
        """The series of a name, of one pod, with these labels."""
        wanted = labels | (of.labels if of else {})
        return [each for each in _SERIES if each.name == name and wanted.items() <= each.labels.items()]

    def values(self, series: signals.Series, minutes: int, before: int = 0) -> list[float]:
        """The samples of the minutes that end `before` minutes ago, with the one that they begin with."""
        end = signals.BEFORE + self.minute - before
        return [value for value in series.values[end - minutes : end + 1] if value is not None]

    def now(self, name: str, of: Pod | None = None, **labels: str) -> float:
        """The sum of the last samples."""
        return sum(self.values(each, 0)[0] for each in self.series(name, of, **labels))

    def mean(self, name: str, minutes: int, of: Pod | None = None, before: int = 0, **labels: str) -> float:
        """The sum of the means."""
        found = self.series(name, of, **labels)
        return sum(statistics.fmean(self.values(each, minutes, before)) for each in found)

    def growth(self, name: str, minutes: int, of: Pod | None = None, **labels: str) -> float:
        """By how much counters grew together."""
        windows = [self.values(each, minutes) for each in self.series(name, of, **labels)]
        return sum(values[-1] - values[0] for values in windows)

    def slope(self, name: str, minutes: int, of: Pod | None = None, **labels: str) -> float:
        """The least-squares slope of one gauge, an hour."""
        values = self.values(self.series(name, of, **labels)[0], minutes)
        return statistics.linear_regression(range(len(values)), values).slope * 60

    def cores(self, of: Iterable[Pod], minutes: int) -> float:
        """The processor time that pods use, all containers."""
        return sum(self.growth("container_cpu_usage_seconds_total", minutes, pod) for pod in of) / (60 * minutes)

    @cached_property
    def _lines(self) -> list[lines.Line]:
        return list(lines.between(-lines.BEFORE, self.minute))

    def said(self, minutes: int, app: str = "", level: str = "", message: str = "") -> list[lines.Line]:
        """The lines of the last minutes, of a Deployment, a level, a message."""
        begins = 60 * (self.minute - minutes)
        return [
            line
            for line in self._lines
            if line.second >= begins
            and app in {"", line.pod.app.name}
            and level in {"", line.level}
            and message in {"", line.message}
        ]

    def cpu_share(self, app: App, minutes: int) -> float:
        """How much of the processor time that its pods request they use."""
        millicores = app.replicas * sum(cpu[0] for cpu, _ in app.sizes.values())
        return 1000 * self.cores(self.of(app.name), minutes) / millicores

    def free_memory(self, node: str) -> float:
        """How much of the memory of a node is free, in percent."""
        free, total = (self.now(f"node_memory_{name}_bytes", node=node) for name in ("MemAvailable", "MemTotal"))
        return 100 * free / total

    def failed(self, app: str, minutes: int) -> float:
        """How many requests of a Deployment ended with a 500, in percent."""
        asked = [self.growth("http_requests_total", minutes, pod) for pod in self.of(app)]
        failed = [self.growth("http_requests_total", minutes, pod, code="500") for pod in self.of(app)]
        return 100 * sum(failed) / sum(asked)

    def hours_left(self, space: str, claim: str) -> float:
        """Until a volume is full at the pace of three hours."""
        pace = self.slope(_FREE, 180, namespace=space, persistentvolumeclaim=claim) / GIB
        return self.now(_FREE, namespace=space, persistentvolumeclaim=claim) / GIB / -pace if pace < 0 else float("inf")

    def rate_of_ready(self, app: App) -> float:
        """The requests a second of a Deployment, for each pod that is ready."""
        found = self.of(app.name)
        asked = sum(self.growth("http_requests_total", 10, pod) for pod in found)
        return asked / 600 / sum(pod.is_ready for pod in found)

    def took(self, pod: Pod) -> float:
        """The mean of the last hour's requests of a pod, as its log has them, in milliseconds."""
        done = [line for line in self.said(60, pod.app.name, message="request done") if line.pod == pod]
        return statistics.fmean(int(line.fields["took_ms"]) for line in done)

    def errors_per_thousand(self, app: App) -> float:
        """The errors in the last hour's log of a Deployment, for a thousand requests."""
        asked = sum(self.growth("http_requests_total", 60, pod) for pod in self.of(app.name))
        return 1000 * len(self.said(60, app.name, "error")) / asked

    def p99(self, pod: Pod) -> float:
        """As a histogram tells it: evenly spread between two bounds."""
        found = self.series("http_request_duration_seconds_bucket", pod)
        counts = {float(each.labels["le"]): self.values(each, 15)[-1] - self.values(each, 15)[0] for each in found}
        rank = 0.99 * counts[float("inf")]
        bounds = sorted(counts)
        above = next(place for place, bound in enumerate(bounds) if counts[bound] >= rank)
        low, high = bounds[above - 1], bounds[above]
        return low + (high - low) * (rank - counts[low]) / (counts[high] - counts[low])
