"""A program can reverse, slice, hash or spell what it reads. What never entered the sandbox cannot leave it that way.

Each transformation reads a planted value through the real broker in a real sandbox and brings it out in another form;
its inverse is applied to everything that left. The same transformations run against a server that redacts nothing,
where each must succeed: else this test could not fail.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import anyio
import pytest

from kubescript import accesses, app, config, contexts, evaluator, types
from kubescript.policy import denied_resources, kind_resolver, policy
from kubescript_sandbox.host import spawner
from security_tests.redaction import judge, planted
from security_tests.redaction.asking import PREFACE, Ask, asked, rebuilt, undone
from security_tests.redaction.transformations import TRANSFORMATIONS
from tests.kit import cases, extent, patience, reading

Count = Callable[[int], None]

_FLOOD = 40 << 20


@pytest.fixture(scope="module")
def guarded(source: spawner.Spawner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """The product as it is."""
    settings = config.Settings(snapshot=planted.snapshot(tmp_path_factory.mktemp("guarded")))
    with app.opened(settings, source) as parts:
        yield asked(parts.operator.evaluator)


@pytest.fixture(scope="module")
def bare(source: spawner.Spawner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """The same without redaction."""
    settings = config.Settings(snapshot=planted.snapshot(tmp_path_factory.mktemp("bare")))
    with app.opened(settings, source) as parts:
        door = reading.made(
            parts.operator.contexts.default.cluster,
            policy.Policy("off", (), denied_resources.DEFAULT_RULES),
            resolve=kind_resolver.KindResolver(parts.operator.contexts.default.cluster),
        )
        yield asked(
            evaluator.Evaluator(
                settings,
                evaluator.Host(parts.executor),
                contexts.Contexts({"": accesses.ClusterAccess(parts.operator.contexts.default.cluster, door)}),
            )
        )


@pytest.mark.promise("S-05")
def test_every_transformation_leaks_where_nothing_is_redacted(bare: Ask, attacks: Count) -> None:
    """Without redaction each transformation brings the planted value out, so that the test beside this one can fail."""
    attacks(0)
    text, values = planted.SOURCES["configmap"]

    def leak(name: str) -> None:
        answered = bare(PREFACE.format(source=text) + TRANSFORMATIONS[name].script)
        found = undone(name, answered)
        assert any(planted.VALUES[value] in found for value in values), (answered, found)

    cases.check(list(TRANSFORMATIONS), leak)


@pytest.mark.promise("S-05")
def test_every_source_leaks_where_nothing_is_redacted(bare: Ask, attacks: Count) -> None:
    """Without redaction each source gives its planted values to a script."""
    attacks(0)

    def leak(source: tuple[str, tuple[str, ...]]) -> None:
        text, values = source
        answered = bare(PREFACE.format(source=text) + "s")
        assert all(planted.VALUES[value] in answered.body for value in values), answered

    cases.check(planted.SOURCES, leak)


def pairs() -> list[tuple[str, str]]:
    """Each transformation with each source; in `make test` with three of them, and with each source a third of all."""
    return [
        (name, source)
        for at, name in enumerate(TRANSFORMATIONS)
        for place, source in enumerate(planted.SOURCES)
        if extent.LONG or (at + place) % 3 == 0
    ]


@pytest.mark.sampled
@pytest.mark.promise("S-05")
def test_no_transformation_rebuilds_a_planted_value(guarded: Ask, attacks: Count) -> None:
    """From the whole answer to any transformation of any source, no inverse makes a planted value."""

    def attack(pair: tuple[str, str]) -> None:
        name, source = pair
        text, values = planted.SOURCES[source]
        answered = guarded(PREFACE.format(source=text) + TRANSFORMATIONS[name].script)
        found = rebuilt(answered)
        assert [value for value in values if planted.VALUES[value] in found] == [], answered
        assert "not captured" not in answered.text, answered

    attacks(len(pairs()))
    cases.check(pairs(), attack)
    assert guarded("6 * 7").text == "42"


CUT = """
out = []
for size in range(40, 260, 4):
    text = k8s.coreV1().read_namespaced_pod_log('planted', 'default', limit_bytes=size)
    out.append(text[-60:][::-1])
out
"""


@pytest.mark.promise("S-05")
def test_a_script_cannot_have_a_token_cut_into_the_open(guarded: Ask, bare: Ask, attacks: Count) -> None:
    """A log that a script has cut in the middle of a token (limit_bytes) does not give the token's beginning."""
    attacks(55)
    start = planted.VALUES["cut"][:20][::-1]
    assert start in bare(CUT).text
    assert start not in guarded(CUT).text


GUESS = f"db_password={planted.VALUES['dull']}"
READ = planted.SOURCES["environment"][0]
GUESSES = {
    "result": f"[{READ}.split('|')[0], {GUESS!r}]",
    "printed": f"print({GUESS!r})\n{READ}.split('|')[0]",
    "exception": f"raise ValueError({READ}.split('|')[0] + ' ' + {GUESS!r})",
    "progress": f"ctx.progress(1, 1, {GUESS!r})\n{READ}.split('|')[0]",
    "name not found": f"out = [{READ}.split('|')[0]]\ntry:\n    k8s.coreV1().read_namespaced_pod({GUESS!r}, 'default')\nexcept Exception as e:\n    out.append(str(e) + str(e.body))\nout",
    "refused name": f"out = [{READ}.split('|')[0]]\ntry:\n    k8s.coreV1().read_namespaced_pod('a/' + {GUESS!r}, 'default')\nexcept Exception as e:\n    out.append(str(e))\nout",
    "label selector": f"out = [{READ}.split('|')[0]]\ntry:\n    k8s.coreV1().list_namespaced_pod('default', label_selector='!! ' + {GUESS!r})\nexcept Exception as e:\n    out.append(str(e) + str(e.body))\nout",
}  # fmt: skip


@pytest.mark.promise("S-10")
def test_a_guess_is_not_confirmed(guarded: Ask, attacks: Count) -> None:
    """A script's own words never get the mask that the same value has in the cluster, whichever way they are masked; a
    whole constant of the script's is not masked."""

    def guess(script: str) -> None:
        answered = guarded(script)
        everything = "\n".join([answered.text, *(text for _, text in answered.progress)])
        cluster, *guesses = [match[2] for match in judge.MASK.finditer(everything)]
        assert guesses or repr(GUESS).strip("'") in everything, answered
        assert cluster not in guesses, answered

    attacks(len(GUESSES))
    cases.check(GUESSES, guess)


@pytest.mark.promise("S-08")
def test_the_record_holds_no_value(source: spawner.Spawner, tmp_path: Path, attacks: Count) -> None:
    """With everything on record that can be, answers and what scripts saw included, no file of it holds a planted value."""
    names = ["as it is", "printed", "exception text", "name not found", "label selector"]
    attacks(len(names) * len(planted.SOURCES))
    (tmp_path / "saved").mkdir()
    kept = config.Audit(file=tmp_path / "audit" / "audit.jsonl", scripts=True, responses=True)
    (tmp_path / "audit").mkdir()
    with app.opened(config.Settings(snapshot=planted.snapshot(tmp_path / "saved"), audit=kept), source) as parts:
        ask = asked(parts.operator.evaluator)
        for name in names:
            for text, _ in planted.SOURCES.values():
                assert "audit." not in ask(PREFACE.format(source=text) + TRANSFORMATIONS[name].script).text
    files = [path for path in (tmp_path / "audit").rglob("*") if path.is_file()]
    texts = {path.name: path.read_bytes() for path in files}
    assert b"planted" in b"".join(texts.values())
    assert {
        name: planted.leaked(data.decode("utf-8", "replace"))
        for name, data in texts.items()
        if planted.leaked(data.decode("utf-8", "replace"))
    } == {}
    assert {
        name for name, data in texts.items() for value in planted.VALUES.values() if value.encode() in data
    } == set()


@pytest.mark.promise("S-07")
def test_a_script_ends_in_time_while_its_answer_is_masked(
    source: spawner.Spawner, tmp_path: Path, attacks: Count
) -> None:
    """A log that is a flood of secrets does not keep a script, nor the server, beyond the script's time; the next script
    runs as ever."""
    attacks(1)
    folder = planted.snapshot(tmp_path)
    log = folder / "logs" / "default" / "planted" / "app.log"
    line = f"2026-03-04T05:06:07.000000001Z password={planted.VALUES['log']}\n"
    log.write_text(line * (_FLOOD // len(line)))
    settings = config.Settings(snapshot=folder)
    with app.opened(settings, source) as parts:
        started = time.monotonic()
        script = planted.SOURCES["log"][0]
        answer: types.Answer = anyio.run(parts.operator.evaluator.evaluate, f"len({script})", 1_000, None)
        assert "limit.time" in answer.text
        assert time.monotonic() - started < patience.scaled(6)
        assert (
            planted.leaked(
                asked(parts.operator.evaluator)(f"{PREFACE.format(source=planted.SOURCES['event'][0])}s").text
            )
            == []
        )
