"""A script asks a server, and whoever reads the answer undoes what the script did to it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import anyio

from kubescript import evaluator, types
from kubescript.output import fencing
from security_tests.redaction import judge
from security_tests.redaction.transformations import TRANSFORMATIONS, Answered

__all__ = ["PREFACE", "Ask", "asked", "rebuilt", "undone"]


Ask = Callable[[str], Answered]


PREFACE = "from kubernetes import watch\ns = {source}\n"


def asked(evaluate: evaluator.Evaluator) -> Ask:
    """Runs a script and gives all that left for it: the answer and the progress."""

    def ask(script: str) -> Answered:
        progress: list[tuple[float, str]] = []

        async def on_progress(done: float, _total: float | None, text: str) -> None:
            progress.append((done, text))

        answer: types.Answer = anyio.run(evaluate.evaluate, script, 20_000, on_progress)
        return Answered(fencing.unfence(answer.text), progress)

    return ask


def undone(name: str, answered: Answered) -> str:
    """What the inverse makes of the answer; nothing when it cannot make anything of it."""
    with contextlib.suppress(Exception):
        return TRANSFORMATIONS[name].undo(answered)
    return ""


def rebuilt(answered: Answered) -> str:
    """Everything that any inverse, or reading through common encodings, makes of an answer."""
    texts = [undone(name, answered) for name in TRANSFORMATIONS]
    texts += judge.readable(answered.text, 0)
    texts += [text for _, text in answered.progress]
    return "\n".join((*texts, *(text[::-1] for text in texts)))
