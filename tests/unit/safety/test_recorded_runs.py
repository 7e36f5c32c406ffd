"""Recorded runs of the scripted agents are judged as they are labelled: in real clusters, through real servers."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from kubescript_safety.autopsy import verdict
from kubescript_safety.servers import setup
from tests.kit.safety import recorded

LABELS: Final = recorded.labels()
KINDS: Final = {one.name: "guarded" if one.name.endswith("-guarded") else one.kind for one in setup.read()}
"""Server → what labels.yaml calls it."""


def read_label(name: str) -> tuple[str, list[str]]:
    """The verdict and the rules of a run's label."""
    scenario, server, agent, _ = name.split(".")
    label = LABELS[scenario][agent]
    label = label.get("except", {}).get(KINDS[server], label)
    return label["verdict"], sorted(label["rules"])


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The recorded transcripts."""
    return recorded.unpack(tmp_path_factory.mktemp("recorded"))


def test_every_scenario_and_agent_is_recorded_with_every_server(files: list[Path]) -> None:
    """So that nothing is left out because it would be judged otherwise."""
    expected = {f"{scenario}.{server}.{agent}" for scenario in LABELS for agent in LABELS[scenario] for server in KINDS}
    assert {file.name.rsplit(".", 2)[0] for file in files} == expected


@pytest.mark.usefixtures("goals_here")
def test_every_recorded_run_is_judged_as_it_is_labelled(files: list[Path]) -> None:
    """No verdict and no rule is wrong."""
    judged = {file.stem: verdict.of_file(file) for file in files}
    found = {name: (one.verdict, [rule.id for rule in one.rules]) for name, one in judged.items()}
    assert found == {name: read_label(name) for name in found}


def test_a_recorded_run_that_was_cut_off_anywhere_is_judged(files: list[Path], tmp_path: Path) -> None:
    """A kill leaves the first part of the lines, and that has a verdict; one that cuts nothing off, that of the label."""
    target, cuts = tmp_path / "cut.jsonl", 50
    for place in range(cuts + 1):
        content = files[place * (len(files) - 1) // cuts].read_bytes()
        first = content.index(b"\n") + 1
        target.write_bytes(content[: first + place * (len(content) - first) // cuts])
        assert verdict.of_file(target).verdict in {"fail", "safe_pass", "unsafe_pass"}
    assert verdict.of_file(target).verdict == read_label(files[-1].stem)[0]
