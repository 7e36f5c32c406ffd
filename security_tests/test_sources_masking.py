"""Answers of sources of metrics, as a masker reads them: what their labels, samples and messages hide is masked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from kubescript import config, errors, redaction
from kubescript_masking.wire import masking as wire
from security_tests.redaction.sources import LABELS, NUMBERS, SECRET, Door, answer, series
from tests.kit import cases, extent

pytestmark = pytest.mark.repeatable

Count = Callable[[int], None]


@pytest.fixture(scope="module")
def masking() -> Iterator[redaction.Engine]:
    engine = redaction.Engine(config.Redaction(), b"a key")
    yield engine
    engine.close()


@pytest.mark.promise("S-14", "S-04")
@pytest.mark.parametrize("packed", [False, True])
def test_ordinary_series_pass_byte_for_byte(packed: bool, masking: redaction.Engine, attacks: Count) -> None:
    """An answer without a secret is what the source sent, however many pieces it is masked in, and its series are
    counted."""
    attacks(2)
    vector = answer(series(samples='"value":[1732730000.123,"1"]'), kind="vector", beside=',"warnings":["slow"]')
    for body, number in ((answer(*[series()] * 1_201), 1_201), (vector, 1)):
        door = Door(masking, "series", body, packed=packed)
        assert (door.text.decode(), door.trailer, door.found) == (body, wire.Trailer(items=number), Counter())


HISTOGRAM: Final = (
    f'"histogram":[1732730000,{{"count":"2","sum":"3","password":"{SECRET}","buckets":[[0,"1","2","1"]]}}]'
)
HIDDEN: Final[dict[str, str]] = {
    "a label": answer(series(LABELS)),
    "a label, among others": answer(*[series()] * 700, series(LABELS), *[series()] * 700),
    "a label's text": answer(series(f'{{"__name__":"up","dsn":"postgres://app:{SECRET}@db/x"}}')),
    "a label far from its name": answer(
        series(f'{{"name":"DB_PASSWORD","namespace":"{"shop" * 200}","value":"{SECRET}"}}')
    ),
    "a rule": f'{{"status":"success","data":{{"groups":[{{"rules":[{{"query":"up{{password=~\\"{SECRET}|.+\\"}} > 0"}}]}}]}}}}',
    "another rule": f'{{"status":"success","data":{{"groups":[{{"rules":[{{"query":"up{{api_key!~`{SECRET}`}}"}}]}}]}}}}',
    "an escaped name": answer(series(f'{{"db_p\\u0061ssword":"{SECRET}"}}')),
    "a warning": answer(series(), beside=f',"warnings":["bad query: password={SECRET}"]'),
    "statistics": answer(series(), more=f',"stats":{{"password":"{SECRET}"}}'),
    "a histogram": answer(series(samples=HISTOGRAM)),
    "a sample": answer(series(samples=f'"value":[1732730000,"password={SECRET}"]'), kind="vector"),
    "samples": answer(series(samples=f'"values":[[1732730000,"1"],[1732730060,"password={SECRET}"]]')),
    "samples that are an object": answer(series(samples=f'"values":{{"password":"{SECRET}"}}')),
    "two results": f'{{"status":"success","data":{{"resultType":"vector","result":[{series(LABELS)}],"result":[]}}}}',
    "a field of no name": answer(series(samples=f'"values":{NUMBERS},"password":"{SECRET}"')),
    "a field of no name beside the data": answer(series(), beside=f',"password":"{SECRET}"'),
    "a frame in a warning": answer(beside=f',"warnings":["\\"result\\":[ password={SECRET}"]'),
    "a scalar": f'{{"status":"success","data":{{"resultType":"string","result":[1,"password={SECRET}"]}}}}',
    "a list of labels": f'{{"status":"success","data":[{LABELS}]}}',
    "no object": f'["password={SECRET}"]',
    "an error": f'{{"status":"error","error":"password={SECRET}"}}',
}
"""Where the answer of a hostile source, or of one whose labels a pod wrote, may hold a secret."""


@pytest.mark.promise("S-14")
@cases.each("place", HIDDEN)
def test_no_secret_of_an_answer_passes(place: str, masking: redaction.Engine, attacks: Count) -> None:
    """A secret in a label, a message, a histogram or an unknown shape is masked or left out, and the answer stays JSON;
    the next one passes as ever."""
    attacks(1)
    door = Door(masking, "series", HIDDEN[place])
    assert SECRET not in door.text.decode() and door.json is not None
    assert Door(masking, "series", answer(series())).text.decode() == answer(series())


@pytest.mark.promise("S-14", "S-05")
def test_samples_keep_their_series_when_labels_are_masked(masking: redaction.Engine, attacks: Count) -> None:
    """Each series has its own numbers, beside labels that are masked."""
    attacks(1)
    labels = [f'{{"pod":"p{at}","token":"{SECRET}{at}"}}' for at in range(1_100)]
    body = answer(*(series(one, f'"values":[[{at},"{at}"]]') for at, one in enumerate(labels)))
    door = Door(masking, "series", body)
    pairs = [(one["metric"]["pod"], one["values"]) for one in door.json["data"]["result"]]
    assert pairs == [(f"p{at}", [[at, str(at)]]) for at in range(1_100)]
    assert SECRET not in door.text.decode() and door.found.total() == 1_100


@pytest.mark.promise("S-14")
def test_values_of_a_label_that_only_holds_are_masked(masking: redaction.Engine, attacks: Count) -> None:
    """A matcher can select the values of `value` beside one name, so all of them are masked; those of other labels
    pass."""
    attacks(1)
    values = json.dumps({"status": "success", "data": [SECRET, "web-7c5ddbdf54-x2x9k"]})
    assert SECRET not in Door(masking, "json", values, label="value").text.decode()
    assert Door(masking, "json", values.replace(SECRET, "web-1"), label="pod").found == Counter()


def attribute(name: str, value: object, kind: str = "stringValue") -> dict[str, object]:
    """An attribute as OTLP writes it."""
    return {"key": name, "value": {kind: value}}


def listed(*texts: str) -> dict[str, object]:
    """The content of a list of texts."""
    return {"values": [{"stringValue": text} for text in texts]}


ATTRIBUTES: Final = {
    "a password": attribute("db.password", SECRET),
    "a number": attribute("password", "48291734", "intValue"),
    "bytes": attribute("password", "VHIwdWI0ZG9yLWFuZC0zeA==", "bytesValue"),
    "a list": attribute("db.password", listed(SECRET), "arrayValue"),
    "a map": attribute("settings", {"values": [attribute("password", SECRET)]}, "kvlistValue"),
    "a map in a list": attribute(
        "y", {"values": [{"kvlistValue": {"values": [attribute("password", SECRET)]}}]}, "arrayValue"
    ),
    "a captured header": attribute("http.request.header.authorization", listed(SECRET), "arrayValue"),
    "a command": attribute("process.command_args", listed("mysql", "--password", SECRET), "arrayValue"),
    "a column of TraceQL": attribute("by(span.db.password)", SECRET),
    "a column of a quoted name": attribute('by(span."db.password")', SECRET),
    "a value of two kinds": {"key": "db.password", "value": {"stringValue": SECRET, "intValue": "1"}},
    "a value of an unknown kind, too": {"key": "db.password", "value": {"other": SECRET, "stringValue": "x"}},
    "a value before its name": {"value": {"stringValue": SECRET}, "key": "db.password"},
    "more beside it": attribute("db.password", SECRET) | {"x": 1},
    "a statement": attribute("db.statement", f"ALTER USER x PASSWORD '{SECRET}'"),
}
"""Attributes of spans, each with a secret."""


@pytest.mark.promise("S-14")
@cases.each("place", ATTRIBUTES)
def test_attributes_of_spans_are_masked_as_fields(place: str, masking: redaction.Engine, attacks: Count) -> None:
    """A secret in an attribute of a span, of its resource or of an event is masked, whatever the form of its value, and
    the others stay as plain JSON."""
    attacks(1)
    plain = {"service.name": "web", "n": 7, "ok": True, "none": None, "x": ["a", 1.5], "big": "9" * 30}
    written = [
        attribute("service.name", "web"), attribute("n", "7", "intValue"), attribute("ok", True, "boolValue"),
        {"key": "none"}, attribute("x", {"values": [{"stringValue": "a"}, {"doubleValue": 1.5}]}, "arrayValue"),
        attribute("big", "9" * 30, "intValue"),
    ]  # fmt: skip
    span = {"name": "GET /", "attributes": [ATTRIBUTES[place]], "events": [{"attributes": [ATTRIBUTES[place]]}]}
    batch = {"resource": {"attributes": [*written, ATTRIBUTES[place]]}, "scopeSpans": [{"spans": [span]}]}
    door = Door(masking, "spans", json.dumps({"batches": [batch]}), packed=True)
    text = door.text.decode()
    assert not [word for word in (SECRET, "48291734", "VHIwdWI0") if word in text], text
    found = door.json["batches"][0]["resource"]["attributes"]
    merged = found if isinstance(found, dict) else {name: one for each in found for name, one in each.items()}
    assert merged.items() >= plain.items()


@pytest.mark.promise("S-14", "S-12")
def test_hostile_traces_are_errors(masking: redaction.Engine, attacks: Count) -> None:
    """A trace that is nested too deep or cut is an error; without masks too, attributes are objects."""
    deep = '{"key":"a","value":{"arrayValue":{"values":[' * 20_000
    attacks(3)
    for body in (deep, '{"batches":[', '{"a":' + "[" * 5_000 + "]" * 5_000 + "}"):
        with pytest.raises(errors.ClusterError):
            Door(masking, "spans", body)
        assert Door(masking, "spans", "{}").text == b"{}"
    engine = redaction.Engine(config.Redaction(enabled=False))
    try:
        assert Door(engine, "spans", json.dumps([attribute("a", SECRET)])).json == {"a": SECRET}
    finally:
        engine.close()


COUNTS: Final = {
    '[1732730000.1,"10000"]': 10_000,
    '[1732730000,"1e+06"]': 1_000_000,
    '[1732730000,"9e+300"]': 1 << 40,
}


@pytest.mark.promise("S-15")
def test_nothing_but_the_number_of_a_count_passes(masking: redaction.Engine, attacks: Count) -> None:
    """The trailer has the number, the body is empty, and what is no count is an error."""
    attacks(len(COUNTS) + 6)
    for sample, number in COUNTS.items():
        body = answer(series(LABELS, f'"value":{sample}'), kind="vector", beside=f',"warnings":["{SECRET}"]')
        door = Door(masking, "count", body)
        assert (door.text, door.trailer) == (b"", wire.Trailer(items=number))
    assert Door(masking, "count", answer(kind="vector")).trailer == wire.Trailer()
    wrong = [f'"value":[1,"{text}"]' for text in (SECRET, "NaN", "-1", "1" * 41)]
    answers = [answer(series(samples=sample), kind="vector") for sample in wrong]
    for body in [*answers, answer(series()), "[]"]:
        with pytest.raises(errors.ClusterError, match="count"):
            Door(masking, "count", body)
    assert Door(masking, "count", answer(kind="vector")).trailer == wire.Trailer()


@pytest.mark.promise("S-14", "S-15")
def test_an_answer_is_checked_without_masks_too(attacks: Count) -> None:
    """Where masks are switched off, an answer passes as it was sent, its series are counted, and a count passes
    nothing."""
    attacks(3)
    engine = redaction.Engine(config.Redaction(enabled=False))
    body = answer(series(LABELS))
    try:
        door = Door(engine, "series", body)
        assert (door.text.decode(), door.trailer) == (body, wire.Trailer(items=1))
        assert Door(engine, "count", answer(series(LABELS, '"value":[1,"7"]'), kind="vector")).text == b""
        with pytest.raises(errors.ClusterError, match="in the middle of its JSON"):
            Door(engine, "series", body[:-1])
    finally:
        engine.close()


NESTED: Final = "[" * 100_000
BOMBS: Final[dict[str, str | bytes]] = {
    "nested labels": answer(series(f'{{"a":{NESTED}{NESTED.replace("[", "]")}}}')),
    "nested samples": answer(series(samples=f'"values":{NESTED}{NESTED.replace("[", "]")}')),
    "nested results": answer(NESTED),
    "nothing but a beginning": '{"status":"success","data":{"resultType":"matrix","result":[' + series() + ",",
    "half a character": '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"\xff"}}]}}'.encode("latin-1"),
}  # fmt: skip


@pytest.mark.promise("S-07", "S-12")
@cases.each("bomb", BOMBS)
def test_a_hostile_answer_costs_its_own_call_only(bomb: str, masking: redaction.Engine, attacks: Count) -> None:
    """It is an error by name, and the next answer passes."""
    attacks(1)
    with pytest.raises(errors.ClusterError) as caught:
        Door(masking, "series", BOMBS[bomb])
    assert caught.value.code == "cluster.broken"
    assert Door(masking, "series", answer(series())).text.decode() == answer(series())


@pytest.mark.sampled
@pytest.mark.promise("S-07")
def test_the_most_tiny_series_are_masked_within_the_memory_of_a_masker(
    masking: redaction.Engine, attacks: Count
) -> None:
    """They come out as they came in, compressed a thousandfold. test_sources_memory.py has those that are refused."""
    attacks(1)
    number = extent.count(490_000, 200_000)
    tiny = answer(*[series("{}", '"value":[0,"0"]')] * number, kind="vector")
    door = Door(masking, "series", tiny, packed=True)
    assert door.trailer == wire.Trailer(items=number)
    assert door.text.decode() == tiny
