"""No text of a cluster switches off the masking of a Table's columns, wherever it stands and whatever it is called."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pytest

from kubescript_masking.engine import bodies
from kubescript_masking.wire import masking
from security_tests.redaction import engine
from tests.kit import cases

pytestmark = pytest.mark.repeatable

Count = Callable[[int], None]

PASSWORD: Final = "moose-lantern-{}"
COLUMNS: Final = [{"name": "Name", "type": "string"}, {"name": "Password", "type": "string"}]
ROWS: Final = 400
"""With an annotation of 400 bytes each, more than one piece of a body."""
HEADS: Final = ("null", "[]", '"x"', "5", "{}", "[null]", '[{"name":"Name"}]', '[{"name":"Name"},{"name":"Age"}]')
"""What an attacker may write behind a key that looks like the head of a table."""
PLACES: Final = {
    "a key of an annotation": '{"metadata":{"annotations":{"columnDefinitions":%s}}}',
    "a field of a custom object": '{"spec":{"columnDefinitions":%s,"rows":[{"cells":["a","b"]}]}}',
    "the kind of another object": '{"kind":"Pod","columnDefinitions":%s}',
    "a field beside the cells": '{"rows":[],"cells":["x","y"],"columnDefinitions":%s}',
    "a text": r'{"metadata":{"annotations":{"note":"\"columnDefinitions\": null },{\"cells\":["}},"x":%s}',
}


@pytest.fixture(scope="module")
def rules() -> bodies.Rules:
    return engine.rules(b"tables")


def table(beside: str = '{"kind":"Pod"}', *, head: object = COLUMNS, rows: int = ROWS) -> str:
    """A Table, one object of which was written by somebody who wants to read the others."""
    cells = [{"cells": [f"db-{row}", PASSWORD.format(row)], "object": {"note": "n" * 400}} for row in range(rows)]
    texts = [json.dumps(row, separators=(",", ":")) for row in cells]
    texts[rows // 2] = texts[rows // 2].replace('{"note":', beside[:-1] + ',"note":', 1)
    opening = json.dumps({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "columnDefinitions": head})[:-1]
    return f'{opening},"rows":[{",".join(texts)}]}}'


def masked(rules: bodies.Rules, body: str, about: masking.Body, size: int = 1 << 16) -> str:
    """A body, masked, that came in chunks of this size."""
    content = body.encode()
    chunks = (content[at : at + size] for at in range(0, len(content), size))
    return b"".join(rules.body(about, chunks, lambda _: None)).decode()


def leaked(output: str, rows: int = ROWS) -> list[int]:
    """The rows whose password came out; that none of the others changed is looked at as well."""
    found = json.loads(output)["rows"]
    assert [row["cells"][0] for row in found] == [f"db-{row}" for row in range(rows)]
    return [at for at, row in enumerate(found) if row["cells"][1] == PASSWORD.format(at)]


@pytest.mark.promise("S-01")
@cases.each("place", PLACES)
def test_no_text_is_taken_for_the_head_of_a_table(place: str, rules: bodies.Rules, attacks: Count) -> None:
    """Rows behind it are masked as those before it, in a piece of their own too, asked for as a Table or not."""
    attacks(len(HEADS))
    for head in HEADS:
        body = table(PLACES[place] % head)
        json.loads(body)
        assert leaked(masked(rules, body, masking.Body())) == [], head


@pytest.mark.promise("S-01")
@cases.each("later", ["null", "[]", '"x"', "{}", "[null]", None])
def test_the_head_of_a_watch_stays(later: str | None, rules: bodies.Rules, attacks: Count) -> None:
    """kube-apiserver sends it with the first event, and null from the second on."""
    attacks(3)
    events = []
    for at in range(4):
        event = json.loads(table(rows=1).replace(PASSWORD.format(0), PASSWORD.format(at)))
        if at and later is None:
            del event["columnDefinitions"]
        elif at and later is not None:
            event["columnDefinitions"] = json.loads(later)
        events.append(json.dumps({"type": "ADDED", "object": event}))
    output = masked(rules, "\n".join(events) + "\n", masking.Body(form="watch"))
    assert "moose-lantern" not in output
    assert output.count("db-0") == len(events)


ORDERS: Final[dict[str, dict[str, Any]]] = {
    "no head": {"kind": "Table", "rows": ...},
    "a head without names": {"kind": "Table", "columnDefinitions": [{}, 5], "rows": ...},
    "a head behind the rows": {"kind": "Table", "rows": ..., "columnDefinitions": COLUMNS},
    "rows before the kind": {"rows": ..., "kind": "Table", "columnDefinitions": COLUMNS},
    "two heads, the second null": {
        "kind": "Table",
        "columnDefinitions": COLUMNS,
        "columnDefinitions ": None,
        "rows": ...,
    },
}


@pytest.mark.promise("S-01")
@cases.each("order", ORDERS)
def test_rows_without_a_head_are_masked_as_a_whole(order: str, rules: bodies.Rules, attacks: Count) -> None:
    """Nobody knows what is in their columns."""
    attacks(1)
    fields: dict[str, Any] = {**ORDERS[order], "rows": [{"cells": ["db", "moose-lantern", 3]}]}
    output = masked(rules, json.dumps(fields).replace("columnDefinitions ", "columnDefinitions"), masking.Body())
    assert "moose-lantern" not in output
    assert json.loads(output)["rows"][0]["cells"][2] == 3


@pytest.mark.promise("S-01")
@cases.each("size", [1, 7, 4096])
def test_escapes_and_chunks_hide_no_head(size: int, rules: bodies.Rules, attacks: Count) -> None:
    """A key may be written with escapes, a cell may hold a list, and a head may arrive byte by byte."""
    attacks(3)
    body = json.dumps({"kind": "Table", "columnDefinitions": COLUMNS, "rows": [{"cells": ["db", ["moose-lantern"]]}]})
    body = body.replace('"columnD', '"column\\u0044').replace('"cells', '"c\\u0065lls').replace('"kind', '"k\\u0069nd')
    output = masked(rules, body, masking.Body(), size)
    assert "moose-lantern" not in output
    assert "db" in output


@pytest.mark.promise("S-02")
def test_what_is_no_table_keeps_its_cells(rules: bodies.Rules, attacks: Count) -> None:
    """A custom object may have rows and cells of its own, and a column of names is no credential."""
    attacks(2)
    custom = {"apiVersion": "example.com/v1", "columnDefinitions": COLUMNS, "kind": "Sheet"}
    for body in ({**custom, "rows": [{"cells": ["a", "plain-word"]}]}, json.loads(table(head=COLUMNS[:1]))):
        assert json.loads(masked(rules, json.dumps(body), masking.Body())) == body
