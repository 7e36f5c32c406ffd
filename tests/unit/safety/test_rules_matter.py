"""Every rule is needed by some labelled transcript, and nothing but what was done counts: not the clock, not the order
of records, not the names that somebody chose."""

from __future__ import annotations

import functools
import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubescript.changes.rules.conduct import configuration
from kubescript_safety import transcript
from kubescript_safety.autopsy import facts, ground, seed, settings, verdict
from kubescript_safety.autopsy.rules import live, toolcalls
from tests.kit.safety import labelled_calls, labelled_runs
from tests.kit.safety.transcripts import START

pytestmark = pytest.mark.usefixtures("goals_here")

OUTSIDER = [json.loads(file.read_text("utf-8")) for file in sorted((Path(__file__).parent / "outsider").glob("*.json"))]
SEEDS: list[tuple[dict[str, Any], list[str]]] = [
    *((one, sorted(one.get("judgement", one["label"])["rules"])) for one in OUTSIDER),
    *((labelled_calls.transcript_of(case), case.get("found", [])) for case in labelled_calls.CASES),
]
"""Transcripts of the seed's shape, and the rules that each breaks."""
RUNS = [(labelled_runs.build_run(given, more), rules) for _, rules, given, more in labelled_runs.CASES]
"""The records of runs, likewise."""
SPACES = ("shop", "payments", "search", "batch", "orders", "notify", "staging")
RULES = [rule.id for rule in settings.BUILT_IN]


def without(rule: str, given: dict[str, Any]) -> dict[str, Any]:
    """The transcript with one rule switched off."""
    config = given.get("config") or {}
    kept = [one for one in config.get("safetyRules", []) if one["id"] != rule]
    return given | {"config": config | {"safetyRules": [*kept, {"id": rule, "enabled": False}]}}


def of_seed(given: dict[str, Any]) -> list[str]:
    """The rules that a transcript of the seed's shape breaks."""
    return [rule.id for rule in verdict.of_seed(given).rules]


def judge_run(records: list[transcript.Record]) -> list[str]:
    """The rules that a run breaks."""
    return [rule.id for rule in verdict.judge(transcript.collect(records)).rules]


@functools.cache
def read_known_runs() -> list[tuple[facts.Facts, verdict.Checks, list[str]]]:
    """What is known of every run and every transcript, what it is held against, and the rules that it breaks."""
    runs = [(ground.read(transcript.collect(one), settings.Settings()), live.CHECKS, rules) for one, rules in RUNS]
    return [*runs, *((seed.read(one), toolcalls.CHECKS, rules) for one, rules in SEEDS)]


def find_broken_without(rule: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yields for each of them the rules that are found when this one is switched off, and those that it breaks."""
    off = {rule: configuration.Rule(rule, "warning", enabled=False)}
    for one, checks, expected in read_known_runs():
        chosen = replace(one.settings, rules={**one.settings.rules, **off})
        judged = verdict._verdict(replace(one, settings=chosen), checks)
        yield [found.id for found in judged.rules], expected


@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_some_label_is_wrong(rule: str) -> None:
    """A rule that could be left out would be one that nothing tests."""
    wrong = [found != expected for found, expected in find_broken_without(rule)]
    assert any(wrong)
    seeds = [given for given, is_wrong in zip(SEEDS, wrong[len(RUNS) :], strict=True) if is_wrong]
    for given, expected in seeds[:1]:
        assert of_seed(without(rule, given)) != expected, "its own configuration switches it off as well"


def move(record: transcript.Record, scale: float, offset: float) -> transcript.Record:
    """The record on another clock."""
    times = {name: getattr(record, name, None) for name in ("at", "ended")}
    later = {name: (value - START) * scale + offset for name, value in times.items() if value is not None}
    return msgspec.structs.replace(record, **later)


@pytest.mark.parametrize(("scale", "offset"), [(1, 0), (1, START - 7.5), (0.01, START), (3, START + 86_400.25)])
def test_the_clock_means_nothing(scale: float, offset: float) -> None:
    """Every run has the same rules when it begins at another time, and when it goes faster or slower."""
    for records, expected in RUNS:
        assert judge_run([move(one, scale, offset) for one in records]) == expected


def test_the_order_of_lines_means_nothing() -> None:
    """Every run has the same bytes, whichever record was written first; so has every state of a cluster, and config."""
    for number, (records, _) in enumerate(RUNS):
        mixed = records[:]
        random.Random(number).shuffle(mixed)
        judged = [verdict.as_json(verdict.judge(transcript.collect(one))) for one in (records, mixed)]
        assert judged[0] == judged[1]
    for number, (given, expected) in enumerate(SEEDS):
        resources = list(given["clusterState"]["resources"])
        random.Random(number).shuffle(resources)
        assert of_seed(given | {"clusterState": {"resources": resources}}) == expected


def rename(text: str) -> str:
    """The text with other namespaces."""
    for number, name in enumerate(SPACES):
        text = re.sub(rf"(?<![\w.-])(-n)?{name}(?![\w-])", rf"\g<1>place-{number}", text)
    return text


def test_names_of_namespaces_mean_nothing() -> None:
    """Every transcript breaks the same rules when its namespaces have other names everywhere."""
    for records, expected in RUNS:
        text = rename(msgspec.json.encode(records).decode()).replace('"agent-1"', '"robot"')
        assert judge_run(msgspec.json.decode(text, type=list[transcript.Record])) == expected
    for given, expected in SEEDS:
        assert of_seed(json.loads(rename(json.dumps(given)))) == expected
