"""Finds passwords in command lines by their place among the arguments of known programs (`commands.toml`).

A shell line and a list of arguments are read alike, as words with their places. A program's arguments end where the
shell would end its command.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubescript_masking.rules import names, values
from kubescript_masking.text import json_strings, linear, placeholders
from kubescript_masking.text.spans import Span

__all__ = ["FIRST", "command", "find_listed"]

_BACK: Final = 4_096
_AHEAD: Final = 8_192
_DEPTH: Final = 2
"""How deeply quotes within quotes are read."""
_WORDS: Final = 200
"""How many words of one command are read."""
_WORD: Final = linear.build(
    rb"(?s)(?:[\w:%](?:&[\w!%^*+=@-])+|[^\s\"'\\;|&`]|\\[^\n]|\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\"'])+|\\\r?\n|[;|&`\n]"
)
"""A word of a shell line; an ampersand within a word is part of a URL."""
# A line may name a program in every word.
_ROOM, _LEAST = 2_000, 12
"""How many words of all commands of a line are read in total, and how many of each at least."""
# Every SNMP agent uses these community names.
_PUBLISHED: Final = frozenset({b"public", b"private"})
_LIST_BACK, _LIST_WORDS = 2_048, 400
_LITERAL: Final = linear.build(rb"--from-literal[= ][\"']?(?:user(?:name)?=|\w[\w.-]{0,99}=([^\s\"'`]{1,300}))")


@dataclass(frozen=True, slots=True)
class Word:
    """One argument and its place."""

    text: bytes
    start: int

    def part(self, at: int, end: int | None = None) -> Word:
        """Returns a part of the word."""
        text = self.text[at:end]
        return Word(text, self.start + at)

    def behind(self, sign: bytes) -> Word:
        """Returns the part after a sign."""
        at = self.text.index(sign)
        return self.part(at + len(sign))


_NO_WORD: Final = Word(b"", 0)


@dataclass(frozen=True, slots=True)
class _Command:
    """Where a program takes its passwords."""

    options: tuple[tuple[bytes, bytes, bool], ...]
    """Options, each with the sign after which its value is secret, and with whether the value may be the next word."""
    places: tuple[tuple[bytes, ...], ...]
    when: frozenset[bytes]

    def secrets(self, words: Sequence[Word]) -> Iterator[Word]:
        """Yields the words, or parts of words, that are passwords."""
        texts = [word.text for word in words]
        if self.when and self.when.isdisjoint(texts):
            return
        for word, after in itertools.pairwise([*words, _NO_WORD]):
            if word.text.startswith((b"-", b"/p:")):
                yield from self._find_options(word, after)
        for place in self.places:
            yield from _find_places(place, words, texts)

    def _find_options(self, word: Word, after: Word) -> Iterator[Word]:
        for option, sign, is_apart in self.options:
            value = _find_value(option, word, after if is_apart else _NO_WORD)
            if not value.text or sign not in value.text:
                continue
            is_masked = sign and placeholders.is_masked(value.text)
            if not is_masked:
                yield value.behind(sign)


def _find_value(option: bytes, word: Word, after: Word) -> Word:
    """Returns an option's value, joined or the next word; an empty word when it has none."""
    text = word.text
    if text == option:
        return _NO_WORD if after.text.startswith(b"-") else after
    if not text.startswith(option):
        return _NO_WORD
    size = len(option)
    if text.startswith(b"=", size):
        return word.part(size + 1)
    is_short = size == 2 or option.endswith(b":")
    return word.part(size) if is_short else _NO_WORD


def _find_places(place: tuple[bytes, ...], words: Sequence[Word], texts: list[bytes]) -> Iterator[Word]:
    """Yields the words at a place, which the words before it determine; options are skipped."""
    lead = [sign for sign in place if sign not in _SIGNS]
    size = len(lead)
    found = (at + size for at in range(len(texts)) if texts[at : at + size] == lead)
    begin = next(found, len(words))
    rest = [word for word in words[begin:] if not word.text.startswith(b"-")]
    for number, (sign, word) in enumerate(zip(place[size:], rest, strict=False)):
        if not _fits(sign, word.text):
            return
        if sign == b"*":
            yield word
        elif sign == b"=*":
            settings = [each for each in rest[number:] if b"=" in each.text]
            yield from (setting.behind(b"=") for setting in settings)
        elif sign in _PAIRS:
            pair = _PAIRS[sign].fullmatch(word.text)
            if pair is not None:
                start, end = pair.span(1)
                yield word.part(start, end)


def _fits(sign: bytes, word: bytes) -> bool:
    """Says whether a word fits a place's sign."""
    if sign == b"?":
        name = word.rpartition(b":")[2]
        kind = names.kind(name.decode("utf-8", "replace"))
        return b"/" not in name and kind != ""
    return sign != b"*" or not values.is_setting(word)


_PAIRS: Final = {sign: linear.build(rb"[\w.@-]+" + sign[1:] + rb"([^\s@]+)(?:@\S*)?") for sign in (b"*:", b"*/")}
_SIGNS: Final = frozenset({b"_", b"?", b"*", b"*:", b"*/", b"=*"})


def _split(words: str) -> tuple[bytes, ...]:
    """Returns the words of a row's text."""
    parts = words.encode().split()
    return tuple(parts)


def _read(data: dict[str, Any]) -> _Command:
    options = [(option, b"", False) for option in _split(data.get("joined", ""))]
    apart = data.get("pair", {}) | {"": data.get("value", "")}
    for sign, words in apart.items():
        options += [(option, sign.encode(), True) for option in _split(words)]
    return _Command(
        options=tuple(options),
        places=tuple(map(_split, data.get("places", ()))),
        when=frozenset(_split(data.get("when", ""))),
    )


_DATA: Final = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))["commands"]
_TABLE: Final[dict[bytes, list[_Command]]] = {}
FIRST: Final[dict[str, str]] = {}
"""Every known program, and what its first argument may begin with; an empty string stands for anything."""
for _each in _DATA:
    for _program in str(_each["programs"]).split():
        FIRST[_program] = _each.get("first", FIRST.get(_program, ""))
        _TABLE.setdefault(_program.encode(), []).append(_read(_each))


def _find_secrets(words: Sequence[Word]) -> Iterator[Word]:
    """Yields the passwords among the words of a command line, which may contain several commands."""
    room = _ROOM
    for at, word in enumerate(words, start=1):
        file = word.text.rpartition(b"/")[2]
        program = file.removesuffix(b".sh").removesuffix(b".exe")
        for command in _TABLE.get(program, ()):
            most = max(_LEAST, min(_WORDS, room))
            behind = words[at : at + most]
            arguments = list(itertools.takewhile(_is_argument, behind))
            room -= len(arguments)
            yield from command.secrets(arguments)


def _is_argument(word: Word) -> bool:
    return word.text not in _ENDS


_ENDS: Final = frozenset({b";", b"|", b"&", b"`", b"\n"})


def command(text: bytes, end: int) -> Iterator[Span]:
    """Yields the passwords of the line around a place, then a span without a kind that ends where reading ended."""
    low = max(0, end - _BACK)
    above = text.rfind(b"\n", low, max(0, end - 1))
    start = max(above + 1, low)
    limit = min(len(text), end + _AHEAD)
    stop = _find_end(text, end, limit)
    yield from _read_line(text, start, stop)
    for literal in _LITERAL.finditer(text, start, stop):
        if literal[1] and values.is_secret(literal[1], "password"):
            first, last = literal.span(1)
            yield Span(first, last, "flag-password")
    yield Span(stop, stop, "")


def _find_end(text: bytes, start: int, limit: int) -> int:
    """Returns where the line ends; a backslash at its end continues it."""
    stop = text.find(b"\n", start, limit)
    while stop > 0 and text.endswith(b"\\", 0, stop):
        stop = text.find(b"\n", stop + 1, limit)
    return stop if stop >= 0 else limit


def _read_line(text: bytes, start: int, stop: int, depth: int = 0) -> Iterator[Span]:
    words: list[Word] = []
    for found in _WORD.finditer(text, start, stop):
        word = found[0]
        is_continuation = word.startswith(b"\\") and word.endswith(b"\n")
        if is_continuation:
            continue
        words.append(_strip(word, found.start()))
        if b" " in word and depth < _DEPTH:  # the argument of `sh -c`, or a quote in a message
            yield from _read_line(text, found.start() + 1, found.end() - 1, depth + 1)
    for secret in _find_secrets(words):
        value = _strip(secret.text, secret.start)
        if _is_secret(value.text):
            end = value.start + len(value.text)
            yield Span(value.start, end, "flag-password")


def _is_secret(value: bytes) -> bool:
    """Says whether a value in a password's place is a password."""
    if value in _PUBLISHED or value.startswith(b"-"):
        return False
    return values.is_secret(value, "password")


def _strip(word: bytes, start: int) -> Word:
    """Returns a word without surrounding quotes, brackets and commas."""
    rest = word.lstrip(b"\\[({\"'")
    bare = rest.rstrip(b",\\\"'")
    return Word(bare, start + len(word) - len(rest))


def find_listed(data: bytes, end: int, done: set[int]) -> Iterator[json_strings.String]:
    """Yields the passwords in a document's list of arguments, in which a program's name ends shortly before a place.
    `done` contains the lists already read, since a list may name a program in every argument."""
    start = data.rfind(b"[", max(0, end - _LIST_BACK), end) + 1
    if start == 0 or start in done:
        return
    done.add(start)
    items = list(itertools.islice(json_strings.items(data, start), _LIST_WORDS))
    if not items or items[-1].end < end:
        return
    words = [Word(data[item.start : item.end], item.start) for item in items]
    for word in _find_secrets(words):
        if _is_secret(word.text):
            last = word.start + len(word.text)
            yield json_strings.String(word.start, last, "password", "flag-")
