"""Data that a pod's author writes to hurt the engine: it costs bounded time and memory, and hides nothing."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import re
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from kubescript import config, errors, redaction
from kubescript_masking.text import spans
from kubescript_masking.wire import masking as masking_wire
from security_tests.redaction import engine, floods, judge
from security_tests.redaction.chance import Chance
from security_tests.redaction.sheet import Document
from tests.kit import api_server, cases, clients, extent, patience, reading

pytestmark = pytest.mark.repeatable

Count = Callable[[int], None]

MEGABYTE = 1 << 20
SIZE = extent.count(MEGABYTE, MEGABYTE >> 2)
LARGE = 10 * SIZE
TIMES = 400
"""A flood may cost so many times what a plain log of its size costs (15 ns a byte): each match is work, some 50 µs, but
none is done twice. Search that backtracks costs tens of thousands of times as much at this size."""


@pytest.fixture(scope="module")
def masking() -> redaction.Engine:
    warm = engine.fresh()
    engine.masked(warm, floods.log(floods.benign(10_000)))
    return warm


def seconds(masking: redaction.Engine, document: Document) -> tuple[float, bytes]:
    """Processor time for one body, and what came out; nothing when the engine refused it."""
    started = time.thread_time()
    try:
        output = engine.masked(masking, document)
    except errors.KubescriptError:
        output = b""
    return time.thread_time() - started, output


@pytest.fixture(scope="module")
def plain(masking: redaction.Engine) -> Callable[[int], float]:
    """What a plain log of a size costs."""
    costs: dict[int, float] = {}

    def cost(size: int) -> float:
        if size not in costs:
            costs[size] = min(seconds(masking, floods.log(floods.benign(size)))[0] for _ in range(3))
        return costs[size]

    return cost


@pytest.mark.sampled
@pytest.mark.promise("S-07")
def test_floods(masking: redaction.Engine, plain: Callable[[int], float], attacks: Count) -> None:
    """A megabyte of half a secret, again and again, as a log and inside JSON, costs a bounded multiple of a plain log."""

    def flood(name: str) -> None:
        text = floods.flood(name, SIZE)
        for document in (floods.log(text), floods.in_configmap(text)):
            spent, output = seconds(masking, document)
            assert spent < TIMES * plain(SIZE)
            if document.form == "json" and output:
                assert set(json.loads(output)["data"]) == {"text"}

    attacks(2 * len(floods.FLOODS))
    cases.check(list(floods.FLOODS), flood)


IN_A_LINE = ("one letter", "base64", "password=", "JWT heads", "PEM heads", "URL user", "open JSON password", "dotted")


@pytest.mark.sampled
@pytest.mark.promise("S-07")
def test_ten_megabytes_in_a_line(masking: redaction.Engine, plain: Callable[[int], float], attacks: Count) -> None:
    """Ten megabytes without a line break cost no more per byte than one."""
    attacks(len(IN_A_LINE))
    for name in IN_A_LINE:
        spent, _ = seconds(masking, floods.log(floods.flood(name, LARGE)))
        assert spent < TIMES * plain(LARGE), name


PASSWORD = Chance("hostile").strong()
LINE = f"db_password={PASSWORD} port=5432\n"


def leaks(output: bytes, value: str = PASSWORD) -> bool:
    return any(value in text for text in judge.texts(output))


@pytest.mark.promise("S-07")
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_bombs(layers: int, masking: redaction.Engine, attacks: Count) -> None:
    """A gigabyte's worth of zeros in a few kilobytes of base64 is not unpacked into memory."""
    attacks(1)
    document = floods.in_configmap(floods.bomb(200 << 20, layers))
    tracemalloc.start()
    spent, output = seconds(masking, document)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20
    assert spent < 20
    assert not output or json.loads(output)["data"]


@pytest.mark.promise("S-01", "S-07")
def test_what_is_too_large_to_look_into_is_masked(masking: redaction.Engine, attacks: Count) -> None:
    """A password behind forty megabytes of padding in a compressed value does not pass because nobody looks that far."""
    attacks(1)
    packed = base64.b64encode(gzip.compress(b"x\n" * (20 << 20) + LINE.encode(), mtime=0)).decode()
    _, output = seconds(masking, floods.in_configmap(packed))
    assert packed[-60:] not in output.decode()


@pytest.mark.promise("S-01", "S-07")
@cases.each("layers", range(1, 13))
def test_layers_of_base64(layers: int, masking: redaction.Engine, attacks: Count) -> None:
    """However often a text is wrapped, what it holds is found, or the whole is masked."""
    attacks(2)
    text = LINE
    for _ in range(layers):
        text = base64.b64encode(text.encode()).decode()
    for document in (floods.in_configmap(text), floods.log(f"value {text} end\n")):
        output = engine.masked(masking, document).decode()
        for _ in range(layers + 1):
            assert PASSWORD not in output
            output += "".join(_once(match) for match in output.replace('"', " ").split())


def _once(word: str) -> str:
    try:
        return " " + base64.b64decode(word, validate=True).decode()
    except ValueError:
        return ""


@pytest.mark.promise("S-07")
@cases.each("levels", [100, 900, 20_000, 200_000])
@cases.each("shape", ["lists", "objects", "JSON in a log"])
def test_depth(
    shape: str, levels: int, masking: redaction.Engine, plain: Callable[[int], float], attacks: Count
) -> None:
    """JSON of any depth is masked or refused, in bounded time, and its password does not pass."""
    attacks(1)
    text = floods.deep(levels, LINE, *(("[", "]") if shape == "lists" else ('{"a":', "}")))
    body = f'{{"metadata":{{"name":"x"}},"data":{text}}}'
    document = (
        floods.log(text + "\n")
        if shape == "JSON in a log"
        else Document("deep", ("api", "v1", "namespaces", "shop", "configmaps", "x"), body.encode(), (), ())
    )
    spent, output = seconds(masking, document)
    assert PASSWORD.encode() not in output
    assert spent < TIMES * plain(MEGABYTE)
    assert not leaks(engine.masked(masking, floods.log(LINE)))


def escaped(text: str) -> str:
    """As JSON may also write it."""
    return "".join(f"\\u{ord(char):04x}" for char in text)


ESCAPES = {
    "key": f'{{"spec":{{"{escaped("p")}assword":"{PASSWORD}"}}}}',
    "whole key": f'{{"spec":{{"{escaped("password")}":"{PASSWORD}"}}}}',
    "value": f'{{"spec":{{"password":"{escaped(PASSWORD)}"}}}}',
    "both": f'{{"spec":{{"{escaped("password")}":"{escaped(PASSWORD)}"}}}}',
    "name of a variable": f'{{"spec":{{"env":[{{"name":"{escaped("DB_PASSWORD")}","value":"{PASSWORD}"}}]}}}}',
    "value before name": f'{{"spec":{{"env":[{{"value":"{PASSWORD}","name":"DB_PASSWORD"}}]}}}}',
    "assignment in a text": f'{{"data":{{"a":"db{escaped("_password=")}{PASSWORD}\\nport=1"}}}}',
    "quotes": f'{{"data":{{"a":"{{{escaped(chr(34))}password{escaped(chr(34))}:{escaped(chr(34))}{PASSWORD}{escaped(chr(34))}}}"}}}}',
    "slashes": f'{{"data":{{"a":"postgres:\\/\\/app:{PASSWORD}@db\\/app"}}}}',
    "spaces and lines": f'{{ "spec" : {{\n "password"\t:\r\n "{PASSWORD}" }} }}',
    "twice the same key": f'{{"spec":{{"password":"{PASSWORD}","password":"{PASSWORD}"}}}}',
    "NUL": f'{{"data":{{"a":"db_password={PASSWORD}\\u0000"}}}}',
    "lone surrogate": f'{{"data":{{"b":"\\ud800","a":"db_password={PASSWORD}"}}}}',
    "number beside it": f'{{"spec":{{"password":"{PASSWORD}","n":1e999,"m":-0.0,"k":12345678901234567890}}}}',
}  # fmt: skip


@pytest.mark.promise("S-01", "S-04")
@cases.each("name", ESCAPES)
def test_escapes_hide_nothing(name: str, masking: redaction.Engine, attacks: Count) -> None:
    """A key or a value written with JSON's escapes is the same key and value."""
    attacks(2)
    document = Document(
        "escaped", ("api", "v1", "namespaces", "shop", "configmaps", "x"), ESCAPES[name].encode(), (), ()
    )
    for seed in ("", "pieces"):
        output = engine.masked(masking, document, seed)
        assert not leaks(output)
        assert escaped(PASSWORD).encode() not in output
        assert set(json.loads(output)) == set(json.loads(document.body))


BROKEN = {
    "invalid UTF-8 around": b"\xff\xfe " + LINE.encode() + b"\xc3\x28",
    "invalid UTF-8 at the value": b"db_password=" + PASSWORD.encode() + b"\xff\xff\n",
    "invalid UTF-8 before the name": b"\xe2\x82db_password=" + PASSWORD.encode() + b"\n",
    "NUL at the value": b"db_password=" + PASSWORD.encode() + b"\0\n",
    "carriage returns": b"a=1\r\ndb_password=" + PASSWORD.encode() + b"\r\nb=2\r\n",
    "no newline at the end": b"db_password=" + PASSWORD.encode(),
    "a mark of byte order": b"\xef\xbb\xbfdb_password=" + PASSWORD.encode() + b"\n",
}


@pytest.mark.promise("S-01", "S-07")
@cases.each("name", BROKEN)
def test_broken_encodings_hide_nothing(name: str, masking: redaction.Engine, attacks: Count) -> None:
    """Bytes that are no text, before, in or behind a value, do not switch the search off."""
    attacks(2)
    for seed in ("", "pieces"):
        assert PASSWORD.encode() not in engine.masked(masking, floods.log(BROKEN[name]), seed)


@pytest.mark.promise("S-01", "S-07")
def test_a_flood_hides_no_value_of_its_document(masking: redaction.Engine, attacks: Count) -> None:
    """A string of 30,000 candidates leaves the values before and behind it masked, and other strings readable."""
    attacks(2)
    value = {
        "passwords": [PASSWORD],
        "env": [{"name": "DB_PASSWORD", "value": PASSWORD}],
        "text": LINE,
        "apiToken": PASSWORD,
    }
    flood = "password=x " * 30_000
    for number, body in enumerate(({"a": value, "b": flood, "c": "plain"}, {"a": "plain", "b": flood, "c": value})):
        document = Document(
            "flood", ("api", "v1", "namespaces", "shop", "widgets", "x"), json.dumps(body).encode(), (), ()
        )
        masked = engine.masked(masking, document)
        assert not leaks(masked)
        assert json.loads(masked)["ca"[number]] == "plain"


@pytest.mark.promise("S-01", "S-07")
@cases.each("flood", ("token=a ", "x: aB3 ", "token=a\n"))
def test_a_flood_hides_no_token_of_another_object(flood: str, masking: redaction.Engine, attacks: Count) -> None:
    """A token that only its letters tell, in the objects before and behind a string of 26,000 candidates."""
    attacks(2)
    token = "aB3dE5fG7hJ9kL1mN3pQr5sT7uV9wX"
    attacker = {"kind": "ConfigMap", "metadata": {"annotations": {"f": flood * 26_000}}}
    victim = {"kind": "Pod", "spec": {"containers": [{"args": [f"login {token}"]}]}, "serviceAccount": {"value": token}}
    for items in ([attacker, victim], [victim, attacker]):
        body = json.dumps({"kind": "List", "apiVersion": "v1", "items": items}).encode()
        path = ("api", "v1", "namespaces", "shop", "widgets")
        masked = engine.masked(masking, Document("flood", path, body, (), ()))
        assert token.encode() not in masked
        assert b"login " in masked


FORGED = "«redacted:jwt:3f9a0b1c»"


@pytest.mark.promise("S-09")
def test_forged_masks_are_not_counted(masking: redaction.Engine, attacks: Count) -> None:
    """What looks like a mask and came from a pod is not reported as something masked."""
    attacks(2)
    for document in (floods.log(f"{FORGED} and {FORGED}\n"), floods.in_configmap(f"{FORGED}\nport=1")):
        counts: Counter[str] = Counter()
        engine.masked(masking, document, found=counts)
        assert counts.total() == 0


HIDDEN = {
    "before": f"db_password={FORGED}{PASSWORD}", "behind": f"db_password={PASSWORD}{FORGED}", "around": f"db_password=«redacted:jwt:{PASSWORD}»",
    "half a mask": f"db_password=«redacted:{PASSWORD}", "as kind": f"db_password=«redacted:{PASSWORD}:00000000»", "in the middle": f"db_password={PASSWORD[:3]}{FORGED}{PASSWORD}",
}  # fmt: skip


@pytest.mark.promise("S-09")
@cases.each("name", HIDDEN)
def test_a_forged_mask_hides_nothing(name: str, masking: redaction.Engine, attacks: Count) -> None:
    """A password beside or inside a forged mask is masked as any other."""
    attacks(3)
    variable = json.dumps({"spec": {"env": [{"name": "DB_PASSWORD", "value": HIDDEN[name].partition("=")[2]}]}})
    pod = Document("forged", ("api", "v1", "namespaces", "shop", "pods", "x"), variable.encode(), (), ())
    for document in (floods.log(HIDDEN[name] + "\n"), floods.in_configmap(HIDDEN[name] + "\nport=1"), pod):
        assert not leaks(engine.masked(masking, document)), document.name
        assert PASSWORD not in masking.text(HIDDEN[name], lambda _: None)


TOKEN = "q8Zr3TnB5wLx7VdK2m"
FILES = {
    "tokens": f'ABCDEF,password=Hunter22-horse\n{TOKEN},admin,2,"system:masters"\n', "a forged mask": f"{FORGED}\n{TOKEN}\n",
    "users": f"admin:$apr1$abcdefgh${'0123456789' * 2}12\nci:{TOKEN}\n", "words": f"{FORGED}\n{TOKEN}\ncorrect horse battery staple\n",
}  # fmt: skip


@pytest.mark.promise("S-01", "S-09")
@cases.each("name", FILES)
def test_one_mask_does_not_open_a_file(name: str, masking: redaction.Engine, attacks: Count) -> None:
    """A part that is masked, or a forged mask, leaves nothing readable of a credential file's other lines."""
    attacks(2)
    for key in ("credentials", "tokens.csv"):
        body = json.dumps({"data": {key: FILES[name]}}).encode()
        document = Document("file", ("api", "v1", "namespaces", "shop", "configmaps", "x"), body, (), ())
        masked = engine.masked(masking, document)
        assert b"\xc2\xabredacted:" in masked
        assert TOKEN.encode() not in masked and b"horse" not in masked
        assert engine.masked(masking, replace(document, body=masked)) == masked


@pytest.mark.promise("S-07")
def test_a_watch_is_not_held_back(masking: redaction.Engine, attacks: Count) -> None:
    """An event of a watch is passed on before the next one is waited for."""
    attacks(3)
    event = (
        json.dumps(
            {"type": "ADDED", "object": {"kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": LINE}}}
        ).encode()
        + b"\n"
    )
    document = Document(
        "watch",
        ("api", "v1", "namespaces", "shop", "configmaps"),
        b"",
        (),
        (),
        query=(("watch", "true"),),
        form="lines",
    )
    passed = bytearray()
    late = []

    def chunks() -> Iterator[bytes]:
        for number in range(3):
            late.append(passed.count(b"\n") < number)
            yield event[:20]
            yield event[20:]

    for piece in masking.body(engine.call(document), chunks(), reading.Report()):
        passed += piece
    assert late == [False, False, False]
    assert passed.count(b"\n") == 3 and not leaks(bytes(passed))


TOKENS = {
    "GitHub token": "gh" + "p_" + Chance("cut").base62(36), "GitLab token": "gl" + "pat-" + Chance("cut2").base62(20),
    "AWS key id": "AK" + "IA" + Chance("cut3").upper(16), "Slack token": "xo" + "xb-" + f"{Chance('cut4').digits(12)}-{Chance('cut5').digits(13)}-{Chance('cut6').base62(24)}",
}  # fmt: skip


@pytest.mark.promise("S-01", "S-05")
def test_a_body_that_breaks_off_gives_no_half_value(masking: redaction.Engine, attacks: Count) -> None:
    """When the API server dies in the middle of a token, what is passed on before the error holds no part of it."""
    attacks(2)
    token = TOKENS["GitHub token"]
    for document in (floods.log(f"using {token} now\n"), floods.in_configmap(f"using {token} now")):
        at = document.body.index(token.encode()) + 30

        def chunks(document: Document = document, at: int = at) -> Iterator[bytes]:
            yield document.body[:at]
            raise errors.ClusterError("the connection broke", code="cluster.broken")

        passed = bytearray()
        with pytest.raises(errors.ClusterError):
            for piece in masking.body(engine.call(document), chunks(), reading.Report()):
                passed += piece
        assert token[:24].encode() not in passed


@pytest.mark.promise("S-10")
def test_a_guess_is_masked_otherwise(masking: redaction.Engine, attacks: Count) -> None:
    """A script's own words, masked on their way out, do not get the mask that the same value has in the cluster."""
    attacks(1)
    inside = {match[0] for match in judge.MASK.finditer(engine.masked(masking, floods.log(LINE)).decode())}
    outside = {match[0] for match in judge.MASK.finditer(masking.text(LINE, lambda _: None))}
    assert inside and outside and not inside & outside


@pytest.mark.promise("S-10")
def test_what_may_hold_a_guess_has_masks_that_tell_nothing(masking: redaction.Engine, attacks: Count) -> None:
    """The answer to a dry run holds the real value beside guesses: no two masks in such a text are equal."""
    attacks(1)
    text = " ".join(f"g{number}_password={guess}" for number, guess in enumerate(["hunter2-x", "Tr0ub4dor-3"] * 3))
    masks = [match[0] for match in judge.MASK.finditer(masking.text(text, lambda _: None))]
    assert len(masks) == len(set(masks)) == 6


@pytest.mark.promise("S-10")
@pytest.mark.parametrize(
    "path",
    [
        "custom.metrics.k8s.io/v1beta2/namespaces/a/pods/*/m?metricLabelSelector=password%3Dguess",
        "external.metrics.k8s.io/v1beta1/namespaces/a/m?labelSelector=password%3Dguess",
    ],
)
def test_an_adapter_that_repeats_a_selector_confirms_no_guess(tmp_path: Path, path: str, attacks: Count) -> None:
    """The answer about a metric, which may hold the script's selector, does not have the mask that the same value has in
    an object; the next call works."""
    attacks(1)
    with contextlib.closing(api_server.Server()) as server:
        key = api_server.kubeconfig(tmp_path, server.url)
        with clients.asking("--kubeconfig", str(key)) as ask:

            def read(path: str) -> str:
                items = [{"metadata": {}, "selector": {"password": "Tr0ub4dor-and-3x"}}]
                server.answer = api_server.whole(json.dumps({"kind": "AnyList", "items": items}).encode())
                return clients.text(ask(f"k8s.get('{path}').items[0].selector.password"))

            guess, real, again = read(f"/apis/{path}"), read("/api/v1/pods"), read("/api/v1/pods")
    assert "redacted:password" in guess and guess != real == again


HUNDRED_MEGABYTES = 100 << 20
TIME = 0.5
GRACE = 3.0
"""Seconds that one step of the engine may last beyond a deadline, on a busy machine."""


def flooded(form: str) -> tuple[Document, Iterator[bytes]]:
    """A hundred megabytes of secrets: a log, and one value of a ConfigMap that never ends."""
    block = (LINE * (1 << 18))[: 1 << 18].encode()
    if form == "log":
        return floods.log(""), (block for _ in range(HUNDRED_MEGABYTES >> 18))
    opening = b'{"kind":"ConfigMap","metadata":{"name":"x"},"data":{"text":"'
    value = block.replace(b"\n", b"\\n")[: 1 << 18]
    whole = iter([opening, *([value] * (24 << 2)), b'"}}'])
    return floods.in_configmap(""), whole


@pytest.fixture(scope="module")
def pooled() -> redaction.Engine:
    """The engine as the server has it, which ends a masker at a deadline."""
    warm = engine.pooled()
    warm.prepare()
    return warm


@pytest.mark.promise("S-07")
@pytest.mark.parametrize("form", ["log", "one value"])
def test_a_deadline_ends_what_is_being_masked(form: str, pooled: redaction.Engine, attacks: Count) -> None:
    """A body that would take the engine minutes is given up when its script's time is over, and the next body is
    masked as ever."""
    attacks(1)
    started = time.monotonic()
    give_up(pooled, form, started + TIME)
    assert time.monotonic() - started < TIME + patience.scaled(GRACE)
    assert not leaks(engine.masked(pooled, floods.log(LINE)))


@pytest.mark.promise("S-07")
@pytest.mark.parametrize("form", ["log", "one value"])
def test_what_is_being_masked_stays_in_bounds(form: str, pooled: redaction.Engine, attacks: Count) -> None:
    """Of such a body the host holds no more than a few chunks; a masker has its own limit."""
    attacks(1)
    tracemalloc.start()
    give_up(pooled, form, time.monotonic() + TIME)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 << 20


def give_up(masking: redaction.Engine, form: str, deadline: float) -> None:
    document, chunks = flooded(form)
    call = replace(engine.call(document), deadline=deadline)
    with pytest.raises(errors.ClusterError, match="within the script's time"):
        for piece in masking.body(call, chunks, reading.Report()):
            assert PASSWORD.encode() not in piece


CUT = {
    "before a percent-encoded value": "é" * 2_048 + "password%3DS3cr3tValue99xyz%26",
    "behind a percent-encoded value": "password%3DS3cr3tValue99xyz%26a" + "é" * 8_192,
    "of four bytes": "x" + "\N{GRINNING FACE}" * 2_048 + "password%3DS3cr3tValue99xyz%26",
}
"""Texts in which a rule that reads a bounded number of bytes ends in the middle of a character."""
SPLIT = {
    "behind": (r"canary-[^a-z]{5}", "canary-ééé!", "MASK!"),
    "before": (r"[^a-z ]{1}canary", "x écanary", "x MASK"),
}
"""Rules of an operator that match half a character, with a text and what becomes of it."""


@pytest.mark.promise("S-13")
@cases.each("name", CUT)
def test_a_rule_that_stops_within_a_character_masks_all_of_it(name: str, masking: redaction.Engine) -> None:
    """The text comes back, without the secret and with whole characters."""
    masked = masking.text(CUT[name], lambda _: None)
    assert "S3cr3tValue99xyz" not in masked
    assert "\ufffd" not in masked
    assert masking.text("next", lambda _: None) == "next"


@pytest.mark.promise("S-13")
def test_a_rule_that_matches_half_a_character_masks_all_of_it(attacks: Count) -> None:
    """A rule sees bytes: what it finds may begin or end within a character."""
    attacks(len(SPLIT))
    rules = tuple(config.RedactionRule(id=name, regex=regex) for name, (regex, _, _) in SPLIT.items())
    with contextlib.closing(redaction.Engine(config.Redaction(rules=rules))) as engine:
        for name, (_, text, expected) in SPLIT.items():
            masked = engine.text(text, lambda _: None)
            assert re.sub(f"«redacted:{name}:[0-9a-f]+»", "MASK", masked) == expected


@pytest.mark.promise("S-13")
def test_without_whole_characters_a_mask_cuts_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutation check: without the search for the ends of a character each text has half of one."""
    monkeypatch.setattr(spans, "_cover_characters", lambda _text, span: span)
    rules = engine.rules(b"a key", *(masking_wire.Rule(name, regex) for name, (regex, _, _) in SPLIT.items()))
    for _, text, _ in SPLIT.values():
        with pytest.raises(UnicodeDecodeError):
            rules.text(text.encode(), lambda _: None).decode()
