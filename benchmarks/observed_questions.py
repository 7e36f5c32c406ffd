"""Forty questions that join metrics, alerts and logs with objects, in o200k tokens: a script each, whose answer must tell the truth, and the least calls of rhobs/obs-mcp and
kubectl that can answer."""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks import npm, report, servers, stdio
from benchmarks.observed import lab
from benchmarks.observed.judging import QUESTIONS, untold
from benchmarks.observed.others import Others
from benchmarks.observed.truths import TRUTHS
from benchmarks.observed.view import View

__all__ = ["run"]

GOAL: Final = 1100
_KINDS: Final = {"m": "metrics", "a": "alerts", "l": "logs", "t": "all three"}


def run() -> Iterator[report.Row | str]:
    """A row for each kind of question, with the mean of its calls and answers, and one with the tool's definition."""
    npm.count_tokens([])  # Unavailable before anything is started
    paid: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder, lab.opened(Path(folder)) as it:
        command = [str(servers.PROGRAM), "--config", str(it.settings)]
        others = Others(it.urls, it.kubeconfig)
        with stdio.Server(command) as server:
            definition = npm.count_tokens([_json(tool) for tool in server.request("tools/list", {}).result["tools"]])
            for name, question in QUESTIONS.items():
                spent, answer = _ask(server, question["script"])
                _check(name, answer, View(int(time.time() - it.zero) // 60))
                paid[_KINDS[name[0]]].append((spent, *others.pay(question["calls"])))
    paid["all"] = [each for kind in paid.values() for each in kind]
    for kind, each in paid.items():
        ours, calls, theirs = (sum(column) / len(each) for column in zip(*each, strict=True))
        what = f"a question, {kind} beside objects"
        yield report.Row(what, "tokens", ours, theirs, "obs-mcp, kubectl")
        yield report.Row(what, "calls", 1, calls, "obs-mcp, kubectl")
    whole = sum(definition) + sum(spent for spent, *_ in paid["all"]) / len(QUESTIONS)
    yield report.Row("a question, with the definition", "tokens", whole, None, "", "value_at_most", GOAL)


def _ask(server: stdio.Server, script: str) -> tuple[int, str]:
    """The tokens of a call and its answer, and the answer. Raises RuntimeError when the script fails."""
    arguments = {"script": script}
    answer = stdio.text(server.call("evaluate_script", arguments))
    return sum(npm.count_tokens([_json({"name": "evaluate_script", "arguments": arguments}), answer])), answer


def _check(name: str, answer: str, view: View) -> None:
    """Raises RuntimeError when an answer lacks something of the truth."""
    truth, fields = TRUTHS[name](view), QUESTIONS[name]["fields"]
    if missing := [each for field, margin in fields.items() for each in untold(answer, truth[field], margin)]:
        raise RuntimeError(f"{name} does not tell {missing}: {answer}")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
