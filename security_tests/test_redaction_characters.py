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


NOTHING: Final = (
    "\u200b",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\u202e",
    "\ufe0f",
    "\x07",
    "\x00",
    "\x1b[1m",
    "\x08",
    "\U000e0041",
)
"""What a terminal shows as nothing."""
HIDING: Final = {
    **{f"{each!a} in the name": f"pass{each}word={{}}" for each in NOTHING},
    **{f"{each!a} in the value": f"password=Tr0ub{each}4dor-3{{}}" for each in NOTHING},
    **{f"{each!a} behind the sign": f"password={each}{{}}" for each in NOTHING},
    **{f"{each!a} as a blank": f"password:{each}{{}}" for each in ("\u00a0", "\u2009", "\u202f", "\u3000")},
    "full-width letters": "ｐａｓｓｗｏｒｄ＝{}",
    "a full-width sign": "password＝{}",
    "bold by overstriking": "".join(f"{letter}\x08{letter}" for letter in "password") + "={}",
    "underlined": "".join(f"_\x08{letter}" for letter in "password") + "={}",
}  # fmt: skip
"""Lines in which a reader sees a password, and a search for `password=` finds none."""
CHARSETS: Final = ("utf-16-le", "utf-16-be", "utf-16", "utf-32-le")


@pytest.mark.promise("S-05")
def test_a_log_is_searched_as_a_reader_sees_it(attacks: Count) -> None:
    """Letters that are not seen, and letters that only look like ASCII, hide no password in a log."""
    attacks(len(HIDING))
    masking = engine.fresh()
    for way, line in HIDING.items():
        masked = text(masking, f"one\n{line.format(PASSWORD)}\nthree\n")
        assert PASSWORD not in masked and "Tr0ub" not in masked, (way, masked)
        assert masked.startswith("one\n") and masked.endswith("\nthree\n\n"), way


@pytest.mark.promise("S-05")
def test_a_log_in_utf_16_is_searched(attacks: Count) -> None:
    """Programs of Windows write it, with a zero in every other byte."""
    attacks(len(CHARSETS))
    masking = engine.fresh()
    for charset in CHARSETS:
        log = f"one\npassword={PASSWORD}\nthree\n".encode(charset)
        masked = engine.masked(masking, floods.log(log))
        assert PASSWORD.encode() not in masked.replace(b"\x00", b""), charset


@pytest.mark.promise("S-05")
def test_a_line_without_a_secret_stays_as_it_was_written() -> None:
    """Whatever it has of such letters."""
    masking = engine.fresh()
    for line in ("日本語　の　ログ：ＡＰＩ　ＯＫ", "👩‍👩‍👧 ❤️ fine", "a\u00a0b\u200bc\x07"):
        assert text(masking, line) == line + "\n"


@pytest.mark.promise("S-05")
def test_an_overstruck_line_end_moves_no_mask(attacks: Count) -> None:
    """A backspace between two line ends made one line of two in what was searched: the password below was not found."""
    attacks(2)
    masking = engine.fresh()
    for ends in ("\n\x08\n", "\n\x08\n\x08\n"):
        masked = text(masking, f"GET /login?next={ends} HTTP/1.1\nlogin ok\ndb password={PASSWORD} connected\nbye")
        assert PASSWORD not in masked and "bye\n" in masked


SHIFTING: Final = (
    "GET /login?user=eve&password=Ab3dEf6hJk＝ upstream",
    "q=：: password=A1b2c3d4e5 |",
    "login pw=Ab3dEf6hJk＝ |",
    'ua= "curl" |',
)


@pytest.mark.promise("S-01")
def test_no_word_of_a_line_moves_what_is_found_behind_it(attacks: Count) -> None:
    """A full-width sign, which is shorter in what is searched, and a quote that made a type of a password."""
    attacks(2 * len(SHIFTING))
    masking = engine.fresh()
    for lead in SHIFTING:
        assert PASSWORD not in text(masking, f"{lead} db password={PASSWORD} end")
        assert PASSWORD not in text(masking, f"db password={PASSWORD} | {lead}")
