"""A real Alertmanager, built once from the module beside this file, with the routes, alerts and silences that a test
gives it."""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx2
import yaml

from kubescript_safety.controlplane import build
from tests.kit import clients, gomodule, listening

__all__ = ["VERSION", "Alertmanager", "program"]

_HERE: Final = Path(__file__).parent
_PATH: Final = "github.com/prometheus/alertmanager"
VERSION: Final = gomodule.version(_HERE, _PATH)
_QUIET: Final = {"route": {"receiver": "none"}, "receivers": [{"name": "none"}]}
"""All alerts go to a receiver that tells no one."""


def program() -> Path:
    """The program; the first call on a machine builds it, which takes 40 seconds."""
    flags = f"-s -w -X github.com/prometheus/common/version.Version={VERSION}"
    return gomodule.program(_with_page(), f"{_PATH}/cmd/alertmanager", flags)


class Alertmanager(listening.Listening):
    """One server without peers."""

    def __init__(self, folder: Path, settings: Mapping[str, Any] = _QUIET) -> None:
        """`settings` is its configuration: routes, receivers, inhibition."""
        port = clients.free_port()
        self.address = f"127.0.0.1:{port}"
        """What a Prometheus sends alerts to."""
        self.url = f"http://{self.address}"
        file = folder / "alertmanager.yml"
        file.write_text(yaml.safe_dump(dict(settings)))
        flags = [
            f"--config.file={file}",
            f"--storage.path={folder}/alertmanager",
            f"--web.listen-address={self.address}",
            "--cluster.listen-address=",
        ]
        super().__init__([str(program()), *flags], folder / "alertmanager.log", port, f"{self.url}/-/ready")

    def get(self, what: str, **options: str) -> Any:
        """An answer; `what` is a path under /api/v2. Fails when it is an error."""
        return httpx2.get(f"{self.url}/api/v2/{what}", params=options, timeout=60).raise_for_status().json()

    def post_alerts(self, alerts: Sequence[Mapping[str, Any]]) -> None:
        """Alerts with `labels`, and if wished `annotations`, `startsAt` and `endsAt`; without an end one is resolved five
        minutes later."""
        self._post("alerts", list(alerts))

    def silence(self, labels: Mapping[str, str], begins: float, ends: float, comment: str) -> str:
        """Silences alerts with these labels between two times, in seconds since 1970; returns the silence's id."""
        silence = {
            "matchers": [{"name": name, "value": value, "isRegex": False} for name, value in labels.items()],
            "startsAt": _text(begins),
            "endsAt": _text(ends),
            "createdBy": "engines",
            "comment": comment,
        }
        return str(self._post("silences", silence).json()["silenceID"])

    def _post(self, what: str, body: Any) -> httpx2.Response:
        return httpx2.post(f"{self.url}/api/v2/{what}", json=body, timeout=60).raise_for_status()


def _text(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).isoformat()


def _with_page() -> Path:
    """The module beside this file with a copy of Alertmanager's sources to which a page is added: they embed one that npm
    makes and that no Go module has."""
    module = build.cache() / "alertmanager-sources" / VERSION / "alertmanager"
    with build.lock(build.cache() / "alertmanager-sources.lock"):
        if not (module / "sources").exists():
            _copy(module / "sources")
        shutil.copyfile(_HERE / "go.sum", module / "go.sum")
        (module / "go.mod").write_text((_HERE / "go.mod").read_text() + f"\nreplace {_PATH} => ./sources\n")
    return module


def _copy(target: Path) -> None:
    half_done = target.with_name("copying")
    shutil.rmtree(half_done, ignore_errors=True)
    shutil.copytree(gomodule.sources(_HERE, _PATH), half_done)
    app = half_done / "ui/app"
    app.chmod(0o755)  # Go keeps modules read-only
    (app / "dist").mkdir()
    (app / "dist/index.html").touch()
    half_done.rename(target)
