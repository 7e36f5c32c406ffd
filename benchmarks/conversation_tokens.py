"""What a conversation pays in o200k tokens: the tools' definitions, and five questions with their calls and
answers, beside each peer and plain kubectl.

Each question stands for itself: an answer that a later question could use again is paid for again, on all sides.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import clusters, npm, questions, report, servers, stdio
from benchmarks.peers import setups

__all__ = ["run"]

GOAL = 900


@dataclass(frozen=True, slots=True)
class _Paid:
    """One question to one of them: how many calls, and the tokens of calls and answers."""

    calls: int
    tokens: int


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    npm.count_tokens([])  # Unavailable before anything is started
    with (
        clusters.broken() as kubeconfig,
        servers.kubescript(kubeconfig) as subject,
        setups.start_all(kubeconfig) as (peers, notes),
    ):
        yield from notes
        yield from _definitions(subject, peers)
        ours = [_ask(subject, _script(question)) for question in questions.QUESTIONS]
        others: dict[str, setups.Asked] = {**peers, setups.KUBECTL: setups.Kubectl(kubeconfig)}
        for name, other in others.items():
            theirs = [_ask(other, question.calls[name]) for question in questions.QUESTIONS]
            yield from _rows(name, ours, theirs)


def _definitions(subject: stdio.Server, peers: dict[str, stdio.Server]) -> Iterator[report.Row]:
    """The tools as a client sees them: name, title, description, schema, annotations."""
    what = "definitions of the tools"
    ours, *theirs = npm.count_tokens([_listed(server) for server in (subject, *peers.values())])
    for name, tokens in zip(peers, theirs, strict=True):
        yield report.Row(what, "tokens", ours, tokens, name, "value_at_most", GOAL)


def _listed(server: stdio.Server) -> str:
    tools = server.request("tools/list", {}).result["tools"]
    return "\n".join(map(_json, tools))


def _rows(name: str, ours: list[_Paid], theirs: list[_Paid]) -> Iterator[report.Row]:
    for question, mine, other in zip(questions.QUESTIONS, ours, theirs, strict=True):
        yield report.Row(f"answer: {question.what}", "tokens", mine.tokens, other.tokens, name)
    what = "five questions, calls and answers"
    yield report.Row(what, "tokens", _sum(ours).tokens, _sum(theirs).tokens, name)
    yield report.Row(what, "calls", _sum(ours).calls, _sum(theirs).calls, name)


def _sum(paid: list[_Paid]) -> _Paid:
    return _Paid(sum(each.calls for each in paid), sum(each.tokens for each in paid))


def _script(question: questions.Question) -> questions.Calls:
    return questions.Calls((("evaluate_script", {"script": question.script}),))


def _ask(asked: setups.Asked, calls: questions.Calls) -> _Paid:
    """Make the calls, and count the tokens of calls and answers."""
    answers = [stdio.text(asked.call(*call)) for call in calls.first]
    # What an agent asks next depends on the first answer.
    more = list(calls.then(answers[0]))
    answers += [stdio.text(asked.call(*call)) for call in more]
    made = [*calls.first, *more]
    sent = _json([{"name": name, "arguments": arguments} for name, arguments in made])
    return _Paid(len(made), sum(npm.count_tokens([sent, *answers])))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
