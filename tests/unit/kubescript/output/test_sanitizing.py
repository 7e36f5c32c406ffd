"""What no text may carry outside, and what must stay readable in every language."""

from __future__ import annotations

import json
import logging
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kubescript import logs
from kubescript.output import sanitizing

ATTACKS = {
    "colours": ("\x1b[1;31mfailed\x1b[0m", "failed"),
    "eight-bit CSI": ("\x9b31mred", "red"),
    "a broken-off sequence at the end": ("tail\x1b[3", "tail3"),
    "half a sequence before a number": ("name\x1b[: 12 errors", "name: 12 errors"),
    "half a sequence before an equals sign": ("name\x1b[=12 pods", "name=12 pods"),
    "half a short sequence before a number": ("name\x1b, 12 errors\x1b(7)", "name, 12 errors(7)"),
    "the usual character set": ("\x1b(Bok", "ok"),
    "a hyperlink": ("see \x1b]8;;https://evil.example\x1b\\the docs\x1b]8;;\x1b\\.", "see the docs."),
    "a window title": ("\x1b]0;owned\x07ok", "ok"),
    "the clipboard": ("\x1b]52;c;cm0gLXJm\x07ok", "ok"),
    "a device control string": ("\x1bPq#0;2\x1b\\ok", "ok"),
    "a privacy message": ("\x1b^hidden\x1b\\ok", "ok"),
    "terminal reset": ("\x1bcok", "ok"),
    "a sequence inside a sequence": ("\x1b\x1b[31m[31mx", "[31mx"),
    "an unterminated string does not swallow its line": ("\x1b]8;;x rest\nnext", "8;;x rest\nnext"),
    "backspaces over a word": ("safe\b\b\b\bevil", "safeevil"),
    "carriage return over a line": ("real\rfake", "real\nfake"),
    "right-to-left override": ("user\u202etxt.exe", "usertxt.exe"),
    "isolates": ("\u2066a\u2069", "a"),
    "zero-width": ("pass\u200bword\u2060\ufeff", "password"),
    "joiner between Latin letters": ("pass\u200dword", "password"),
    "tag characters": ("hi\U000e0049\U000e0067\U000e006e", "hi"),
    "variation selectors as bytes": ("x\ufe01\ufe02\U000e0101", "x"),
    "blank letters": ("a\u3164\u115fb", "ab"),
    "half a surrogate pair": ("a\ud800b", "a\ufffdb"),
    "null": ("a\x00b", "ab"),
}


@pytest.mark.parametrize("case", ATTACKS)
def test_what_hides_is_removed(case: str) -> None:
    """Escape sequences go as a whole, invisible characters one by one; what is between them stays."""
    attack, expected = ATTACKS[case]
    assert sanitizing.clean(attack) == expected


SIGNS = frozenset([*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD])
"""Format characters that a reader sees: signs round or above the digits behind them."""


def test_no_format_character_passes_that_nobody_sees() -> None:
    """All of Unicode's category Cf; the joiners of hieroglyphs passed."""
    formats = {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"} - SIGNS
    assert len(formats) > 100
    assert {code for code in formats if sanitizing.clean(f"a{chr(code)}b") != "ab"} == set()
    assert all(sanitizing.clean(f"{chr(code)}1") == f"{chr(code)}1" for code in SIGNS)


@pytest.mark.parametrize(
    "text",
    [
        "line\n\tindented\n",
        "👨‍👩‍👧 ❤️ ❤️‍🔥 🏳️‍🌈 👍🏽 1️⃣ ☎︎ 🇩🇪",
        "שלום עולם — مرحبا بالعالم",
        "می‌خواهم",
        "क्‍ष क्ष",
        "naïve café, 日本語、한국어, Ελληνικά",
        "-> → ✓ │ ─ … “quoted”",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    """Newlines, tabs, emoji with their joiners, and scripts that run from right to left are no attack."""
    assert sanitizing.clean(text) == text


HOSTILE = st.text(
    st.one_of(
        st.sampled_from("\x1b[]P\\;\x07\x9b\x9c\x9d\x90m\n\r\u200d\u200c\ufe0e\ufe0f❤🔥a1\u202e\U000e0041\ud800"),
        st.characters(),
    ),
    max_size=40,
)


@settings(max_examples=500, deadline=None)
@given(HOSTILE)
def test_nothing_invisible_survives_any_text(text: str) -> None:
    """Whatever the text: no control or format character is left but newline, tab and joiners, and cleaning again changes
    nothing."""
    cleaned = sanitizing.clean(text)
    kept = {"\n", "\t", "\u200c", "\u200d", "\u0600", "\u0601", "\u0602", "\u0603", "\u0604", "\u0605", "\u06dd"}
    left = {each for each in cleaned if unicodedata.category(each) in {"Cc", "Cs"}} - kept
    assert not left
    assert not any("\u2028" <= each <= "\u202e" or "\U000e0000" <= each <= "\U000e0fff" for each in cleaned)
    assert sanitizing.clean(cleaned) == cleaned
    cleaned.encode()


@pytest.mark.parametrize(
    "part", ["\x90", "\x1bP", "\x1b]", "\x9b", "\u200d", "❤\ufe0f\u200d", "\x1b[", "\x9d;", "\x1b[;"]
)
def test_no_text_takes_long(part: str) -> None:
    """The time grows with the size, not with its square: four times the text, at most ten times the time."""

    def seconds(size: int) -> float:
        text = part * (size // len(part))
        return min(_timed(text) for _ in range(3))

    assert seconds(400_000) < 10 * seconds(100_000) + 0.05


def _timed(text: str) -> float:
    started = time.thread_time()
    sanitizing.clean(text)
    return time.thread_time() - started


def test_keys_are_texts_too_and_none_is_lost() -> None:
    """Keys are cleaned; two that become equal are both kept."""
    value = {"a\u200b": [{"\x1b[1mb": "\x1b[0mc"}], "a": 1, "n": 2.5, "x": None}
    assert sanitizing.change_texts(value, sanitizing.clean) == {"a": [{"b": "c"}], "a~2": 1, "n": 2.5, "x": None}


def test_the_servers_own_log_is_clean(capsys: pytest.CaptureFixture[str]) -> None:
    """A log line that quotes a stranger stays one line of JSON and moves no cursor."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        logs.configure("info")
        logging.getLogger("kubescript.test").warning("said \x9b2J \u202e and \x1b[31m", extra={"what": "a\u200bb\nc"})
        line = capsys.readouterr().err
    finally:
        root.handlers[:], _ = before
        root.setLevel(before[1])
    assert line.count("\n") == 1
    assert not set(line) & {"\x9b", "\u202e", "\u200b", "\x1b"}
    assert json.loads(line)["what"] == "ab\nc"
