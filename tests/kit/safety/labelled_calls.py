"""Transcripts of the seed's shape made by hand, each with the rules that it breaks: toolcalls.yaml writes them in
short."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

TABLE: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("toolcalls.yaml").read_text("utf-8"))
CASES: list[dict[str, Any]] = TABLE["cases"]


def transcript_of(case: dict[str, Any]) -> dict[str, Any]:
    """The transcript that a case writes in short."""
    calls = [dict(zip(("toolName", "arguments", "result"), call, strict=True)) for call in case["calls"]]
    state = {"resources": case.get("state", TABLE["state"])}
    return {"toolCalls": calls, "clusterState": state, "config": case.get("config", {})}
