"""The lab: an API server, Prometheus, Alertmanager and Loki with the data of this folder, all of them real.

with lab.opened(folder) as it:
    it.settings      # kubescript's settings, with the three as sources
"""

from __future__ import annotations

import contextlib
import functools
import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.observed import alerting, estate, lines, signals
from tests.kit import patience
from tests.kit.controlplane import server
from tests.kit.controlplane.fixture.base import Clock
from tests.kit.controlplane.writer import Writer
from tests.kit.engines.alertmanager import Alertmanager
from tests.kit.engines.loki import Loki
from tests.kit.engines.prometheus import Prometheus
from tests.kit.engines.served import Served

__all__ = ["Lab", "opened"]

_BATCH: Final = 2000


@dataclass(frozen=True)
class Lab:
    """What runs; `zero` is the moment that its data counts from, in seconds since 1970."""

    zero: int
    kubeconfig: Path
    settings: Path
    prometheus: Prometheus
    alertmanager: Alertmanager
    loki: Loki

    @property
    def urls(self) -> dict[str, str]:
        """The kind of a source ▶ its address."""
        return {"prometheus": self.prometheus.url, "alertmanager": self.alertmanager.url, "loki": self.loki.url}


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[Lab]:
    """The lab, with data to now. Its series and logs go on, a minute at a time, until it is closed."""
    series = signals.generate()
    with contextlib.ExitStack() as stack:
        plane = stack.enter_context(server.ControlPlane())
        alerts = stack.enter_context(Alertmanager(folder, alerting.ROUTES))
        logs = stack.enter_context(Loki(folder))
        zero = int(time.time()) // 60 * 60  # the first start on a machine builds programs for minutes
        Writer(plane.kubeconfig).create_all(estate.objects(Clock(datetime.fromtimestamp(zero, UTC))))
        alerting.silence(alerts, zero)
        _push(logs, zero, -lines.BEFORE, 0)
        stack.enter_context(_followed(logs, zero))
        answer = functools.partial(_expose, series, zero)
        exporter = stack.enter_context(Served(answer, "text/plain; version=0.0.4"))
        metrics = Prometheus(
            folder,
            openmetrics=signals.openmetrics(series, zero),
            rules=[{"name": "lab", "rules": alerting.RULES}],
            targets=[exporter.address],
            alertmanager=alerts.address,
            every="5s",
        )
        stack.enter_context(metrics)
        metrics.wait_for_alerts(*(rule["alert"] for rule in alerting.RULES))
        patience.until(lambda: len(alerts.get("alerts")) == len(metrics.get("alerts")["alerts"]))
        it = Lab(zero, plane.kubeconfig, folder / "kubescript.toml", metrics, alerts, logs)
        it.settings.write_text(_settings(it))
        yield it


def _expose(series: list[signals.Series], zero: int, _: object) -> tuple[int, str]:
    return 200, signals.exposition(series, zero, (int(time.time()) - zero) // 60)


@contextlib.contextmanager
def _followed(logs: Loki, zero: int) -> Iterator[None]:
    """The lines of a minute come when it is over, so that none is later than now."""
    ended = threading.Event()

    def follow() -> None:
        minute = 0
        while not ended.wait(max(0, zero + 60 * (minute + 1) - time.time())):
            _push(logs, zero, minute, minute + 1)
            minute += 1

    follower = threading.Thread(target=follow)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


def _push(logs: Loki, zero: int, first: int, last: int) -> None:
    streams = defaultdict(list)
    for line in lines.between(first, last):
        streams[line.pod].append((zero + line.second, line.text))
    for pod, written in streams.items():
        for start in range(0, len(written), _BATCH):
            logs.push(lines.labels(pod), written[start : start + _BATCH])


def _settings(it: Lab) -> str:
    tables = [
        f"[sources.{kind}]\nkind = {json.dumps(kind)}\nurl = {json.dumps(url)}\n" for kind, url in it.urls.items()
    ]
    return f'toolsets = ["code"]\nkubeconfig = {json.dumps(str(it.kubeconfig))}\n' + "".join(tables)
