"""The API contract of the classic tools: the schemas and descriptions of its section 3, as `extract` read them out of
the contract's file, which is not part of this repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["TOOLS"]

TOOLS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("tools.json").read_text("utf-8"))
"""Tool → `description` and `inputSchema`."""
