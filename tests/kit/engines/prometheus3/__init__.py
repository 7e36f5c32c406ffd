"""The real Prometheus 3, built once from the module beside this file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.kit import gomodule

__all__ = ["VERSION", "program"]

_HERE: Final = Path(__file__).parent
_PINNED: Final = re.search(
    r"^\s*github\.com/prometheus/prometheus v0\.(\d)(\d\d)\.(\d+)", (_HERE / "go.mod").read_text(), re.M
)
assert _PINNED, "go.mod pins no Prometheus"
VERSION: Final = f"{_PINNED[1]}.{int(_PINNED[2])}.{_PINNED[3]}"
"""3.16.0 is the module's v0.316.0."""


def program() -> Path:
    """The program; the first call on a machine builds it, which takes 75 seconds, a third of what it takes with the
    service discoveries of all clouds."""
    flags = f"-s -w -X github.com/prometheus/common/version.Version={VERSION}"
    return gomodule.program(_HERE, "github.com/prometheus/prometheus/cmd/prometheus", flags, "remove_all_sd")
