"""A real Prometheus that scrapes one server and judges the chart's rules; and promtool.

Both are Debian's, unpacked into the tests' cache.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import httpx2
import yaml

from kubescript_safety.controlplane import child, startable
from tests.kit import clients, debian, paths, patience

__all__ = ["ALERTS", "DASHBOARD", "Prometheus", "command", "promtool", "unpacked"]

FILES: Final = paths.ROOT / "charts" / "kubescript" / "files"
ALERTS: Final = FILES / "alerts.yaml"
DASHBOARD: Final = FILES / "dashboard.json"
EVERY: Final = "500ms"
"""How often it scrapes and judges."""


def unpacked() -> Path:
    """The root of the package. Raises debian.Missing."""
    return debian.unpacked("prometheus", "prometheus")


def promtool(*words: str) -> subprocess.CompletedProcess[str]:
    """What the real promtool says."""
    return subprocess.run(command("promtool", *words), capture_output=True, text=True, check=False)


def command(program: str, *words: str) -> list[str]:
    """How a program of the package is run."""
    root = unpacked()
    return ["env", f"LD_LIBRARY_PATH={debian.libraries(root)}", str(root / "usr/bin" / program), *words]


class Prometheus(startable.Startable):
    """One Prometheus, with the chart's rules over seconds in place of minutes."""

    def __init__(self, folder: Path, scraped: int) -> None:
        """`scraped` is the port where a server's metrics are."""
        port = clients.free_port()
        self._url = f"http://127.0.0.1:{port}"
        rules, settings = folder / "alerts.yaml", folder / "prometheus.yml"
        text = re.sub(r"for: \d+m", "for: 1s", ALERTS.read_text("utf-8").replace("[5m]", "[5s]"))
        rules.write_text(text)
        settings.write_text(yaml.safe_dump({
            "global": {"scrape_interval": EVERY, "evaluation_interval": EVERY},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "kubescript", "static_configs": [{"targets": [f"127.0.0.1:{scraped}"]}]}],
        }))  # fmt: skip
        flags = (
            f"--config.file={settings}",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address=127.0.0.1:{port}",
        )
        self._child = child.Child(command("prometheus", *flags), folder / "prometheus.log")

    def start(self) -> None:
        """Starts it, and waits until it has scraped."""
        self._child.start()
        patience.until(self._is_ready)
        patience.until(lambda: "kubescript_info" in self.names())

    def close(self) -> None:
        """Ends it for good."""
        self._child.close()

    def names(self) -> set[str]:
        """The names of all series that it has scraped."""
        return set(self._get("label/__name__/values"))

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series that an expression has now. Fails when it is none."""
        found: list[dict[str, Any]] = self._get("query", query=expression)["result"]
        return found

    def firing(self) -> set[tuple[str, str]]:
        """The alerts that fire, each with its label `context`."""
        found = [each for each in self._get("alerts")["alerts"] if each["state"] == "firing"]
        return {(each["labels"]["alertname"], each["labels"].get("context", "")) for each in found}

    def _is_ready(self) -> bool:
        assert self._child.pid is not None, self._child.tail()
        with contextlib.suppress(httpx2.TransportError):  # it does not listen yet
            return httpx2.get(f"{self._url}/-/ready").status_code == 200
        return False

    def _get(self, what: str, **options: str) -> Any:
        answer = httpx2.get(f"{self._url}/api/v1/{what}", params=options).json()
        assert answer["status"] == "success", answer
        return answer["data"]
