"""The real Prometheus 3, built once from the module beside this file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from tests.kit import gomodule

__all__ = ["VERSION", "program"]

_HERE: Final = Path(__file__).parent
_PATH: Final = "github.com/prometheus/prometheus"
VERSION: Final = re.sub(r"^0\.(\d)0?(\d+)", r"\1.\2", gomodule.version(_HERE, _PATH))
"""3.16.0 is the module's v0.316.0."""


def program() -> Path:
    """The program; the first call on a machine builds it, which takes 75 seconds, a third of what it takes with the
    service discoveries of all clouds."""
    flags = f"-s -w -X github.com/prometheus/common/version.Version={VERSION}"
    return gomodule.program(_HERE, f"{_PATH}/cmd/prometheus", flags, "remove_all_sd")
