"""The real prom-label-proxy, built once from the module beside this file: it shows one namespace of a Prometheus, as
OpenShift's tenancy port does."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import child, startable
from tests.kit import clients, gomodule, patience

__all__ = ["LabelProxy", "program"]

_HERE: Final = Path(__file__).parent
_PATH: Final = "github.com/prometheus-community/prom-label-proxy"


def program() -> Path:
    """The program; the first call on a machine builds it, which takes 30 seconds."""
    return gomodule.program(_HERE, _PATH)


class LabelProxy(startable.Startable):
    """One proxy, which adds the label of the parameter `namespace` to every selector."""

    def __init__(self, folder: Path, url: str) -> None:
        """`url` is that of the Prometheus."""
        self._port = clients.free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        flags = [
            f"--insecure-listen-address=127.0.0.1:{self._port}",
            f"--upstream={url}",
            "--label=namespace",
            "--enable-label-apis",
        ]
        self._child = child.Child([str(program()), *flags], folder / "prom-label-proxy.log")

    def start(self) -> None:
        """Starts it, and waits until it listens."""
        self._child.start()
        patience.until(self._listens)

    def close(self) -> None:
        """Ends it for good."""
        self._child.close()

    def _listens(self) -> bool:
        assert self._child.pid is not None, self._child.tail()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port)):
            return True
        return False
