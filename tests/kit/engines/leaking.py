"""A Prometheus and a Loki about the namespace `shop` of the broken cluster: the memory of `cart` grows until the kernel
kills it, and its log says why. `scripts/generate_demo.py` saves them."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from kubescript_safety.controlplane import startable
from tests.kit.controlplane.fixture import base, workloads
from tests.kit.engines.loki import Loki
from tests.kit.engines.prometheus import Prometheus

__all__ = ["Leaking"]

_NAMESPACE: Final = "shop"
_LEAKS: Final = "cart"
_METRIC: Final = "container_memory_working_set_bytes"
_RULES: Final = [{
    "name": "memory",
    "rules": [{
        "alert": "MemoryNearLimit",
        "expr": f'{_METRIC}{{namespace="{_NAMESPACE}"}} / 2^20 > 200',
        "labels": {"severity": "warning"},
    }],
}]  # fmt: skip
_MEBIBYTE: Final = 2**20
_MINUTES: Final = 60
_ENDED: Final = range(4, 10)
"""How many minutes ago the last run of a container that keeps crashing was, as the fixture's pods say."""


@dataclass
class Leaking(startable.Startable):
    """Both engines, with the hour before `now`."""

    folder: Path
    now: int
    prometheus: Prometheus = field(init=False)
    loki: Loki = field(init=False)

    def __post_init__(self) -> None:
        self._stack = contextlib.ExitStack()
        clock = base.Clock(datetime.fromtimestamp(self.now, UTC))
        pods = workloads.waves(clock)[2]
        self._pods = [pod for pod in pods if pod["metadata"]["namespace"] == _NAMESPACE and pod["spec"].get("nodeName")]

    def start(self) -> None:
        """Starts both, loads the data, and waits until the rule's alert fires."""
        (self.folder / "prometheus").mkdir()
        self.loki = self._stack.enter_context(Loki(self.folder))
        self.prometheus = self._stack.enter_context(
            Prometheus(self.folder / "prometheus", openmetrics=self._write(), rules=_RULES)
        )
        for pod in self._pods:
            self.loki.push(_labels(pod), list(self._log(pod)))
        self.prometheus.wait_for_alerts("MemoryNearLimit")

    def close(self) -> None:
        """Ends both for good."""
        self._stack.close()

    def _write(self) -> str:
        """The memory of each container, as OpenMetrics."""
        lines = [f"# TYPE {_METRIC} gauge\n"]
        for pod in self._pods:
            labels = ",".join(f'{name}="{value}"' for name, value in _labels(pod).items() if name != "app")
            for minute, used in _measure(pod):
                lines.append(f"{_METRIC}{{{labels}}} {used * _MEBIBYTE} {self.now - 60 * minute}\n")
        return "".join(lines)

    def _log(self, pod: base.Object) -> Iterator[tuple[float, str]]:
        for minute, used in _measure(pod):
            if minute % 5 == 4:
                yield self.now - 60 * minute, f"level=info msg=served requests={base.number(f'{minute}', 300)}"
            if minute % 10 == 6 and _labels(pod)["app"] == _LEAKS:
                text = f'level=warn msg="session cache has no limit" entries={used * 411} evicted=0'
                yield self.now - 60 * minute + 1, text


def _labels(pod: base.Object) -> dict[str, Any]:
    app = pod["metadata"]["labels"]["app"]
    return {"namespace": _NAMESPACE, "app": app, "pod": pod["metadata"]["name"], "container": app}


def _measure(pod: base.Object) -> Iterator[tuple[int, int]]:
    """Yields how many minutes ago, the oldest first, and the mebibytes that the container then used."""
    first, name = pod["status"]["containerStatuses"][0], pod["metadata"]["name"]
    is_leak = pod["metadata"]["labels"]["app"] == _LEAKS
    least = 60 + base.number(name, 90)
    for minute in range(_MINUTES, -1, -1):
        if "waiting" not in first["state"]:
            wave = round(4 * math.sin(least + minute / 7))
            grown = round((_MINUTES - minute) * (200 - least) / 66) if is_leak else 0
            yield minute, least + wave * (not is_leak) + grown + 30 * is_leak
        elif "lastState" in first and minute in _ENDED:
            yield minute, least + (256 - least) * (_ENDED.stop - 1 - minute) // 5 if is_leak else least
