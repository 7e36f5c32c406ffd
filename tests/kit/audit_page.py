"""The programs in docs/audit.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.kit import paths

PAGE = (paths.ROOT / "docs" / "audit.md").read_text("utf-8")
CHECK, JOIN = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def run(program: str, *arguments: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program of the page."""
    return subprocess.run(
        [sys.executable, "-", *map(str, arguments)], input=program, capture_output=True, text=True, check=False
    )
