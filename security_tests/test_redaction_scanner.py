"""The scanner finds what its patterns say: what it misses, no reader ever sees."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import pytest

from kubescript_masking.engine import scanner
from kubescript_masking.rules.patterns import PROBES
from kubescript_masking.rules.probes import Probe
from kubescript_masking.rules.shapes import load_shipped
from security_tests.redaction import corpus, engine, probing
from tests.kit import extent

EACH = 300
"""Texts that are made of each pattern."""
PIECE = 800
SAMPLE = 250
"""Pieces that `make test` compares."""
BEFORE = (0, 1, 15, 16, 17, 20, 31, 33, 48, 65, 100)
"""Bytes before a match: a vector of the scanner holds 16, 32 or 64."""
EVERY = scanner.Scanner([*PROBES, *(rule.probe for rule in load_shipped())], engine.DIRECTORY)

pytestmark = pytest.mark.repeatable

Missed = list[tuple[str, bytes]]


def made(pattern: str) -> Iterator[bytes]:
    """Texts with a match of the pattern, at any distance from their beginning."""
    chance = random.Random(pattern)
    for _ in range(EACH):
        before = bytes(chance.choices(b"abcdefghij 0123456789.:xyz_-|", k=chance.choice(BEFORE)))
        after = chance.choice((b"", b" x", b'"}', b"\n the next line, with words"))
        yield before + chance.choice((b" ", b"\n", b"", b'"')) + probing.example(pattern, chance) + after


def sampled() -> Iterator[bytes]:
    """Pieces of every document of the corpus."""
    chance = random.Random("pieces")
    for part in (corpus.main, corpus.held_out, corpus.third, corpus.grammar, corpus.fourth):
        for document in part():
            at = chance.randrange(max(1, len(document.body) - PIECE))
            yield document.body[at : at + PIECE]


def missed(scan: scanner.Scanner, texts: dict[int, list[bytes]]) -> tuple[int, Missed]:
    """How many matches Python's `re` finds of each pattern in its texts, and those that the scanner does not."""
    count, found = 0, []
    hits: dict[bytes, set[scanner.Hit]] = {}
    for number, probe in enumerate(EVERY.probes):
        for text in texts.get(number, ()):
            reported = hits[text] if text in hits else hits.setdefault(text, set(scan.scan(text)))
            for match in probing.compiled(probe.pattern).finditer(text):
                count += match.end() > 0
                if match.end() > 0 and (number, match.end()) not in reported:
                    found.append((probe.id, text[max(0, match.start() - 40) : match.end()]))
    return count, found


@pytest.mark.promise("S-01")
def test_probes_find_what_they_say(attacks: Callable[[int], None]) -> None:
    """Each pattern is found in the texts that are made from it, wherever in a text and beside whatever, as Python's `re` finds it."""
    texts = {number: list(made(probe.pattern)) for number, probe in enumerate(EVERY.probes)}
    count, misses = missed(EVERY, texts)
    attacks(count)
    assert count > 30 * len(EVERY.probes)
    assert misses == []


@pytest.mark.sampled
@pytest.mark.promise("S-01")
def test_probes_find_in_the_corpus_what_they_say(attacks: Callable[[int], None]) -> None:
    """In pieces of every document of the corpus the scanner finds each match that Python's `re` finds."""
    pieces = extent.some(list(sampled()), SAMPLE)
    count, misses = missed(EVERY, {number: list(pieces) for number in range(len(EVERY.probes))})
    attacks(count)
    assert count > 4 * len(pieces)
    assert misses == []


@pytest.mark.promise("S-01")
def test_the_comparison_can_fail(attacks: Callable[[int], None]) -> None:
    """A scanner that misses what a pattern says is told: one whose patterns want two more letters misses them all."""
    attacks(0)
    blind = scanner.Scanner([Probe(probe.id, "zq" + probe.pattern) for probe in EVERY.probes[:20]])
    texts = {number: list(made(probe.pattern)) for number, probe in enumerate(EVERY.probes[:20])}
    count, misses = missed(blind, texts)
    assert len(misses) == count > 500
