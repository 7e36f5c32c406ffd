"""Each row of the rules finds what its example says and leaves its counter-example, by itself and in logs and objects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from kubescript import redaction
from kubescript_masking.engine import scanner
from kubescript_masking.rules import patterns
from kubescript_masking.text import linear
from security_tests.redaction import engine, floods
from security_tests.redaction.sheet import Document
from tests.kit import cases

Count = Callable[[int], None]

PLACEHOLDER = re.compile("«redacted:[^»]*»")
MARKED = re.compile("«([^»]*)»")


def bare(example: str) -> str:
    return MARKED.sub(r"\1", example)


@pytest.fixture(scope="module")
def masking() -> redaction.Engine:
    engine = redaction.Engine(redaction.Settings(), b"a key")
    engine.prepare()
    return engine


@pytest.mark.promise("S-01")
@cases.each("name", patterns.ROWS)
def test_a_row_masks_its_example(name: str, masking: redaction.Engine, attacks: Count) -> None:
    """What stands in «» goes, everything else stays, alone in a text and between other lines."""
    attacks(1)
    example = patterns.ROWS[name].example
    assert MARKED.search(example), "the example marks nothing"
    for text in (example, f"first line\n{example}\nlast line"):
        masked = masking.text(bare(text), lambda _: None)
        assert PLACEHOLDER.sub("«»", masked) == MARKED.sub("«»", text)


STAMP: Final = "2026-01-31T12:00:00.000000000Z "
"""What stands before each line of every log; rows that look for a line's beginning did not find it behind one."""
COMMANDS: Final = (
    "mysqldump -uroot -p«hunter2-x9» shop",
    'curl -T /tmp/all.enc -u "backup:«hunter2-x9»" https://dav.example.com/',
    "ldapsearch -D cn=admin -w «hunter2-x9» -b dc=example",
    "--db-password «hunter2-x9»",
)
"""In JSON an escape stands before them, whose letter was taken for the beginning of another word."""


def in_string(text: str) -> Document:
    """As an API server writes it: letters beyond ASCII are no escapes."""
    body = json.dumps({"kind": "ConfigMap", "data": {"text": text}}, ensure_ascii=False)
    return replace(floods.in_configmap(""), body=body.encode())


def left(values: list[str], output: bytes) -> list[str]:
    return [value for value in values if value.encode() in output]


@pytest.mark.promise("S-01")
@cases.each("example", [*(row.example for row in patterns.ROWS.values()), *COMMANDS])
def test_an_example_is_masked_wherever_it_stands(example: str, masking: redaction.Engine, attacks: Count) -> None:
    """Alone in a string of JSON, between other lines of one, and in a line of a log."""
    values = MARKED.findall(example)
    text = bare(example)
    documents = [in_string(each) for each in (text, f"first line\n{text}\nlast line")]
    if example in COMMANDS:
        documents += [in_string(f"#!/bin/sh\n\t{text}\n")]
    if "\n" not in text:
        documents += [floods.log(f"{STAMP}first line\n{STAMP}{text}\n")]
    for document in documents:
        attacks(1)
        assert left(values, document.body) == [value for value in values if "\n" not in value and '"' not in value]
        assert not left(values, engine.masked(masking, document))


@pytest.mark.promise("S-01")
@cases.each("name", patterns.ROWS)
def test_a_row_finds_its_example_by_itself(name: str, attacks: Count) -> None:
    """Its own probes lead to it, and its own pattern and judge say what is secret."""
    attacks(1)
    row = patterns.ROWS[name]
    text = bare(row.example).encode()
    hits = scanner.Scanner(row.probes).scan(text)
    assert hits
    found, done = [], 0
    for _, end in hits:
        spans, done = row.spans(text, end, done)
        found += [text[span.start : span.end].decode() for span in spans]
    assert found == MARKED.findall(row.example)


@pytest.mark.promise("S-01")
@cases.each("name", patterns.ROWS)
def test_a_row_leaves_its_counter_example(name: str, masking: redaction.Engine) -> None:
    """It stays as it is."""
    counter = patterns.ROWS[name].counter
    assert masking.text(counter, lambda _: None) == counter


@pytest.mark.promise("S-07")
@cases.each("name", patterns.ROWS)
def test_a_row_has_its_id_to_itself(name: str) -> None:
    """No other probe has its id: each hit of one would call the other's reader, and a list be read again for each member."""
    assert tuple(probe for probe in patterns.PROBES if probe.id == name) == patterns.ROWS[name].probes


@pytest.mark.promise("S-07")
def test_the_engine_of_the_rows_is_linear() -> None:
    """What backtracks is refused: a look around, a back reference."""
    for pattern in (rb"(?=a)b", rb"(?<!a)b", rb"(a)\1", rb"a++"):
        with pytest.raises(linear.PatternError):
            linear.build(pattern)
