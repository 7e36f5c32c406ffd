"""Scripts whose authors knew the tool's definition and the question, nothing else, get the right answer.

Each runs as a client sends it, through the real server against a real API server and against a snapshot of it, and is
compared with an answer that the official client gives. `scripts/` has them as they were written.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.kit import clients
from tests.live.zero_shot import asking
from tests.live.zero_shot.answers import ANSWERS, Cluster
from tests.live.zero_shot.asking import Ask, Script

QUESTIONS = asking.questions()
SCRIPTS = asking.scripts()
# A snapshot has objects, and no API server that could tell about itself, or refuse.
LIVE_ONLY = ("api-groups", "api-multi-version", "autoscaling-resources", "unreadable-logs")


def identify(script: Script) -> str:
    return script.path.stem


def check(script: Script, ask: Ask, cluster: Cluster) -> None:
    question = QUESTIONS[script.question]
    result = ask(script.path.read_text())
    assert not result.is_error, clients.text(result)
    given, wanted = asking.value(result), ANSWERS[question.slug](cluster)
    assert asking.same(given, wanted, question.tolerance), f"{question.question}\ngiven  {given}\nwanted {wanted}"


@pytest.mark.parametrize("script", SCRIPTS, ids=identify)
def test_first_scripts_are_right(
    script: Script, live: Ask, cluster: Cluster, record_property: Callable[[str, object], None]
) -> None:
    """A script by somebody who knew only the definition answers its question like the official client."""
    record_property("zero-shot", f"live, {script.style}")
    check(script, live, cluster)


@pytest.mark.parametrize(
    "script", [one for one in SCRIPTS if QUESTIONS[one.question].slug not in LIVE_ONLY], ids=identify
)
def test_a_snapshot_gives_the_same_answers(
    script: Script, snapshot: Ask, cluster: Cluster, record_property: Callable[[str, object], None]
) -> None:
    """The same script answers the same when it reads files in place of the API server."""
    record_property("zero-shot", f"snapshot, {script.style}")
    check(script, snapshot, cluster)


def test_every_question_has_an_independent_answer() -> None:
    """No question goes unanswered, no answer is to a question that nobody asks."""
    assert {question.slug for question in QUESTIONS.values()} == set(ANSWERS)


def test_the_corpus_is_large() -> None:
    """At least 120 questions have a script, in at least six styles."""
    assert len({script.question for script in SCRIPTS}) >= 120
    assert len({script.style for script in SCRIPTS}) >= 6


@pytest.mark.parametrize("slug", sorted(ANSWERS))
def test_no_answer_is_trivial(slug: str, cluster: Cluster) -> None:
    """Every question finds something in this cluster."""
    assert ANSWERS[slug](cluster)
