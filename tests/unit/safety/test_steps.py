"""Steps of scripted agents: a refusal ends the work unless a step says otherwise, and what a cluster holds is no step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kubescript_safety.agents import steps
from kubescript_safety.agents.hands import base

CALLS = ("get", "list", "patch", "delete", "create", "scale")


class Recorder(base.Base):
    """Hands that record their calls and refuse some of them."""

    def __init__(self, refuses: dict[str, str], held: dict[str, Any]) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self._refuses, self._held = refuses, held

    def __getattribute__(self, name: str) -> Any:
        if name not in {*CALLS, "answer"}:
            return super().__getattribute__(name)

        def record(*arguments: Any) -> Any:
            self.calls.append((name, *arguments))
            if name in self._refuses:
                raise base.Refused(self._refuses[name])
            return [self._held] if name == "list" else self._held

        return record


@pytest.fixture
def perform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Carries out one agent's steps, and returns the calls."""
    monkeypatch.setattr(steps, "_SCRIPTS", tmp_path)
    monkeypatch.setattr(steps, "_PAUSE_S", 0)

    def run(written: str, refuses: dict[str, str] | None = None, held: dict[str, Any] | None = None) -> Any:
        others = "".join(f"{name}: []\n" for name in steps.NAMES[1:])
        (tmp_path / "task.yaml").write_text(f"values: {{body: {{n: 3}}}}\n{others}careful:\n{written}")
        hands = Recorder(refuses or {}, held or {"metadata": {"name": "web-1", "uid": "u"}, "status": {}})
        steps.perform("task", "careful", hands)
        return hands.calls

    return run


def test_arguments_are_words_numbers_and_values(perform: Any) -> None:
    written = "- get nodes - web\n- patch pods shop web ${body}\n- {call: scale d shop web 3, with: ['${body/n}', a]}\n"
    assert perform(written) == [
        ("get", "nodes", "", "web"), ("patch", "pods", "shop", "web", {"n": 3}), ("scale", "d", "shop", "web", 3, [3, "a"]),
    ]  # fmt: skip


def test_a_refusal_ends_the_work_with_an_answer(perform: Any) -> None:
    calls = perform("- scale d shop web 3\n- answer Done.\n", {"scale": "no " + "x" * 600})
    assert calls[1:] == [("answer", ("I could not do it: no " + "x" * 600)[:500])]


def test_steps_in_place_of_a_refusal_know_which_it_was(perform: Any) -> None:
    """Also behind another one that is within; the steps of `do` are for the other case."""
    written = (
        "- call: scale d shop web 3\n  do: [answer scaled]\n  refused:\n  - {call: delete d shop web, refused: []}\n"
        "  - explain ceiling the rule is there\n- answer end\n"
    )
    refuses = {"scale": "the ceiling", "delete": "other"}
    assert [call[-1] for call in perform(written, refuses)][-2:] == ["the rule is there", "end"]
    refuses = {"scale": "other", "delete": "the ceiling"}
    assert [call[-1] for call in perform(written, refuses)][-2:] == ["I could not do it: other", "end"]
    assert [call[-1] for call in perform(written)][-2:] == ["scaled", "end"]


@pytest.mark.parametrize(("text", "tries"), [("429", 4), ("declined by alice", 1)])
def test_a_busy_server_is_asked_again_and_a_person_is_not(text: str, tries: int, perform: Any) -> None:
    calls = perform("- {call: scale d shop web 3, again: true}\n", {"scale": text})
    assert [call[0] for call in calls] == ["scale"] * tries + ["answer"]


def test_steps_for_each_object_take_those_whose_name_begins_so(perform: Any) -> None:
    for pattern, taken in (("web-", 1), ("eb-", 0), ("web-(?!1)", 0), ("web- 0", 0)):
        calls = perform(f"- {{call: each pods shop {pattern}, do: ['delete pods shop ${{one/metadata/name}}']}}\n")
        assert calls[1:] == [("delete", "pods", "shop", "web-1")] * taken, pattern


def test_an_object_is_written_back_as_a_file_would_hold_it(perform: Any) -> None:
    written = "- {call: get pods shop web, as: found}\n- change found spec/a/b ${body}\n- 'create ${found}'\n"
    assert perform(written)[-1] == ("create", {"metadata": {"name": "web-1"}, "spec": {"a": {"b": {"n": 3}}}})


def test_what_the_cluster_holds_is_not_filled(perform: Any) -> None:
    """Attack: a label that names a value of the file, or a step."""
    held = {"metadata": {"name": "${body/n}"}}
    written = "- {call: get pods shop web, as: found}\n- 'answer ${found/metadata/name} and ${body/n}'\n"
    assert perform(written, held=held)[-1] == ("answer", "${body/n} and 3")


def test_only_scenarios_of_the_library_have_agents() -> None:
    assert steps.knows("bad-probe")
    assert not any(map(steps.knows, ("", "bad_probe", "../scripts/bad-probe", "/bad-probe", "bad-probe.yaml")))
