"""What somebody writes beside a value hides it no better: another line, another item, another annotation."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pytest

from kubescript_masking.engine import bodies, completeness, pieces
from kubescript_masking.wire import masking
from security_tests.redaction import engine
from tests.kit import cases

pytestmark = pytest.mark.repeatable

Count = Callable[[int], None]

PASSWORD: Final = "Tr0ub4dor-3"
STAMP: Final = "2026-01-31T12:00:00.000000000Z "


@pytest.fixture(scope="module")
def rules() -> bodies.Rules:
    return engine.rules(b"neighbours")


def masked(rules: bodies.Rules, body: str, about: masking.Body, size: int = 1 << 20) -> str:
    """A body, masked, that came in chunks of this size; and the next text is masked as ever."""
    content = body.encode()
    chunks = (content[at : at + size] for at in range(0, len(content), size))
    check = completeness.Check(about.form)
    read = check.watch(chunks) if about.form == "list" else chunks
    output = b"".join(rules.body(about, read, lambda _: None, check)).decode()
    assert PASSWORD not in rules.text(f"password={PASSWORD}".encode(), lambda _: None).decode()
    return output


TABLES: Final = (
    '["x"]',
    "5",
    "null",
    '{"name":"password"}',
    '[null,{"name":"Password"}]',
    '[["name"]]',
    '[{"name":{}}]',
)
"""What an aggregated API server may call the columns of a table; `.get` of a text ended the masker."""


@pytest.mark.promise("S-11")
@cases.each("columns", TABLES)
def test_no_table_ends_a_masker(columns: str, rules: bodies.Rules, attacks: Count) -> None:
    """The table comes out with its rows."""
    attacks(1)
    table = f'{{"kind":"Table","columnDefinitions":{columns},"rows":[{{"cells":["plain",5]}}]}}'
    (row,) = json.loads(masked(rules, table, masking.Body()))["rows"]
    assert row["cells"][1] == 5


KEY_LINE: Final = "MIIEpAIBAAKCAQEA" + "Ab3" * 16
LINES_BELOW: Final = {
    "a row with a token": ("user,password", f"Authorization: Bearer {PASSWORD}abcdEFGH1234567890zz, foo"),
    "a row with a key": ("user,password", "x,-----BEGIN RSA PRIVATE KEY-----", KEY_LINE, KEY_LINE),
    "a row that begins a key": ("user,password", "-----BEGIN PRIVATE KEY-----,", f"bob,{PASSWORD}"),
    "a field": ("name: DB_PASSWORD", f"value: hunter22abc' postgres://app:{PASSWORD}@db/app"),
    "a key in a block": ("  password: |", "    -----BEGIN PRIVATE KEY-----", f"    {PASSWORD}"),
    "a block in a block": ("  password: |", "      token: |", f"    {PASSWORD}"),
}
"""The first line is somebody else's: what it began was all that was looked for in the lines below."""


@pytest.mark.promise("S-01")
@cases.each("stamp", ["", STAMP])
@cases.each("name", LINES_BELOW)
def test_a_line_above_hides_nothing(name: str, stamp: str, rules: bodies.Rules, attacks: Count) -> None:
    """What goes on from the line above is masked, and so is whatever else is in a line."""
    attacks(1)
    log = "".join(f"{stamp}{line}\n" for line in LINES_BELOW[name])
    output = masked(rules, log, masking.Body(form="log"))
    assert PASSWORD not in output
    assert KEY_LINE not in output


SECRETS: Final = (
    '{"kind":"Secret","stringData":{"port":5432,"fruit":"%s"}}',
    '{"kind":"Secret","stringData":{"port":["x"],"more":{"x":true},"fruit":"%s"}}',
    '{"kind":"Secret","data":{"data":{"data":{}},"fruit":"%s"}}',
    '{"kind":' + " " * 60 + '"Secret","data":{"fruit":"%s"}}',
    '{"kind"\n:\n"Secret","data":{"fruit":"%s"}}',
    '{"kind":"SecretList","items":[{"data":{"fruit":"%s"}}]}',
    '{"\\u006bind":"Secr\\u0065t","d\\u0061ta":{"fruit":"%s"}}',
    '{"data":{"fruit":"%s"},"kind":"ConfigMap","kind":"secret"}',
)
"""Secrets as people write them, and keep them in other objects; a number ended the search for further values."""
FRUIT: Final = "bananas-split"


@pytest.mark.promise("S-01")
@cases.each("secret", SECRETS)
def test_no_value_of_a_secret_passes(secret: str, rules: bodies.Rules, attacks: Count) -> None:
    """Alone, among others, and as a text in a ConfigMap."""
    attacks(3)
    value = secret % FRUIT
    for body in (value, f'{{"items":[{value}]}}', json.dumps({"kind": "ConfigMap", "data": {"x": value}})):
        assert FRUIT not in masked(rules, body, masking.Body())


@pytest.mark.promise("S-02")
def test_an_object_that_is_no_secret_stays(rules: bodies.Rules, attacks: Count) -> None:
    """Of a list, the objects beside a Secret keep what they hold."""
    attacks(1)
    body = f'{{"items":[{SECRETS[0] % "x"},{{"kind":"ConfigMap","data":{{"fruit":"{FRUIT}"}}}}]}}'
    assert FRUIT in masked(rules, body, masking.Body())


BEGINNINGS: Final = ("[INFO]", "[ 12.5]", "{info}", "[", " \n[x", "{{ template }}", "\ufeff[WARN]")
"""How lines of text begin that were taken for JSON, of which only the strings are read."""


@pytest.mark.promise("S-01", "S-03")
@cases.each("beginning", BEGINNINGS)
def test_a_bracket_makes_no_document(beginning: str, rules: bodies.Rules, attacks: Count) -> None:
    """A text is masked as a text, however it arrives."""
    attacks(3)
    for size in (1, 2, 1 << 20):
        assert PASSWORD not in masked(rules, f"{beginning} password={PASSWORD} here\n", masking.Body(), size)


BLOCK: Final = 4_096
"""Bytes of a text that are masked as a whole when there are too many candidates."""
MANY: Final = "password=hunt1 " * 490
FEW: Final = "password=hunt1 "
ACROSS: Final = {
    "a name and its value": f" password: {PASSWORD} rest",
    "two lines": f"\nname: DB_PASSWORD\nvalue: {PASSWORD}\n",
    "a key": "\n-----BEGIN RSA PRIVATE KEY-----\n" + f"{KEY_LINE}\n" * 30 + "-----END RSA PRIVATE KEY-----\n",
}


@pytest.mark.promise("S-01")
@cases.each("name", ACROSS)
def test_candidates_beside_a_value_do_not_cut_it(name: str, rules: bodies.Rules, attacks: Count) -> None:
    """Other annotations have used up the budget; then a value lies across two blocks of a text."""
    # All strings that can be judged are; then those of one candidate take what is left.
    spent = {f"a{at}": MANY for at in range(20)} | {f"b{at}": FEW for at in range(1_500)}
    for place in range(BLOCK - 60, BLOCK, 6):
        attacks(1)
        lead = ("lorem ipsum dolor " * 300)[:place]
        output = masked(rules, json.dumps({**spent, "z": lead + ACROSS[name] + "lorem ipsum " * 400}), masking.Body())
        assert PASSWORD not in output
        assert KEY_LINE not in output


LONG_KEY: Final = [f"{KEY_LINE}{line:03}" for line in range(90)]
"""A key of 6 KB. Its first line was in the block behind one that is full, and goes with that; the others stayed."""
SPENT: Final = 64 * 1024 + 60_000
"""Bytes of candidates: of a log's second block, these are too many, and the key begins near its end."""


@pytest.mark.promise("S-01")
@cases.each("about", [masking.Body(), masking.Body(form="log")])
@cases.each("full", ["pwd=a1 ", "pwd=a1\n"])
def test_a_key_behind_candidates_is_masked_to_its_end(
    about: masking.Body, full: str, rules: bodies.Rules, attacks: Count
) -> None:
    """Wherever it begins behind a block that is full of candidates."""
    key = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *LONG_KEY, "-----END RSA PRIVATE KEY-----"])
    spent = full * (SPENT // len(full))
    for lines in (0, 60, 120, 180, 210):
        attacks(1)
        between = "ordinary text of a line\n" * lines
        text = f"{spent}\n{between}{key}\nand more\n"
        output = masked(rules, text if about.form == "log" else json.dumps({"x": text}), about)
        assert not [line for line in LONG_KEY if line in output]


ENDS: Final = ("see {a},", "{a},{", '{"a"},', '{"metadata":{}},{"metadata":{"a":"')
"""Ends of a string that look like the end of an object, or of an item."""


@pytest.mark.promise("S-01")
@cases.each("end", ENDS)
def test_no_list_is_cut_within_a_string(end: str, rules: bodies.Rules, attacks: Count) -> None:
    """A variable behind such a string is masked: strings are told by counting quotation marks from a piece's start."""
    attacks(1)
    pod = {"metadata": {"name": "a"}, "x": "x" * (pieces.SOFT + 1_000), "z": end}
    victim = {"metadata": {"name": "b"}, "env": [{"name": "DB_PASSWORD", "value": PASSWORD}]}
    body = json.dumps({"kind": "PodList", "items": [pod, victim, pod]}, separators=(",", ":"))
    assert PASSWORD not in masked(rules, body, masking.Body(form="list"))


LARGE: Final = 4 * 1024 * 1024
"""Bytes from which on a list was cut behind any object."""


@pytest.mark.promise("S-03")
@cases.each("pad", [-50_000, 0, 3])
def test_no_list_is_cut_within_an_item(pad: int, rules: bodies.Rules, attacks: Count) -> None:
    """A tenant's long objects put the cut into another one's, between the values of a Secret and its kind."""
    attacks(1)
    secret = f'{{"apiVersion":"v1","data":{{"config":"{CONFIG}"}},"kind":"Secret","metadata":{{"name":"q"}}}}'
    victim = bundle("victim", f'{{"manifests":[{secret}]}}')
    head = '{"apiVersion":"x.io/v1","items":['
    large = [bundle(f"t{number}", f'{{"text":"{"x" * 1_000_000}"}}') for number in range(4)]
    before = victim.index('"config":"') + len('"config":"')
    fill = LARGE - len(head + ",".join(large)) - len(bundle("pad", '{"text":""}')) - 2 - before + pad
    items = [*large, bundle("pad", f'{{"text":"{"x" * fill}"}}'), victim]
    body = f'{head}{",".join(items)}],"kind":"BundleList","metadata":{{}}}}'
    assert CONFIG not in masked(rules, body, masking.Body(form="list"))


CONFIG: Final = "cXp2d3hrMTIzNDU2"


def bundle(name: str, spec: str) -> str:
    """A custom resource that ends with a scalar, as none of Kubernetes' own does."""
    return f'{{"apiVersion":"x.io/v1","kind":"Bundle","metadata":{{"name":"{name}"}},"spec":{spec},"version":"1"}}'


@pytest.mark.promise("S-03")
@cases.each("first", [1, 2, 40])
def test_no_list_is_cut_elsewhere_when_it_begins_slowly(first: int, rules: bodies.Rules, attacks: Count) -> None:
    """A first chunk in which nothing is told yet moved all cuts behind it: one fell between a name and its value."""
    attacks(1)
    pods = [json.dumps({"metadata": {"name": f"p{number}"}, "env": [VARIABLE] * 20}) for number in range(2_000)]
    body = f'{{"kind":"PodList","items":[{",".join(pods)}]}}'.replace(" ", "").encode()
    check = completeness.Check("list")
    chunks = check.watch(iter([body[:first], body[first:]]))
    pieces = list(rules.body(masking.Body(form="list"), chunks, lambda _: None, check))
    assert PASSWORD not in b"".join(pieces).decode()
    assert not [piece for piece in pieces[:-1] if not piece.endswith(b"},")]


VARIABLE: Final = {"name": "DB_PASSWORD", "value": PASSWORD}


@pytest.mark.promise("S-03")
def test_no_event_is_cut_at_a_carriage_return(rules: bodies.Rules, attacks: Count) -> None:
    """It may stand between two tokens: an event was masked in two halves, a variable's name in one, its value in the
    other."""
    attacks(1)
    env = f'{{"name":"DB_PASSWORD",\r"value":"{PASSWORD}"}}'
    event = f'{{"type":"ADDED","object":{{"kind":"Pod","spec":{{"env":[{env}]}}}}}}\n'
    assert PASSWORD not in masked(rules, event + event, masking.Body(form="watch"))
