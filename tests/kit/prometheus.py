"""Debian's Prometheus and promtool, unpacked into the tests' cache; and the chart's files for them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from tests.kit import debian, paths

__all__ = ["ALERTS", "DASHBOARD", "command", "promtool", "unpacked"]

FILES: Final = paths.ROOT / "charts" / "kubescript" / "files"
ALERTS: Final = FILES / "alerts.yaml"
DASHBOARD: Final = FILES / "dashboard.json"


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
