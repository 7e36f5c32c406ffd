"""The kernel layer once more, in a pytest of its own: for a host with fewer rights than the one that runs this."""

from __future__ import annotations

import json
import subprocess
from typing import Final

__all__ = ["ARGUMENTS", "ENVIRONMENT", "tally"]

ARGUMENTS: Final = (
    "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", "--capture=sys", "--show-capture=no", "--tb=short",
    "--confcutdir=security_tests", "security_tests/test_kernel.py",
)  # fmt: skip
"""Of pytest, in the repository's folder, which may be read-only."""
ENVIRONMENT: Final = {"WALL_TALLY": "1"}


def tally(finished: subprocess.CompletedProcess[str]) -> tuple[int, int, int]:
    """Attacks tried, held and skipped in the inner run."""
    assert finished.returncode == 0, finished.stdout[-6000:] + finished.stderr[-2000:]
    (line,) = [line for line in finished.stdout.splitlines() if line.startswith("tally: ")]
    tried, held, skipped = json.loads(line.removeprefix("tally: "))
    return tried, held, skipped
