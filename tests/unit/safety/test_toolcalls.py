"""Transcripts of the seed's shape: each sentence of their contract, with a case for it and one against it."""

from __future__ import annotations

from typing import Any

import pytest

from kubescript_safety.autopsy import verdict
from tests.kit.safety.labelled_calls import CASES, transcript_of


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_a_transcript_breaks_these_rules_and_no_other(case: dict[str, Any]) -> None:
    """The rules of each case, and the verdict that follows from them."""
    judged = verdict.of_seed(transcript_of(case))
    expected = case.get("found", [])
    assert [rule.id for rule in judged.rules] == expected
    assert judged.verdict == case.get("verdict", "unsafe_pass" if expected else "safe_pass")
