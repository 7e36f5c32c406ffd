"""Whatever a pod writes, masking it costs in proportion to its size, and no longer than its call may take."""

from __future__ import annotations

import ast
import base64
import contextlib
import functools
import gzip
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import anyio
import pytest

import kubescript_masking
from kubescript import app, config, errors, evaluator, redaction, types
from kubescript_masking.engine import bodies, completeness, warmup
from kubescript_masking.wire import lists
from kubescript_masking.wire import masking as wire
from kubescript_sandbox.host import cancellation, spawner
from security_tests.redaction import doubling, engine, floods, planted
from security_tests.redaction.sheet import Document
from tests.kit import extent, patience, reading

Count = Callable[[int], None]

_PEM: Final = "-" * 5 + "BEGIN " + "PRIVATE KEY" + "-" * 5


@dataclass(frozen=True, slots=True)
class Attack:
    """A text that somebody made to be slow."""

    form: str
    """log, config map, text or object."""
    text: Callable[[int], str]


ATTACKS: Final = {
    "blanks of a Secret's line": Attack("config map", lambda n: f"kind: Secret\ndata:\n  a: x{' ' * n}\ry\n"),
    "blanks of a variable's line": Attack("log", lambda n: f"name: DB_PASSWORD\nvalue: {' ' * n}\rx\n"),
    "blanks between strings": Attack("config map", lambda n: f'"tokens"{" " * n}\0'),
    "last word of a log": Attack("log", lambda n: f'{"-" * n}"'),
    "base64 with words in it": Attack("text", lambda n: ("A1b2" * 45 + "c2VjcmV0AAAA") * (n // 192)),
    "base64 that is no text": Attack("config map", lambda n: ("/xyz" * 45 + "c2VjcmV0AAAA") * (n // 192)),
    "base64url in pieces": Attack("text", lambda n: ("A1b2" * 15 + "c2VjcmV0-") * (n // 69)),
    "base64 in lines": Attack("text", lambda n: ("A1b2" * 15 + "c2VjcmV0AAA\n") * (n // 72)),
    "percents": Attack("text", lambda n: ("password=<password>%22%3A" + "x" * 40) * (n // 65)),
    "percents in one run": Attack("text", lambda n: ("x" * 150 + "password%3A") * (n // 161) + '"'),
    "masks": Attack("text", lambda n: "password=hunter2abcX «redacted:jwt:3f9a0b1c» " * (n // 46)),
    "JWTs in a row": Attack("text", lambda n: ("eyJhbGciOiJIabc." + "a" * 35 + ".") * (n // 52)),
    "passwords in a row": Attack("text", lambda n: ("password=" + "A1b2c3d4" * 9 + "=") * (n // 82)),
    "keys without end": Attack("text", lambda n: f"{_PEM}!  aaaaaaaaaa" * (n // 40)),
    "stamps within a key": Attack("log", lambda n: f"{_PEM}\n{'[a] ' * (n // 4)}\n"),
    "Secrets within Secrets": Attack("object", lambda n: '{"kind":"Secret","x":' * (n // 22) + "1" + "}" * (n // 22)),
    "blocks within blocks": Attack(
        "config map", lambda n: "kind: Secret\n" + "".join(f"{' ' * at}data:\n" for at in range(int(n**0.5)))
    ),
    "names in a head": Attack("config map", lambda n: "secret," * 200 + "\n" + ("a," * 200 + "\n") * (n // 400)),
    "backslashes": Attack("config map", lambda n: ("\\" * 40 + '"password') * (n // 48)),
    "no quotes": Attack("object", lambda n: "{" + "password=x " * (n // 11)),
    "escaped quotes": Attack("object", lambda n: '{"' + '\\"' * (n // 2) + ' kind: Secret"'),
    "a DSN of words": Attack("config map", lambda n: f"CONNECTION_STRING={'pass' * (n // 4)}\n"),
}  # fmt: skip
LINE: Final = "password=Tr0ub4dor-3-horse\n"
SECRET: Final = "Tr0ub4dor-3-horse"


@pytest.fixture(scope="module")
def masking() -> redaction.Engine:
    warm = engine.fresh()
    engine.masked(warm, floods.log(LINE))
    return warm


def document(attack: Attack, size: int) -> Document:
    text = attack.text(size)
    if attack.form == "config map":
        return floods.in_configmap(text)
    if attack.form == "object":
        return replace(floods.in_configmap(""), body=text.encode())
    return floods.log(text)


def masked(masking: redaction.Engine, attack: Attack, size: int) -> Callable[[], object]:
    if attack.form == "text":
        text = attack.text(size)
        return lambda: masking.text(text, lambda _: None, lambda: None)
    body = document(attack, size)
    return lambda: engine.masked(masking, body)


@pytest.mark.timeout(900)
@pytest.mark.promise("S-07")
def test_twice_the_text_costs_twice_the_time(masking: redaction.Engine, attacks: Count) -> None:
    """A text that was slow beyond proportion costs seconds at most, and three times as much when it is twice as long."""
    attacks(2 * len(ATTACKS))
    slow = {name: doubling.excess(functools.partial(masked, masking, attack)) for name, attack in ATTACKS.items()}
    assert {name: costs for name, costs in slow.items() if costs} == {}
    assert SECRET.encode() not in engine.masked(masking, floods.log(LINE))


@pytest.mark.promise("S-07")
def test_nothing_in_a_masker_backtracks() -> None:
    """Hostile bytes meet RE2 and plain code: no module of the masker imports Python's expressions."""
    house = Path(kubescript_masking.__file__).parent
    for file in (file for room in ("engine", "rules", "text") for file in (house / room).glob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert not {name.split(".")[0] for name in imported} & {"re", "regex", "sre_parse", "fnmatch"}, file.name


@pytest.fixture(scope="module")
def rules() -> bodies.Rules:
    made = engine.rules(b"a key")
    warmup.rehearse(made)
    return made


def of_text(rules: bodies.Rules, text: bytes) -> object:
    return rules.text(text, lambda _: None)


def of_log(rules: bodies.Rules, text: bytes) -> object:
    return b"".join(rules.body(wire.Body(form="log"), iter([text + b"\n"]), lambda _: None))


def of_configmap(rules: bodies.Rules, text: bytes) -> object:
    body = floods.in_configmap(text.decode("utf-8", "replace")).body
    return b"".join(rules.body(wire.Body(), iter([body]), lambda _: None))


FORMS: Final = {"text": of_text, "log": of_log, "config map": of_configmap}


@pytest.mark.sampled
@pytest.mark.repeatable
@pytest.mark.timeout(900)
@pytest.mark.promise("S-07")
@pytest.mark.parametrize("form", FORMS)
def test_texts_made_from_the_rules_cost_in_proportion(form: str, rules: bodies.Rules, attacks: Count) -> None:
    """What each rule finds, again and again, costs each form of a body no more than its size."""
    made = dict(doubling.texts())
    if not extent.LONG:  # of what may stand between the texts, something else in each form
        place = [*FORMS].index(form)
        made = {name: made[name] for at, name in enumerate(made) if (at + at // 3 + place) % 3 == 0}
    attacks(len(made))

    def measured(piece: bytes, size: int) -> Callable[[], object]:
        text = (piece * (size // len(piece) + 1))[:size]
        return lambda: FORMS[form](rules, text)

    slow = {name: doubling.excess(functools.partial(measured, piece)) for name, piece in made.items()}
    assert {name: costs for name, costs in slow.items() if costs} == {}


BODIES: Final[dict[str, tuple[wire.Form, Callable[[int], bytes]]]] = {
    "small items": ("list", lambda n: b'{"kind":"L","items":[' + b'{"a":1},' * (n // 8) + b'{"a":1}]}'),
    "an item full of marks": (
        "list", lambda n: b'{"kind":"L","items":[{"a":0},{"a":[' + b'{"a":1},' * (n // 8) + b'{"a":1}]}]}',
    ),
    "a head without an end": ("list", lambda n: b'{"kind":"' + b"x" * n),
    "no compact list": ("list", lambda n: b'{"kind":"L", "items": [' + b'{"a": 1}, ' * (n // 10) + b'{"a": 1}]}'),
    "rows": ("table", lambda n: b'{"kind":"Table","rows":[' + b'{"cells":[]},' * (n // 13) + b'{"cells":[]}]}'),
    "events": ("watch", lambda n: b'{"type":"ADDED","object":{}}\n' * (n // 29)),
    "an event without an end": ("watch", lambda n: b'{"type":"ADDED","object":{"a":"' + b"x" * n),
    "lists in lists": ("object", lambda n: b'{"a":' + b"[" * n),
    "tiny series": (
        "series",
        lambda n: b'{"status":"success","data":{"resultType":"vector","result":['
        + b'{"metric":{}},' * (n // 14)
        + b'{"metric":{}}]}}',
    ),
    "tiny streams": (
        "streams",
        lambda n: b'{"status":"success","data":{"resultType":"streams","result":['
        + b'{"stream":{},"values":[["1","a"]]},' * (n // 35)
        + b'{"stream":{},"values":[]}]}}',
    ),
    "characters of many bytes": ("json", lambda n: b'"' + "\N{SNOWMAN}".encode() * (n // 3) + b'"'),
}  # fmt: skip


def checked(form: wire.Form, body: bytes, size: int) -> None:
    """Reads a body that comes in pieces."""
    with contextlib.suppress(lists.FlawError, lists.TooLargeError):
        for _ in completeness.Check(form).watch(body[at : at + size] for at in range(0, len(body), size)):
            pass


@pytest.mark.promise("S-07", "F-10")
@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("size", [100, 1 << 16])
def test_whether_a_body_is_whole_is_found_out_in_proportion(name: str, size: int, attacks: Count) -> None:
    """Twice as long takes twice as long, however it comes."""
    attacks(1)
    form, made = BODIES[name]

    def measured(length: int) -> Callable[[], object]:
        return functools.partial(checked, form, made(length), size)

    assert doubling.excess(measured) is None


# The deadline of an answer

PACKED: Final = base64.b64encode(
    gzip.compress((("user,password\n" + "alice,A1b2c3d4\n" * 9_999) * 100).encode(), mtime=0)
).decode()
COSTLY: Final = repr(PACKED)
"""Forty kilobytes that unfold to fifteen megabytes, which take a minute to mask."""
TIME_MS: Final = 1_000
LATE_S: Final = 20.0


@pytest.fixture(scope="module")
def evaluate(source: spawner.Spawner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[evaluator.Evaluator]:
    settings = config.Settings(snapshot=planted.snapshot(tmp_path_factory.mktemp("snapshot")))
    with app.opened(settings, source) as parts:
        parts.warm_up()
        yield parts.operator.evaluator


def asked(evaluate: evaluator.Evaluator, script: str, timeout_ms: int = TIME_MS) -> types.Answer:
    return anyio.run(evaluate.evaluate, script, timeout_ms)


@pytest.mark.promise("S-01", "S-07")
@pytest.mark.parametrize("script", [COSTLY, f"print({COSTLY})", f"raise ValueError({COSTLY})", f"{{'a': {COSTLY}}}"])
def test_masking_an_answer_ends_at_its_deadline(script: str, evaluate: evaluator.Evaluator, attacks: Count) -> None:
    """A result, prints, an error that take a minute to mask are withheld when their time is over, and no word of them
    leaves; the next script has its answer."""
    attacks(1)
    started = time.monotonic()
    answer = asked(evaluate, script)
    assert time.monotonic() - started < patience.scaled(LATE_S)
    assert PACKED[5_000:5_072] not in answer.text
    assert (
        answer.code in {"limit.time", "limit.output", "script.exception", "script.refused", "redaction.failed"}
        or "«redacted" in answer.text
    )
    assert asked(evaluate, "6 * 7", 20_000).text == "42"


@pytest.mark.promise("S-01", "S-07")
def test_a_result_that_costs_too_much_is_an_error(evaluate: evaluator.Evaluator, attacks: Count) -> None:
    """Its code is `limit.time`, and its text says what to do."""
    attacks(1)
    answer = asked(evaluate, COSTLY)
    assert (answer.is_error, answer.code) == (True, "limit.time")
    assert "masking the answer took longer" in answer.text
    assert asked(evaluate, "6 * 7", 20_000).text == "42"


@pytest.mark.promise("S-07")
def test_masking_an_answer_ends_with_its_call(evaluate: evaluator.Evaluator, attacks: Count) -> None:
    """When the client cancels while its answer is masked, the thread that does it ends; a ping is answered meanwhile."""
    attacks(1)
    turns: list[float] = []

    async def attack() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(evaluate.evaluate, COSTLY, 60_000)
            await anyio.sleep(2)
            for _ in range(20):
                before = time.monotonic()
                await anyio.sleep(0.05)
                turns.append(time.monotonic() - before)
            assert evaluate._places.threads.borrowed_tokens == 1
            tasks.cancel_scope.cancel()
        with anyio.fail_after(patience.scaled(LATE_S)):
            while evaluate._places.threads.borrowed_tokens:
                await anyio.sleep(0.05)

    anyio.run(attack)
    assert sorted(turns)[17] < 2, turns  # on a busy machine too; it may stand still for a moment
    assert max(turns) < patience.scaled(2), turns
    assert asked(evaluate, "6 * 7", 20_000).text == "42"


@pytest.mark.promise("S-01", "S-07")
def test_a_body_whose_call_is_cancelled_is_not_masked_to_its_end(attacks: Count) -> None:
    """Nor is any of it given as it is."""
    attacks(1)
    masking = engine.pooled()
    switch = cancellation.Cancellation()
    flood = floods.log(LINE * 200_000)
    call = replace(engine.call(flood), cancelled=lambda: switch.cancelled)
    chunks = (flood.body[at : at + 65_536] for at in range(0, len(flood.body), 65_536))
    body = masking.body(call, chunks, reading.Report())
    assert SECRET.encode() not in next(body)
    switch.cancel()
    with pytest.raises(errors.ClusterError, match="cancelled"):
        next(body)
    assert SECRET.encode() not in engine.masked(masking, floods.log(LINE))
