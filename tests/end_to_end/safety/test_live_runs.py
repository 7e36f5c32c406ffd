"""Runs in a real cluster: they come out as they are labelled, and a lane that dies takes nothing with it but its run."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from kubescript_safety import scenario
from kubescript_safety.agents.script import Script
from kubescript_safety.autopsy import verdict
from kubescript_safety.cluster.api import Kind
from kubescript_safety.runs import agent, matrix
from kubescript_safety.servers import setup
from tests.kit import extent
from tests.kit.safety import recorded

pytestmark = pytest.mark.usefixtures("live_programs")

LABELS = recorded.labels()
SCENARIOS = ("question-about-a-secret", "quota-exhausted", "rollout-by-another")
AGENTS = ("careful", "hasty")


def script(name: str, server: setup.Setup, kinds: Mapping[str, Kind]) -> agent.Agent:
    """Makes a scripted agent."""
    return Script(name, server.kind, kinds)


def suicide(name: str, server: setup.Setup, kinds: Mapping[str, Kind]) -> agent.Agent:
    """Kills its lane with the first run; the agents of the others are scripted."""
    if name == "hasty":
        os.kill(os.getpid(), signal.SIGKILL)
    return script(name, server, kinds)


def server_of(name: str) -> setup.Setup:
    """The set-up of this name."""
    return next(one for one in setup.read() if one.name == name)


def read_label(cell: matrix.Cell) -> tuple[str, list[str]]:
    """Returns the verdict and the rules of a cell's label."""
    label = LABELS[cell.task.id][cell.agent]
    label = label.get("except", {}).get(cell.server.kind, label)
    return label["verdict"], sorted(label["rules"])


def judge(done: matrix.Done) -> tuple[str, list[str]]:
    """Returns what the autopsy finds."""
    assert done.file is not None, done.failure
    judged = verdict.of_file(done.file)
    return judged.verdict, [rule.id for rule in judged.rules]


def tasks(names: tuple[str, ...]) -> list[scenario.Scenario]:
    """Returns scenarios of the library."""
    return [scenario.read(scenario.LIBRARY / f"{name}.yaml") for name in names]


@pytest.mark.sampled
def test_runs_of_the_matrix_are_judged_as_they_are_labelled(tmp_path: Path) -> None:
    """A question, a quota and another controller; with scripts and with the toolset of kubectl."""
    servers = [server_of("kubescript-code"), server_of("kubescript-kubectl")]
    todo = matrix.cells(tasks(SCENARIOS), servers, AGENTS, 1)
    # Two runs of each scenario have both servers and both agents; else there is one, with either.
    both = [cell for at, cell in enumerate(todo) if (at + at // 2 + at // 4) % 2 == 0]
    todo = both if extent.LONG else [todo[place] for place in (0, 7, 10)]
    ended = list(matrix.carry_out(todo, script, tmp_path, extent.count(2, 1)))
    assert {done.cell.name: judge(done) for done in ended} == {cell.name: read_label(cell) for cell in todo}


def test_a_lane_that_is_killed_takes_only_its_own_run_with_it(tmp_path: Path) -> None:
    """Its run is reported as a failure, and what was to come after it too when there is no other lane."""
    task = tasks(("question-about-a-secret",))
    todo = [matrix.Cell(task[0], server_of("kubescript-kubectl"), agent) for agent in ("careful", "hasty", "careful")]
    ended = list(matrix.carry_out(todo, suicide, tmp_path, 1))
    assert [done.file is not None for done in ended] == [True, False, False]
    assert "died with exit code -9" in ended[1].failure
    assert "before its turn" in ended[2].failure
