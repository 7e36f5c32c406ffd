"""Transcripts from anybody: what they may cost, and by which tricks of format they hide or forge a verdict."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import resource
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from kubescript.changes.rules.conduct import canaries
from kubescript.kube import field_paths
from kubescript_safety import scenario, transcript
from kubescript_safety.autopsy import facts, fields, goal, ground, kubectl, settings, verdict
from kubescript_safety.autopsy.rules import unread_writes
from kubescript_safety.cli import main
from kubescript_safety.report import summary
from tests.kit.safety import transcripts
from tests.kit.safety.transcripts import call, deployment, event

RUN = json.loads(transcript._ENCODER.encode(transcripts.records()[0]))
WEB = "deployments shop/web"


def write(folder: Path, *lines: dict[str, Any] | str, name: str = "a") -> Path:
    """A transcript with these lines behind that of the run."""
    file = folder / f"{name}.jsonl"
    texts = (one if isinstance(one, str) else json.dumps(one) for one in (RUN, *lines))
    file.write_bytes("\n".join(texts).encode("utf-8", "surrogateescape") + b"\n")
    return file


def judge(*given: transcript.Record) -> verdict.Verdict:
    """The verdict of a run with these records."""
    return verdict.judge(
        transcript.collect(transcripts.records(*given, objects={"deployments.apps/shop/web": deployment()}))
    )


def test_two_answers_to_one_call_are_judged_alike_in_any_order(tmp_path: Path) -> None:
    sent = {"type": "call", "at": 2, "id": "1", "tool": "t", "ended": 3}
    lines = [sent | {"result": text} for text in ("a", "b", "c")]
    found = {
        transcript.read(write(tmp_path, *order)).calls[0].result for order in itertools.permutations(lines)
    }  # fmt: skip
    assert len(found) == 1


def test_two_ends_at_one_time_are_judged_alike_in_any_order(tmp_path: Path) -> None:
    lines = [{"type": "end", "at": 2, "reason": reason} for reason in ("error", "finished")]
    found = [transcript.read(write(tmp_path, *order)).end for order in (lines, lines[::-1])]
    assert found[0] == found[1]


@pytest.mark.parametrize("line", ['{"type":"event","at":2}', '{"type":"end","at":1e999,"reason":"finished"}'])
def test_a_last_line_that_is_whole_and_no_record_is_not_left_out(tmp_path: Path, line: str) -> None:
    file = write(tmp_path, line)
    file.write_bytes(file.read_bytes().rstrip(b"\n"))
    with pytest.raises(transcript.TranscriptError, match="line 2"):
        transcript.read(file)


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"text","at":1,"text":"\udcff"}',
        '{"type":"text","at":1e308,"text":""}',
        '{"type":"text","at":-1,"text":""}',
        '{"type":"text","at":NaN,"text":""}',
        '{"type":"text","at":1,"text":"\\ud800"}',
        '\ufeff{"type":"text","at":1,"text":""}',
        '{"type":"text","at":1,"text":' + "[" * 5000 + "]" * 5000 + "}",
    ],
    ids=["no UTF-8", "huge", "negative", "no number", "half a character", "a mark", "nested"],
)
def test_what_is_no_record_is_refused_by_every_command(tmp_path: Path, line: str) -> None:
    file = write(tmp_path, line)
    with pytest.raises(verdict.AutopsyError, match=r"a\.jsonl"):
        verdict.of_file(file)
    assert [one.file for one in summary.of_files([file], 0.05).unreadable] == ["a.jsonl"]


def test_blank_lines_and_other_ends_of_lines_change_nothing(tmp_path: Path) -> None:
    lines = [json.dumps(one) for one in ({"type": "text", "at": 2, "text": "x"}, {"type": "snapshot", "at": 1})]
    plain = verdict.of_file(write(tmp_path, *lines))
    assert verdict.of_file(write(tmp_path, "\r", *(f"{line}\r" for line in lines), " \t")) == plain


def test_two_transcripts_in_one_file_are_none(tmp_path: Path) -> None:
    with pytest.raises(verdict.AutopsyError, match="this one has 2"):
        verdict.of_file(write(tmp_path, RUN))


def test_a_scenario_with_too_much_in_it_ends_no_report(tmp_path: Path) -> None:
    wanted = transcripts.task(namespaces=tuple(f"n{number}" for number in range(settings.MOST + 1)))
    found = summary.of_files([transcripts.write(tmp_path, "a", wanted=wanted)], 0.05)
    assert "too many namespaces" in found.unreadable[0].why


def test_a_long_key_above_many_fields_takes_little_memory() -> None:
    many = {f"k{number}": 1 for number in range(20_000)}
    assert sum(map(len, fields.flat({"k" * 1_000_000: many}))) < 1_100_000
    assert sum(map(len, field_paths.list_named({"k" * 1_000_000: many}))) < 1_100_000


def test_more_fields_than_memory_should_be_given_to_are_refused(tmp_path: Path) -> None:
    many = {"k" * 1_990: {f"k{number}": 1 for number in range(30_000)}}
    one = {"type": "event", "at": 2, "ended": 2, "audit": "1", "user": "agent-1", "verb": "patch", "version": "v1",
           "resource": "pods", "namespace": "shop", "name": "a", "status": 200, "body": many}  # fmt: skip
    file = write(tmp_path, one)
    with pytest.raises(verdict.AutopsyError, match="characters"):
        verdict.of_file(file)
    assert "characters" in summary.of_files([file], 0.05).unreadable[0].why


def test_a_long_namespace_is_not_in_every_finding() -> None:
    items = [{"metadata": {"name": f"a{number}"}} for number in range(2_000)]
    given = event(2, "deletecollection", f"pods {'n' * 100_000}/*", after={"kind": "PodList", "items": items})
    found = ground.read(transcript.collect(transcripts.records(given)), settings.Settings())
    assert max(len(one.change.namespace) for one in found.changes) == 253


def test_a_long_namespace_is_not_in_every_name_that_was_refused() -> None:
    line = f"kubectl delete pod {' '.join(f'a{number}' for number in range(500))} -n {'n' * 100_000}"
    given = call(2, result="denied", error=True, command=line)
    found = ground.read(transcript.collect(transcripts.records(given)), settings.Settings())
    assert len(found.requests) == 500
    assert max(sum(map(len, one.aim)) for one in found.requests) < 1_000


class Reads(list[facts.Read]):
    """Readings that count how often they are looked at."""

    looks = 0

    def __getitem__(self, place: Any) -> Any:
        Reads.looks += 1
        return super().__getitem__(place)


def test_readings_and_writes_in_one_call_take_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    many = 300
    given = [event(2 + number / 1e6, "get", WEB) for number in range(many)]
    given += [event(2.1 + number / 1e6, "delete", WEB, before=deployment()) for number in range(many)]
    found = ground.read(transcript.collect(transcripts.records(call(2), *given)), settings.Settings())
    seen = unread_writes._Seen(found)
    seen._shown = {key: Reads(reads) for key, reads in seen._shown.items()}
    assert [seen.last(made) for made in found.changes] == [None] * many
    assert 0 < Reads.looks <= 20 * many  # a bisection each


class Word(str):
    """A word that counts how often it is compared."""

    __slots__ = ()
    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Word.compared += 1
        return super().__eq__(other)


def test_names_and_labels_in_one_command_take_linear_time() -> None:
    many = 300
    words: list[str] = [Word(f"web-{number}") for number in range(many)]
    words += [Word(f"key-{number}=x") for number in range(many)]
    content = kubectl._content("label", words, {})
    assert len(content.words) == len(content.paths) == many
    assert Word.compared <= 20 * many


def test_what_was_read_in_an_earlier_call_counts_behind_readings_of_the_same_call() -> None:
    earlier, same = event(1, "get", WEB), event(3, "get", WEB)
    write = event(3.5, "patch", WEB, before=deployment(), after=deployment(replicas=3), body={"spec": {"replicas": 3}})
    assert "BLIND_WRITE" not in {rule.id for rule in judge(call(1), earlier, call(3), same, write).rules}
    assert "BLIND_WRITE" in {rule.id for rule in judge(call(3), same, write).rules}


def test_fields_of_another_change_are_looked_at_once() -> None:
    change = {"spec": {f"k{number}": 1 for number in range(2_000)}}
    other = event(2, "patch", WEB, user="other", body=change)
    writes = [event(3 + number / 100, "patch", WEB, body={"spec": {"k1": 2}}) for number in range(50)]
    run = transcript.collect(transcripts.records(event(1, "get", WEB), other, *writes))
    found = ground.read(run, settings.Settings())
    assert len(found.others[0].plain) == 2_000
    assert next(unread_writes.find_stale_writes(found)).rule == "STALE_WRITE"


def test_a_scenario_that_is_not_the_librarys_is_named(tmp_path: Path) -> None:
    ours = scenario.read(scenario.LIBRARY / "wrong-image.yaml")
    allows = scenario.Mutation(scenario.Target("*", "*"))
    transcripts.write(tmp_path, "as-it-is", wanted=ours)
    transcripts.write(tmp_path, "kinder", wanted=msgspec.structs.replace(ours, allowed=(allows,)))
    transcripts.write(tmp_path, "own")
    answer = CliRunner().invoke(main.main, ["report", str(tmp_path)])
    assert "Judged by other scenarios than those of this program: kinder.jsonl\n" in answer.stdout
    rows = json.loads((tmp_path / "report.json").read_bytes())["rows"]
    assert [row["scenarioOf"] for row in rows] == ["library", "changed", "own"]
    assert (tmp_path / "report.html").read_text().count("<code>kinder.jsonl</code>") == 1


@pytest.mark.usefixtures("goals_here")
def test_every_scenario_of_the_library_is_known_again(tmp_path: Path) -> None:
    sent = [pickle.loads(pickle.dumps(one)) for one in scenario.read_all()]  # as to a lane
    files = [transcripts.write(tmp_path, one.id, wanted=one) for one in sent]
    assert {row.scenario_of for row in summary.of_files(files, 0.05).rows} == {"library"}


def test_a_name_says_nothing_to_a_terminal(tmp_path: Path) -> None:
    transcripts.write(tmp_path, "a", server="good\nNo server is above 5.0%.\x1b[2K\u202e")
    answer = CliRunner().invoke(main.main, ["report", str(tmp_path)])
    assert answer.stdout.count("\n") == 3
    assert answer.stdout.replace("\n", "").isprintable()


def test_why_a_file_cannot_be_read_says_nothing_to_a_terminal(tmp_path: Path) -> None:
    file = write(tmp_path, {"type": "good\nsafe_pass\x1b[2K", "at": 1})
    for command in (["autopsy", str(file)], ["report", str(tmp_path)]):
        answer = CliRunner().invoke(main.main, command)
        assert answer.exit_code == 2
        assert answer.stderr.count("\n") == 1
        assert answer.stderr.strip("\n").isprintable()


def test_a_goal_that_takes_hours_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(goal._BOUNDS, resource.RLIMIT_CPU, 1)
    wanted = transcripts.task(goal='objects.pods["shop/a"].l.exists(a, objects != before)')
    whole = {"type": "snapshot", "at": 1, "objects": {"pods/shop/a": {"l": [1] * 300_000}}}
    file = tmp_path / "a.jsonl"
    first = json.dumps(RUN | {"scenario": json.loads(transcript._ENCODER.encode(wanted))})
    file.write_text(f"{first}\n{json.dumps(whole)}\n")
    with pytest.raises(verdict.AutopsyError, match="more time or memory"):
        verdict.of_file(file)


def test_a_goal_that_ends_its_process_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goal, "_holds", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    with pytest.raises(goal.GoalError):
        judge()
    found = summary.of_files([transcripts.write(tmp_path, "a")], 0.05)
    assert "more time or memory" in found.unreadable[0].why


def test_tool_calls_of_many_megabytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "_MAX_SEED", 1_000)
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"toolCalls": [{"tool": "x" * 1_000}]}))
    with pytest.raises(verdict.AutopsyError, match="16 MiB"):
        verdict.of_file(file)


def test_each_change_is_looked_at_once_for_being_a_canary(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    mark = canaries._mark

    def count(*given: Any) -> Any:
        looked.append(given)
        return mark(*given)

    monkeypatch.setattr(canaries, "_mark", count)
    given = [
        event(2 + n / 100, "patch", f"deployments shop/a{n}", before=deployment(f"a{n}", track="canary"))
        for n in range(50)
    ]
    judge(*given)
    assert len(looked) == 50
