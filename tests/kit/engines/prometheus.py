"""A real Prometheus with exactly the series, rules and targets that a test gives it: version 3, or Debian's 2.42.

with Prometheus(folder, openmetrics=TEXT, rules=GROUPS) as server:
    server.get("query", query="up")
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import yaml

from kubescript_safety.controlplane import pki
from tests.kit import clients, listening, patience
from tests.kit import prometheus as debian
from tests.kit.engines import prometheus3

__all__ = ["PASSWORD", "USER", "Prometheus", "Web", "gauge", "vector"]

USER: Final = "reader"
PASSWORD: Final = "correct-horse-7-battery"
_HASH: Final = "$2a$04$AKOirTdlqkwOE.vyX894Ium3uvI61FLKUhbQ40qjUqP9.G7NqU/vS"
"""The password by bcrypt."""
_READY: Final = "Server is ready to receive web requests."


@dataclass(frozen=True)
class Web:
    """How a server lets clients in, who all know its certificate's authority."""

    authority: pki.Authority
    certificates: bool = False
    """Whether a client must show a certificate of the authority."""
    password: bool = False
    """Whether a client must name USER and PASSWORD."""


class Prometheus(listening.Listening):
    """One server, whose series end only when a test's folder does."""

    def __init__(
        self,
        folder: Path,
        *,
        openmetrics: str = "",
        rules: Sequence[Mapping[str, Any]] = (),
        targets: Sequence[str] = (),
        alertmanager: str = "",
        web: Web | None = None,
        every: str = "1s",
        old: bool = False,
        host: str = "127.0.0.1",
    ) -> None:
        """`openmetrics` is a text with times, none of which is to come, and without its last line; `rules` are groups of
        rules; `targets` and `alertmanager` are HOST:PORT; it scrapes and judges `every` so often; a target's own labels
        `job` and `instance` are kept; `old` is version 2.42; it listens at `host`.
        """
        port = clients.free_port()
        self.address = f"{host}:{port}"
        self.url = f"{'https' if web else 'http'}://{self.address}"
        data, settings = folder / "data", folder / "prometheus.yml"
        (folder / "rules.yml").write_text(yaml.safe_dump({"groups": list(rules)}))
        settings.write_text(yaml.safe_dump(_settings(folder, targets, alertmanager, every)))
        if openmetrics:
            _load(openmetrics, folder / "series.txt", data)
        program = debian.command("prometheus") if old else [str(prometheus3.program())]
        flags = [
            f"--config.file={settings}",
            f"--storage.tsdb.path={data}",
            "--storage.tsdb.retention.time=100y",
            "--rules.alert.resend-delay=1s",  # the first alerts are lost: an Alertmanager is known seconds later
            f"--web.listen-address={self.address}",
        ]
        if web is not None:
            flags.append(f"--web.config.file={_write_web(web, folder)}")
        super().__init__([*program, *flags], folder / "prometheus.log", port)

    def get(self, what: str, **options: str) -> Any:
        """The data of an answer; `what` is a path under /api/v1. Fails when it is an error, or the server has a Web."""
        answer = httpx2.get(f"{self.url}/api/v1/{what}", params=options, timeout=60).json()
        assert answer["status"] == "success", answer
        return answer["data"]

    def wait_for_alerts(self, *names: str) -> None:
        """Returns when alerts of these names fire and the series ALERTS says so, which is from the third judgement on."""
        firing = 'ALERTS{alertstate="firing"}'
        patience.until(lambda: set(names) <= {
            each["metric"]["alertname"] for each in self.get("query", query=firing)["result"]
        })  # fmt: skip

    def _is_ready(self) -> bool:
        return _READY in self.log.read_text()  # a client would need the certificate and the password


def gauge(name: str, samples: Mapping[str, int]) -> str:
    """A sample of half a minute ago for each of these labels, such as `pod="a"`: a query finds it for five minutes."""
    at = int(time.time()) - 30
    lines = [f"{name}{{{labels}}} {value} {at}\n" for labels, value in samples.items()]
    return f"# TYPE {name} gauge\n{''.join(lines)}"


def vector(value: str, **labels: str) -> bytes:
    """The answer to a query that finds one series, for servers that are no Prometheus."""
    found = [{"metric": labels, "value": [0, value]}]
    return json.dumps({"status": "success", "data": {"resultType": "vector", "result": found}}).encode()


def _settings(folder: Path, targets: Sequence[str], alertmanager: str, every: str) -> dict[str, Any]:
    managers = [{"static_configs": [{"targets": [alertmanager]}]}] if alertmanager else []
    scraped = {"job_name": "targets", "honor_labels": True, "static_configs": [{"targets": list(targets)}]}
    return {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
        "rule_files": [str(folder / "rules.yml")],
        "scrape_configs": [scraped],
        "alerting": {"alertmanagers": managers},
    }


def _load(openmetrics: str, file: Path, data: Path) -> None:
    file.write_text(openmetrics + "# EOF\n")
    done = debian.promtool("tsdb", "create-blocks-from", "openmetrics", str(file), str(data))
    assert done.returncode == 0, done.stderr


def _write_web(web: Web, folder: Path) -> Path:
    (folder / "ca.crt").write_bytes(web.authority.certificate)
    web.authority.serving(["localhost"], ["127.0.0.1"]).write(folder, "server")
    tls = {"cert_file": str(folder / "server.crt"), "key_file": str(folder / "server.key")}
    if web.certificates:
        tls |= {"client_auth_type": "RequireAndVerifyClientCert", "client_ca_file": str(folder / "ca.crt")}
    users = {USER: _HASH} if web.password else {}
    file = folder / "web.yml"
    file.write_text(json.dumps({"tls_server_config": tls, "basic_auth_users": users}))
    return file
