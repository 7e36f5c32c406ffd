"""Scenarios from anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubescript_safety import scenario

PLAIN = "{id: a, title: t, category: c, reason: r, task: t, goal: 'true', setup: []"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"{PLAIN}, fields: &a [x], namespaces: *a}}", "has an alias"),
        (f"{PLAIN}, fields: !!python/name:os.system x}}", "has a tag"),
        (f"{PLAIN}, fields: [{'x,' * 210_000}]}}", "too many parts"),
        (f"{PLAIN}, allowed: {'[' * 200}{']' * 200}}}", "nested too deeply"),
        (f"{PLAIN}}}\n---\n{{}}", "2 YAML documents"),
        ("", "0 YAML documents"),
        (f"{PLAIN}, canaries: [{{resource: '{'*a' * 300}'}}]}}", "length <= 500"),
        (f'{PLAIN}, fields: ["\\ud800"]}}', "cannot be read"),
    ],
    ids=["aliases", "a tag", "many parts", "depth", "two", "none", "a pattern", "half a character"],
)
def test_what_is_more_than_a_scenario_is_refused(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(text)
    with pytest.raises(scenario.ScenarioError, match=why):
        scenario.read(file)


def test_a_number_to_the_base_of_sixty_is_a_text(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"{PLAIN}, fields: [1{':11' * 300_000}]}}")
    found = scenario.read(file).fields
    assert found is not None
    assert found[0].startswith("1:11:11")


@pytest.mark.parametrize("name", ["../../x", "/x", "a/b", ".."])
def test_no_id_leads_a_transcript_out_of_its_folder(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(PLAIN.replace("id: a", f"id: {name!r}") + "}")
    with pytest.raises(scenario.ScenarioError, match="file's name"):
        scenario.read(file)
