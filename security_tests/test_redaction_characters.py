"""A mask never cuts a character of UTF-8 in two: half of one left of a value made the whole call fail (`internal`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from kubescript import redaction
from security_tests.redaction import engine, floods
from tests.kit import cases

pytestmark = pytest.mark.repeatable

Count = Callable[[int], None]

SENTENCES: Final = ("login failed: password is {}", "requirepass {}", 'password="{}"')
LETTERS: Final = ("é", "中", "😀")
SIZES: Final = (62, 63, 200, 201, 400, 512, 2_048, 9_000)
"""Letters of a value, around the bounds of the rules that read it."""
PASSWORD: Final = "Tr0ub4dor-3"


@pytest.mark.promise("S-07")
@cases.each("letter", LETTERS)
def test_a_mask_begins_and_ends_between_characters(letter: str, attacks: Count) -> None:
    """Whatever stays of such a text is UTF-8, and the next text is masked as ever."""
    attacks(len(SENTENCES) * len(SIZES))
    masking = engine.fresh()
    for sentence in SENTENCES:
        for size in SIZES:
            masked = text(masking, sentence.format("aX7" + letter * size))
            assert "\ufffd" not in masked
            assert "«redacted:" in masked
    assert PASSWORD not in text(masking, f"password={PASSWORD}")


def text(masking: redaction.Engine, content: str) -> str:
    """A log of this line, masked; raises UnicodeDecodeError for half a character."""
    return engine.masked(masking, floods.log(content.encode() + b"\n")).decode("utf-8", "strict")
