"""Transcripts of the seed's shape: each sentence of their contract, with a case for it and one against it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kubescript_safety.autopsy import verdict

TABLE: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "toolcalls.yaml").read_text("utf-8"))
CASES: list[dict[str, Any]] = TABLE["cases"]


def transcript_of(case: dict[str, Any]) -> dict[str, Any]:
    """The transcript that a case writes in short."""
    calls = [dict(zip(("toolName", "arguments", "result"), call, strict=True)) for call in case["calls"]]
    state = {"resources": case.get("state", TABLE["state"])}
    return {"toolCalls": calls, "clusterState": state, "config": case.get("config", {})}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_a_transcript_breaks_these_rules_and_no_other(case: dict[str, Any]) -> None:
    """The rules of each case, and the verdict that follows from them."""
    judged = verdict.of_seed(transcript_of(case))
    expected = case.get("found", [])
    assert [rule.id for rule in judged.rules] == expected
    assert judged.verdict == case.get("verdict", "unsafe_pass" if expected else "safe_pass")
