"""Compares what a script answered with what is true."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["QUESTIONS", "untold"]

QUESTIONS: dict[str, dict[str, Any]] = {
    question["id"]: question for question in json.loads(Path(__file__).with_name("questions.json").read_text())
}
"""Id ▶ words, fields with what may be between an answer and the truth, and the calls of another way of asking."""


def untold(text: str, truth: Any, margin: str) -> list[Any]:
    """What of a truth a script's answer does not have anywhere: names as they are, numbers within the margin."""
    if isinstance(truth, dict):
        return [
            missing
            for key, value in truth.items()
            for missing in (*untold(text, key, ""), *untold(text, value, margin))
        ]
    if isinstance(truth, list):
        return [missing for value in truth for missing in untold(text, value, margin)]
    if isinstance(truth, str):
        return [] if truth in text else [truth]
    numbers = [float(number) for number in re.findall(r"-?\b\d+(?:\.\d+)?", text)]
    return [] if any(abs(number - truth) <= _allowed(truth, margin) for number in numbers) else [truth]


def _allowed(truth: float, margin: str) -> float:
    return abs(truth) * float(margin[:-1]) / 100 if margin.endswith("%") else float(margin)
