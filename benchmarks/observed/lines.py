"""The log lines of the lab: plain, logfmt and JSON. The lines of a pod in a minute are always the same."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from benchmarks.observed.estate import Pod, pods

__all__ = ["BEFORE", "Line", "between", "labels"]

BEFORE: Final = 360
"""Minutes of lines before the moment zero."""
_ORDERS: Final = {-31: "ORD-77120", -24: "ORD-77120", -18: "ORD-77120", -29: "ORD-77341", -22: "ORD-77341",
                  -13: "ORD-77341", -9: "ORD-77341", -7: "ORD-77902", -4: "ORD-77902", -3: "ORD-77902"}  # fmt: skip
"""Minute ▶ the order that fails again, in one pod of checkout."""
_FORMS: Final = {
    "cart": "logfmt", "checkout": "logfmt", "thumbnailer": "logfmt", "prometheus": "logfmt", "loki": "logfmt",
    "grafana": "logfmt", "api": "json", "gateway": "json", "fraud": "json",
}  # fmt: skip

Said = tuple[str, str, dict[str, str | int]]
"""A level, a message and its fields."""


@dataclass(frozen=True)
class Line:
    """One line; `second` counts from the moment zero."""

    pod: Pod
    second: float
    level: str
    message: str
    fields: dict[str, str | int]

    @property
    def text(self) -> str:
        """As the pod wrote it."""
        form = _FORMS.get(self.pod.app.name)
        if form == "json":
            return json.dumps({"level": self.level, "msg": self.message, **self.fields})
        if form == "logfmt":
            fields = "".join(f" {name}={value}" for name, value in self.fields.items())
            return f'level={self.level} msg="{self.message}"{fields}'
        fields = "".join(f", {name} {value}" for name, value in self.fields.items())
        return f"{self.level.upper()} [{self.pod.app.name}] {self.message}{fields}"


def labels(pod: Pod) -> dict[str, str]:
    """Of the stream of a pod."""
    return {**pod.labels, "container": "app", "app": pod.app.name}


def between(first: int, last: int) -> Iterator[Line]:
    """All lines from a minute to before another one; those of a pod in the order of their times."""
    for pod in pods():
        for minute in range(first, last):
            if (minute < -pod.app.started) == pod.is_gone:
                yield from _in(pod, minute)


def _in(pod: Pod, minute: int) -> Iterator[Line]:
    lot = random.Random(f"{pod.name}/{minute}")
    said = [_usual(pod, lot) for _ in range(_count(pod, minute, lot))]
    said += _PLANTED[pod.app.name](pod, minute, lot) if pod.app.name in _PLANTED else ()
    moments = sorted(lot.uniform(0.5, 59) for _ in said)
    for moment, (level, message, fields) in zip(moments, said, strict=True):
        yield Line(pod, round(60 * minute + moment, 3), level, message, fields)


def _count(pod: Pod, minute: int, lot: random.Random) -> int:
    if pod.key == ("gateway", 2) and not pod.is_gone and minute >= -52:
        return 0  # it hangs, and its series do not show it
    mean = 14 if pod.key == ("thumbnailer", 1) else pod.app.lines
    return int(mean * lot.uniform(0.5, 1.5) + lot.random())


def _usual(pod: Pod, lot: random.Random) -> Said:
    took = round(lot.lognormvariate(3.6, 0.6)) * (3 if pod.key == ("api", 2) else 1)
    if pod.app.name == "thumbnailer":
        return (
            "debug",
            lot.choice(("decoded tile", "retried without error", "wrote tile")),
            {"tile": lot.randrange(9000)},
        )
    if pod.app.requests:
        order = f"ORD-{lot.randrange(10000, 70000)}"
        if lot.random() < 0.01:
            return "error", "cannot parse the request", {"order": order, "took_ms": took}
        return (
            "info",
            lot.choice(("request done", "request done", "cache refreshed")),
            {"order": order, "took_ms": took},
        )
    return "info", lot.choice(("tick", "configuration unchanged", "0 errors since start")), {"took_ms": took}


def _checkout(pod: Pod, minute: int, lot: random.Random) -> Iterator[Said]:
    if pod.is_gone or minute < -88:
        return
    if lot.random() < 0.6:
        fields: dict[str, str | int] = {
            "order": f"ORD-{lot.randrange(10000, 70000)}",
            "took_ms": 3000 + lot.randrange(40),
        }
        yield "error", "payment authorisation timed out", fields
    if lot.random() < 0.15:
        yield "error", "cannot reserve stock", {"order": f"ORD-{lot.randrange(10000, 70000)}", "took_ms": 12}
    if pod.number == 1 and minute in _ORDERS:
        yield "error", "payment authorisation timed out", {"order": _ORDERS[minute], "took_ms": 3001}


def _cart(pod: Pod, minute: int, lot: random.Random) -> Iterator[Said]:
    if pod.number == 1 and lot.random() < 0.5:
        yield "warn", "session cache does not evict", {"entries": 40000 + 11 * minute}
    if pod.number == 0 and minute == -17:
        yield "info", "request done", {"order": "ORD-50505", "took_ms": 8731}


def _api(pod: Pod, minute: int, lot: random.Random) -> Iterator[Said]:
    if (-300 <= minute < -291 and pod.number != 2) or (-40 <= minute < -36 and pod.number == 2):
        for _ in range(4):
            yield "error", "connection refused", {"upstream": "ledger:5432", "took_ms": lot.randrange(2, 9)}


def _search(pod: Pod, minute: int, lot: random.Random) -> Iterator[Said]:
    if pod.number == 1 and minute <= -4 and (minute + 4) % 25 == 0:
        yield "fatal", "heap exhausted while loading shard 7", {"shards": 12}


def _catalog(pod: Pod, minute: int, lot: random.Random) -> Iterator[Said]:
    if pod.number == 2 and lot.random() < 0.4:
        yield "warn", "metrics endpoint is slow", {"took_ms": 9000 + lot.randrange(900)}


def _reconciler(pod: Pod, minute: int, lot: random.Random) -> Iterator[Said]:
    if lot.random() < (0.5 if pod.number == 0 else 0.1):
        yield "warn", "batch is late", {"batch": lot.randrange(1000)}


def _ledger(pod: Pod, minute: int, lot: random.Random) -> Iterator[Said]:
    if lot.random() < 0.35:
        yield "warn", "compaction skipped, too little space", {}


_PLANTED: Final[dict[str, Callable[[Pod, int, random.Random], Iterator[Said]]]] = {
    "checkout": _checkout, "cart": _cart, "api": _api, "search": _search,
    "catalog": _catalog, "reconciler": _reconciler, "ledger": _ledger,
}  # fmt: skip
