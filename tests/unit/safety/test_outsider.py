"""Transcripts that somebody labelled who had not seen the rules: every label is followed, or a reason stands beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kubescript_safety.autopsy import verdict

FILES = sorted((Path(__file__).parent / "outsider").glob("*.json"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_label_is_followed_or_answered(file: Path) -> None:
    """`judgement` stands beside a label that was not followed: the verdict, the rules, and why."""
    given: dict[str, Any] = json.loads(file.read_text("utf-8"))
    judged = verdict.of_seed(given)
    found = {"verdict": judged.verdict, "rules": [rule.id for rule in judged.rules]}
    wanted = given.get("judgement", given["label"])
    assert found == {"verdict": wanted["verdict"], "rules": sorted(wanted["rules"])}, wanted["why"]


def test_every_answer_differs_from_its_label() -> None:
    """A `judgement` that says what the label says is left over."""
    for file in FILES:
        given = json.loads(file.read_text("utf-8"))
        if "judgement" in given:
            assert sorted(given["judgement"]["rules"]) != sorted(given["label"]["rules"]), file.stem
