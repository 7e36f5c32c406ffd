"""Workers are copies of one prepared process, and rehearse: no script sees another's numbers, or the rehearsal's traces."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from security_tests import benches

LOUD: Final = (sys.executable, "-I", str(Path(__file__).with_name("loud.py")))
DRAWS: Final = """
import random
[random.getrandbits(64), random.Random().getrandbits(64), random.gauss(0, 1), random.sample(range(10**9), 2)]
"""


@pytest.fixture(scope="module")
def loud() -> Iterator[benches.Bench]:
    """Runs scripts after a rehearsal that seeds, prints, calls and recurses."""
    with benches.opened(LOUD) as bench:
        yield bench


@pytest.mark.promise("K-21")
def test_no_two_workers_draw_the_same_numbers(loud: benches.Bench) -> None:
    """A script cannot foretell another's random numbers, though both workers are copies of one process."""
    draws = [json.loads(loud(DRAWS).result or b"") for _ in range(6)]
    for drawn in zip(*draws, strict=True):
        assert len({str(number) for number in drawn}) == 6


LOOK: Final = """
def depth(n):
    try:
        return depth(n + 1)
    except RecursionError:
        return n
def name():
    try:
        return kept
    except NameError as error:
        return str(error)
print("seen")
left = ctx.budget.to_dict()
left.pop("remaining_ms")
[depth(0) > 1024, name(), left, k8s.contexts(), ctx.name, namespace, list((1, 2)), k8s.name]
"""


@pytest.mark.promise("K-21")
def test_nothing_of_a_rehearsal_reaches_a_script(loud: benches.Bench, sandbox: benches.Bench) -> None:
    """Names, prints, counters, contexts, depth and report are those of a worker that has rehearsed `1 + 1`."""
    after_loud, after_quiet = loud(LOOK), sandbox(LOOK)
    assert after_quiet.fault is None
    for field in ("result", "printed", "fault", "report", "unsent", "dropped_bytes", "hint"):
        assert getattr(after_loud, field) == getattr(after_quiet, field)
    assert after_loud.usage.api_calls == 0


@pytest.mark.promise("K-21")
def test_a_rehearsal_makes_no_call(loud: benches.Bench) -> None:
    """The host hears the calls of the script only."""
    heard = loud.listen()
    loud("try:\n    k8s.coreV1().list_namespaced_pod('own')\nexcept Exception:\n    pass")
    assert [call.path for call in heard] == [("api", "v1", "namespaces", "own", "pods")]
