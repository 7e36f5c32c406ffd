"""The real prom-label-proxy, built once from the module beside this file: it shows one namespace of a Prometheus, as
OpenShift's tenancy port does."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.kit import clients, gomodule, listening

__all__ = ["LabelProxy", "program"]

_HERE: Final = Path(__file__).parent
_PATH: Final = "github.com/prometheus-community/prom-label-proxy"


def program() -> Path:
    """The program; the first call on a machine builds it, which takes 30 seconds."""
    return gomodule.program(_HERE, _PATH)


class LabelProxy(listening.Listening):
    """One proxy, which adds the label of the parameter `namespace` to every selector."""

    def __init__(self, folder: Path, url: str) -> None:
        """`url` is that of the Prometheus."""
        port = clients.free_port()
        self.url = f"http://127.0.0.1:{port}"
        flags = [
            f"--insecure-listen-address=127.0.0.1:{port}",
            f"--upstream={url}",
            "--label=namespace",
            "--enable-label-apis",
        ]
        super().__init__([str(program()), *flags], folder / "prom-label-proxy.log", port)
