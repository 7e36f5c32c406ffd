"""Compares readers' answers with the truths, and counts what they paid: `python -m benchmarks.observed.judging FOLDER`.

FOLDER has `state.json` (the lab's moment zero), `log.jsonl` (a call a line) and `answers/READER.json`. An answer is judged
by the data as it was at the reader's last call for that question.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.observed.truths import TRUTHS
from benchmarks.observed.view import View

__all__ = ["QUESTIONS", "untold", "wrong_fields"]

QUESTIONS: dict[str, dict[str, Any]] = {
    question["id"]: question for question in json.loads(Path(__file__).with_name("questions.json").read_text())
}
"""Id ▶ words, fields with what may be between an answer and the truth, and the calls of another way of asking."""


def main() -> None:
    """Print what is right, and what each question cost."""
    folder = Path(sys.argv[1])
    state = json.loads((folder / "state.json").read_text())
    calls = defaultdict(list)
    for line in (folder / "log.jsonl").read_text().splitlines():
        call = json.loads(line)
        calls[call["reader"], call["question"]].append(call)
    rights, count, paid = 0, 0, 0
    for file in sorted((folder / "answers").glob("*.json")):
        for name, answer in json.loads(file.read_text()).items():
            made = calls[file.stem, name]
            moment = made[-1]["time"] if made else file.stat().st_mtime
            truth = TRUTHS[name](View(int(moment - state["zero"]) // 60))
            wrong = wrong_fields(answer, truth, QUESTIONS[name]["fields"])
            tokens = sum(call["tokens"] for call in made)
            rights, count, paid = rights + (not wrong), count + len(made), paid + tokens
            print(f"{file.stem} {name:4} {'WRONG' if wrong else 'right'} calls {len(made)} tokens {tokens}")
            for field in wrong:
                print(f"    {field}: {answer.get(field)!r}, in truth {truth[field]!r}")
            calls.pop((file.stem, name), None)
    asked = len(QUESTIONS)
    print(
        f"{rights} of {asked} right, {count / asked:.2f} calls, {paid / asked + state['definition']:.0f} tokens each with"
    )
    print(f"the definition ({state['definition']}), {paid / asked:.0f} without it; without an answer: {sorted(calls)}")


def wrong_fields(answer: Mapping[str, Any], truth: Mapping[str, Any], fields: Mapping[str, str]) -> list[str]:
    """The fields that are not what they should be. `fields` says how far a number may be off: `2`, or `5%`."""
    return [name for name, margin in fields.items() if not _is_right(answer.get(name), truth[name], margin)]


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


def _is_right(said: Any, truth: Any, margin: str) -> bool:
    if isinstance(truth, dict):
        table = {str(key): value for key, value in said.items() if value} if isinstance(said, dict) else {}
        return table.keys() == truth.keys() and all(_is_right(table[key], truth[key], margin) for key in truth)
    if isinstance(truth, list):
        return isinstance(said, list) and sorted(map(_plain, said)) == sorted(map(_plain, truth))
    if isinstance(truth, (int, float)):
        number = re.fullmatch(r"\s*(-?[\d.]+)\s*[A-Za-z%]*\s*", str(said))
        return number is not None and abs(float(number[1]) - truth) <= _allowed(truth, margin)
    return _plain(said) == _plain(truth)


def _allowed(truth: float, margin: str) -> float:
    return abs(truth) * float(margin[:-1]) / 100 if margin.endswith("%") else float(margin)


def _plain(text: Any) -> str:
    """Without the namespace before a name, and without quotes and blanks around."""
    words = str(text).strip().strip("`'\"").lower()
    return words.removeprefix(f"{words.split('/')[0]}/") if words.count("/") == 1 else words


if __name__ == "__main__":
    main()
