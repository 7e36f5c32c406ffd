"""Attacks on a plan's diff: what would hide a change, what a masker that was taken over says of one, and what is made to
be slow to compare."""

from __future__ import annotations

import contextlib
import functools
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import pytest

from kubescript import errors, redaction
from kubescript.inspection import differences, inspector
from kubescript.request import request
from kubescript.wire import inspection
from kubescript_masking.engine import bodies, warmup
from kubescript_masking.wire import masking
from kubescript_sandbox.host import spawner
from security_tests.redaction import doubling, engine
from security_tests.taken import GRACE_S, HOSTILE, works

Count = Callable[[int], None]
Object = dict[str, Any]

SECRET: Final = "Tr0ub4dor-3-horse"
OTHER: Final = "c0rrect-b4ttery-9"


def call(verb: str = "patch", body: bytes | None = None) -> request.Request:
    return request.Request(
        "PATCH", "/", (), verb, True, "apps", "v1", "deployments", namespace="shop", name="web", body=body,
        deadline=time.monotonic() + 6 * GRACE_S,
    )  # fmt: skip


# A masker that was taken over


@pytest.fixture(scope="module")
def taken() -> Iterator[redaction.Engine]:
    """An engine whose maskers obey their texts."""
    hostile = redaction.Engine(redaction.Settings(), source=spawner.Spawner(HOSTILE))
    hostile.prepare()
    yield hostile
    hostile.close()


DIGEST: Final = "0" * 64
TRUE: Final = f'{{"digest":"{DIGEST}","requested":"{DIGEST}","before":{{"digest":"{DIGEST}"}}}}'


def also(members: str) -> str:
    """An expression for an answer that says more."""
    return repr(f"{TRUE[:-1]},{members}}}".encode())


def endless(start: str, unit: str, count: int) -> str:
    """An expression for an answer that repeats a piece."""
    return f"{start.encode()!r} + {unit.encode()!r} * {count}"


LIES: Final = {
    "nothing": "b''",
    "no JSON": "b'rows'",
    "another shape": "b'[]'",
    "a field that is unknown": also('"approved":true'),
    "no object": "b'{}'",
    "an object that was not there": also(f'"after":{{"digest":"{DIGEST}"}}'),
    "rows of nothing": also('"rows":[{"path":"a","old":"1"}]'),
    "a digest that is none": repr(TRUE.replace(DIGEST, "0").encode()),
    "no digest": repr(f'{{"requested":"{DIGEST}","before":{{"digest":"{DIGEST}"}}}}'.encode()),
    "no digest of what was requested": repr(f'{{"digest":"{DIGEST}","before":{{"digest":"{DIGEST}"}}}}'.encode()),
    "a digest in capitals": repr(TRUE.replace(DIGEST, "A" * 64).encode()),
    "an unknown risk": also('"risks":["none"]'),
    "a risk twice": also('"risks":["hostPath","hostPath"]'),
    "a row that is a text": also('"rows":["a"]'),
    "a number for a text": also('"rows":[{"path":1}]'),
    "half a character": also('"risks":["\\ud800"]'),
    "no UTF-8": "b'\\xff'",
    "a number without end": endless('{"before":{"replicas":', "9", 100_000),
    "depth": endless("", "[", 1_000_000),
    "rows without end": endless('{"rows":[', "{},", 1_000_000),
    "texts without end": endless('{"risks":[', '"",', 2_000_000),
    "more than 8 MiB": endless('{"rows":[{"path":"', "x", 9 << 20),
}  # fmt: skip


def said(answer: str) -> bytes:
    """A document that has its masker give this answer, an expression, to the comparison of it."""
    return f"""
class Nothing:
    def __repr__(self): return ''
sock.sendall(answer(130, b'{{}}', {answer}))
result = Nothing()
""".encode()


@pytest.mark.promise("S-12", "P-15")
@pytest.mark.parametrize("name", LIES)
def test_what_no_comparison_says_ends_the_call(name: str, taken: redaction.Engine) -> None:
    """The host reads one type, strictly and within bounds; anything else is an error, and the next text is served."""
    with pytest.raises(errors.RedactionError) as caught:
        taken.changes(call("delete"), said(LIES[name]), b"", lambda _: None)
    assert caught.value.code == "redaction.failed"
    assert works(taken)


@pytest.mark.promise("S-12")
def test_what_a_comparison_may_say_is_read(taken: redaction.Engine) -> None:
    """So that the lies above fail for what they say; a row more than twenty thousand is one."""
    found = taken.changes(call("delete"), said(repr(TRUE.encode())), b"", lambda _: None)
    assert found == inspection.Changes(before=inspection.Facts(digest=DIGEST), digest=DIGEST, requested=DIGEST)
    after = TRUE.replace("before", "after")[:-1] + ',"rows":['
    many = "{!r} + b','.join([b'{{\"path\":\"a\"}}'] * {}) + b']}}'"
    assert (
        len(taken.changes(call("create"), b"", said(many.format(after.encode(), 20_000)), lambda _: None).rows)
        == 20_000
    )
    with pytest.raises(errors.RedactionError):
        taken.changes(call("create"), b"", said(many.format(after.encode(), 20_001)), lambda _: None)


@pytest.mark.promise("S-12")
@pytest.mark.parametrize(
    "lie", ['"hidden_bytes":-1', '"hidden_lines":-1', '"brought":0', '"hidden_lines":1,"brought":-1']
)
def test_what_masks_hide_is_no_less_than_nothing(lie: str, taken: redaction.Engine) -> None:
    """A row that hides less than nothing would make up for another; what is hidden nowhere is nowhere in the request."""
    row = f'"rows":[{{"path":"a","new":"1",{lie}}}]'
    answer = repr(f"{TRUE.replace('before', 'after')[:-1]},{row}}}".encode())
    with pytest.raises(errors.RedactionError):
        taken.changes(call("create"), b"", said(answer), lambda _: None)
    assert works(taken)


# Hiding a change


@pytest.fixture(scope="module")
def honest() -> redaction.Engine:
    return engine.pooled()


@pytest.fixture(scope="module")
def bare() -> redaction.Engine:
    """An engine that masks nothing."""
    return redaction.Engine(redaction.Settings(enabled=False))


def pods(*containers: Object, **spec: Any) -> Object:
    return {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"containers": list(containers), **spec}}


WEB: Final = {"name": "web", "image": "nginx:1"}
EVIL: Final = {"name": "web", "image": "evil:1"}
MASK: Final = "«redacted:password:0123abcd»"
HIDDEN: Final[dict[str, tuple[Any, Any]]] = {
    "a key with a letter that looks the same": (pods(image=1), pods() | {"im\u0430ge": 1}),
    "a key with a letter nobody sees": (pods(image=1), pods() | {"image\u200b": 1}),
    "a key that looks like a path": (pods(a={"b": 1}), pods(**{"a": {}, "a.b": 1})),
    "a key that looks like an item": (pods(a=[{"name": "b"}]), pods(a={"[b].name": "b"})),
    "a list for an object": (pods(a=[1]), pods(a={"0": 1})),
    "an empty list for an empty object": (pods(a=[]), pods(a={})),
    "null for nothing": (pods(), pods(a=None)),
    "an object that is emptied": (pods(a={"b": 1}), pods(a={})),
    "an object that is emptied, or goes": (pods(a={"b": {}}), pods(a={})),
    "a text that looks like a number": (pods(a=1), pods(a="1")),
    "true for one": (pods(a=1), pods(a=True)),
    "a number's last digit": (pods(a=9007199254740993), pods(a=9007199254740992)),
    "a letter nobody sees": (pods(a="web"), pods(a="we\u2060b")),
    "a variation selector": (pods(a="web"), pods(a="web\ufe00")),
    "a filler": (pods(a="web"), pods(a="web\u3164")),
    "letters turned round": (pods(a="gnp.exe"), pods(a="\u202eexe.png")),
    "the second of two items of one name": (pods(WEB, WEB), pods(WEB, EVIL)),
    "the first of two items of one name": (pods(WEB, WEB), pods(EVIL, WEB)),
    "a second item of the same name": (pods(WEB), pods(WEB, EVIL)),
    "a second item of the same name, in front": (pods(WEB), pods(EVIL, WEB)),
    "items that change places": (pods(a=[{"name": "1"}, {"name": "2"}]), pods(a=[{"name": "2"}, {"name": "1"}])),
    "items in front": (pods(a=[{"name": "1"}]), pods(a=[{"name": "2"}, {"name": "1"}])),
    "arguments that change places": (pods(a=["--deny", "--allow"]), pods(a=["--allow", "--deny"])),
    "a name for a number": (pods(a=[{"name": "0", "v": 1}]), pods(a=[{"name": 0, "v": 1}])),
    "a secret for another": (pods(password=SECRET), pods(password=OTHER)),
    "a secret's mask for another": (pods(password=MASK), pods(password=MASK.replace("a", "b"))),
    "a mask for a secret": (pods(password=SECRET), pods(password=MASK)),
    "half a secret": (pods(a=f"x password={SECRET} y"), pods(a=f"x password={OTHER} y")),
    "a status": (pods() | {"status": {"a": 1}}, pods() | {"status": {"a": 2}}),
    "annotations called as bookkeeping": (pods(), pods() | {"metadata": {"name": "web", "annotations": {"resourceVersion": "1"}}}),
    "bookkeeping elsewhere": (pods(metadata={"uid": 1}), pods(metadata={"uid": 2})),
    "a key twice": (b'{"a":1,"b":1}', b'{"a":1,"b":1,"a":2}'),
    "depth": (pods(a=[[[[[[[[[[1]]]]]]]]]]), pods(a=[[[[[[[[[[2]]]]]]]]]])),
    "a huge text's last letter": (pods(a="x" * 2_000_000 + "y"), pods(a="x" * 2_000_000 + "z")),
    "among thousands of others": (pods(a={f"k{at}": 1 for at in range(30_000)}), pods(a={f"k{at}": int(at != 29_999) for at in range(30_000)})),
}  # fmt: skip


@pytest.mark.promise("P-15")
@pytest.mark.parametrize("name", HIDDEN)
def test_what_hides_a_change_is_a_row_all_the_same(name: str, honest: redaction.Engine, bare: redaction.Engine) -> None:
    """Also without masks; whoever prints a row as ASCII or leaves out what nobody can see loses none of it."""
    before, after = (each if isinstance(each, bytes) else json.dumps(each).encode() for each in HIDDEN[name])
    for masked in (honest, bare):
        found = masked.changes(call(body=b"{}"), before, after, lambda _: None).rows
        assert found
        assert len(set(found)) == len(found)
        assert all((row.old, row.new) != (row.new, row.old) or row.masked for row in found)
        for row in found:
            assert row.path.isascii() and row.path.isprintable()
            assert all(text is None or text.isprintable() for text in (row.old, row.new))
            assert SECRET not in repr(row) or masked is not honest
        assert not masked.changes(call(), after, after, lambda _: None).rows


LONG: Final[dict[str, Callable[[], tuple[Object, Object]]]] = {
    "a long text": lambda: ({"a": "x" * 2_900_000}, {"a": "y" * 2_900_000}),
    "a longer text": lambda: ({}, {"a": "y" * 3_200_000}),
    "many fields": lambda: ({}, {"a": {f"k{at}": 1 for at in range(19_000)}}),
    "more fields": lambda: ({}, {"a": {f"k{at}": 1 for at in range(30_000)}}),
    "a long key": lambda: ({}, {"k" * 1_000_000: {f"k{at}": 1 for at in range(5)}}),
    "a longer key": lambda: ({}, {"k" * 1_000_000: {f"k{at}": 1 for at in range(9)}}),
    "short secrets": lambda: (
        {},
        {"env": [{"name": f"PASSWORD{at}", "value": SECRET + str(at)} for at in range(9_000)]},
    ),
    "letters that need escapes": lambda: ({}, {"a": "\x00" * 500_000}),
    "letters that need them twice": lambda: ({}, {"a": "\\" * 1_400_000, "b": "\x00" * 500_000}),
}
REFUSED: Final = {"a longer text", "more fields", "a longer key", "letters that need them twice"}


@pytest.mark.promise("P-15")
@pytest.mark.parametrize("name", LONG)
def test_a_change_is_shown_whole_or_refused(name: str, honest: redaction.Engine) -> None:
    """No row is cut and none is left out, however long the others are."""
    before, after = (
        json.dumps({"spec": each | {"image": image}}).encode()
        for each, image in zip(LONG[name](), ("a", "evil"), strict=True)
    )
    found: tuple[inspection.Row, ...] | None = None
    with contextlib.suppress(errors.RedactionError):
        found = honest.changes(call(), before, after, lambda _: None).rows
    assert (found is None) == (name in REFUSED)
    assert found is None or found[-1].path == "spec.image"
    assert honest.changes(call(), b'{"a":1}', b'{"a":2}', lambda _: None).rows == (inspection.Row("a", "1", "2"),)


ASKED: Final = {
    "a key that a list has twice": b'{"spec":{"containers":[{"name":"web"},{"name":"web","image":"evil:1"}]}}',
    "an item without a name": b'{"spec":{"containers":[{"image":"evil:1"}]}}',
    "an item by another field": b'{"spec":{"containers":[{"name":["web"],"image":"evil:1"}]}}',
    "a directive": b'{"spec":{"$setElementOrder/containers":[]}}',
    "a directive above": b'{"$patch":"merge"}',
    "a directive below": b'{"spec":{"containers":[{"name":"web","$patch":"merge"}]}}',
    "null": b'{"spec":null}',
    "a text for a list": b'{"spec":{"containers":"evil:1"}}',
    "a path with escapes": b'[{"op":"add","path":"/spec/containers/0/image"}]',
    "a path to another place": b'[{"op":"add","path":"/spec/containers/7/image"}]',
    "a path with a sign": b'[{"op":"add","path":"/spec/containers/-"}]',
    "the path of all": b'[{"op":"replace","path":""}]',
    "a path that is none": b'[{"op":"replace","path":7}]',
    "no operation": b'["evil:1"]',
    "an operation that is unknown": b'[{"op":"TEST","path":"/spec/containers/0/image"}]',
    "steps without end": b'[{"op":"add","path":"/spec/containers/0/image' + b"/a" * 50_000 + b'"}, {"op":"add","path":"/spec"}]',
}  # fmt: skip


@pytest.mark.promise("P-15")
@pytest.mark.parametrize("name", ASKED)
def test_no_change_of_a_request_passes_for_one_of_the_api_server(name: str, honest: redaction.Engine) -> None:
    """Where a request may have named a field, its row says so: rows of the server's are looked at less."""
    before, after = (json.dumps(pods(each)).encode() for each in (WEB, EVIL))
    (row,) = honest.changes(call(body=ASKED[name]), before, after, lambda _: None).rows
    assert row == inspection.Row("spec.containers[web].image", '"nginx:1"', '"evil:1"')


# Slow


@dataclass(frozen=True, slots=True)
class Slow:
    """Three documents that somebody made to be slow, of some size."""

    before: Callable[[int], Any]
    after: Callable[[int], Any]
    asked: Callable[[int], Any] = lambda _: {}


def nested(levels: int, inside: Any, key: str = "k") -> Any:
    """Objects within objects."""
    for _ in range(levels):
        inside = {key: inside}
    return inside


def named(count: int, value: Any = 1) -> list[Object]:
    return [{"name": f"n{at}", "v": value} for at in range(count)]


def account(size: int) -> Any:
    """A service account within a service account, each of which is compared."""
    return nested(90, {"name": "x" * size}, "serviceAccount")


SLOW: Final = {
    "many fields": Slow(lambda n: {f"k{at}": 1 for at in range(n)}, lambda n: {f"k{at}": 2 for at in range(n)}),
    "deep fields": Slow(lambda n: [nested(90, 1)] * (n // 90), lambda n: [nested(90, 2)] * (n // 90)),
    "items in reverse": Slow(named, lambda n: named(n)[::-1], lambda n: named(n)[::-1]),
    "items that are asked for by no name": Slow(named, lambda n: named(n, 2), lambda n: [{"v": 2}] * n),
    "items of one name": Slow(lambda n: [{"name": "a"}] * n, lambda n: [{"name": "a", "port": 1}] * n, lambda n: [{"name": "a"}] * n),
    "lists within items": Slow(lambda n: [{"x": [{"y": [at]}]} for at in range(n // 3)], lambda n: [{"x": [{"y": [-at]}]} for at in range(n // 3)]),
    "long keys": Slow(lambda n: {}, lambda n: {"k" * n: dict.fromkeys(map(str, range(n // 8)), 1)}),
    "settings at many places": Slow(lambda n: [], lambda n: [nested(80, {"privileged": True, "hostPath": "/"})] * (n // 80)),
    "accounts within accounts": Slow(lambda n: {}, lambda n: account(50 * n)),
    "finalizers": Slow(lambda n: {"finalizers": list(map(str, range(n)))}, lambda n: {"finalizers": list(map(str, range(n)))[::-1]}),
    "letters nobody sees": Slow(lambda n: "", lambda n: "\u200b" * 20 * n),
    "secrets": Slow(lambda n: [{"name": f"PASSWORD{at}", "value": SECRET} for at in range(n // 8)], lambda n: [{"name": f"PASSWORD{at}", "value": OTHER} for at in range(n // 8)]),
    "images": Slow(lambda n: [], lambda n: [{"containers": [{"image": "a"}]}] * (n // 4)),
}  # fmt: skip
VALUES: Final = 8_000
SMALL_S: Final = 0.4
"""What costs less is too little to compare."""
RATIO: Final = 3.0
MOST_S: Final = 8.0


@pytest.fixture(scope="module")
def rules() -> bodies.Rules:
    made = bodies.Rules(masking.Settings(key=b"a key"), inspector.PROGRAM)
    warmup.rehearse(made)
    return made


def spent(rules: bodies.Rules, attack: Slow, size: int) -> float:
    """Processor seconds that a masker needs; those of one that gives up count too."""
    parts = [json.dumps({"spec": make(size)}, ensure_ascii=False).encode() for make in (attack.before, attack.after)]
    asked = attack.asked(size)
    body = json.dumps({"spec": asked}).encode()
    order = inspection.Order(comparison=inspection.Comparison(len(parts[0]), len(parts[1]), "patch"))
    about = masking.Body(program=msgspec.Raw(msgspec.json.encode(order)))

    def work() -> None:
        with contextlib.suppress(differences.ComparisonError):
            b"".join(rules.body(about, iter((*parts, body)), lambda _: None))

    # The least of three: whatever else the machine does makes none of them shorter.
    return min(doubling.cost(work, cap=2 * MOST_S) for _ in range(3))


@pytest.mark.promise("S-07")
@pytest.mark.parametrize("name", SLOW)
def test_twice_as_much_costs_twice_the_time_to_compare(name: str, rules: bodies.Rules, attacks: Count) -> None:
    """Whatever the objects and the request hold: a part is measured, and the whole where that grows too much."""
    attacks(2)
    seconds = functools.partial(spent, rules, SLOW[name])
    if doubling.is_in_proportion(seconds, VALUES):
        return
    once, twice = seconds(VALUES), seconds(2 * VALUES)
    assert twice < MOST_S
    assert once < SMALL_S or twice < RATIO * once
