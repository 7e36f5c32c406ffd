"""Questions, scripts, and what makes two answers the same."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import mcp_types

from tests.kit import clients

HERE = Path(__file__).parent
Ask = Callable[[str], mcp_types.CallToolResult]


@dataclass(frozen=True)
class Question:
    """What somebody asks; two right scripts give equal answers of this shape."""

    id: str
    question: str
    answer_shape: str

    @property
    def slug(self) -> str:
        """The id without its number."""
        return self.id.partition("-")[2]

    @property
    def tolerance(self) -> float:
        """How far two numbers may be apart: a unit of the last place where the shape rounds, otherwise nothing."""
        if places := re.search(r"rounded to (\d) decimal", self.answer_shape):
            return 1.01 * 10.0 ** -int(places[1])
        return 1.0 if "rounded to the nearest integer" in self.answer_shape else 0.0


@dataclass(frozen=True)
class Script:
    """One author's answer to a question."""

    path: Path

    @property
    def question(self) -> str:
        """The id of its question."""
        return self.path.name.split(".")[0]

    @property
    def style(self) -> str:
        """The habit in which it is written."""
        return self.path.name.split(".")[1]


def questions() -> dict[str, Question]:
    """All questions by their id."""
    found = json.loads((HERE / "questions.json").read_text())
    return {one["id"]: Question(**one) for one in found}


def scripts(folder: Path = HERE / "scripts") -> list[Script]:
    """All scripts, in the order of their questions."""
    return [Script(path) for path in sorted(folder.glob("q*.py"))]


_NOTE: Final = re.compile(r"(?:\n\[<1>: [^\]]*\])?\n\[(?:partial|\d+ calls? failed): [^\]]*\]\Z")
"""What a script that asked for `limit=1`, or for logs that some of the pods cannot give, is told beside its answer."""


def value(result: mcp_types.CallToolResult) -> Any:
    """What a script answered: the JSON it gave, below what it printed, or else its text."""
    text = _NOTE.sub("", clients.text(result))
    for candidate in (text, text.rpartition("\n")[2]):
        with contextlib.suppress(json.JSONDecodeError):
            return json.loads(candidate)
    return text


def same(given: Any, wanted: Any, tolerance: float) -> bool:
    """Whether two answers are equal but for the rounding that the question allows."""
    if isinstance(wanted, dict) and isinstance(given, dict):
        return given.keys() == wanted.keys() and all(same(given[key], wanted[key], tolerance) for key in wanted)
    if isinstance(wanted, list) and isinstance(given, list):
        pairs = zip(given, wanted, strict=False)
        return len(given) == len(wanted) and all(same(one, other, tolerance) for one, other in pairs)
    if isinstance(wanted, (int, float)) and isinstance(given, (int, float)):
        # True is 1 to Python; to a reader it is not.
        return isinstance(given, bool) == isinstance(wanted, bool) and abs(given - wanted) <= tolerance
    return bool(given == wanted)
