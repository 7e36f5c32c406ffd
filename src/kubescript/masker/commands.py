"""Command lines: passwords by their place, of the programs that take them so (`commands.toml`).

A line of a shell and a list of arguments are read alike: as words, each with its place. A program's words end where the
shell would end its command.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kubescript.masker import linear, names, spans, values
from kubescript.masker.spans import Span

__all__ = ["FIRST", "Word", "command", "is_secret", "secrets"]

_BACK: Final = 4_096
_AHEAD: Final = 8_192
_DEPTH: Final = 2
"""Quotes within quotes."""
_WORDS: Final = 200
"""Words of one command that are looked at."""
_WORD: Final = linear.compiled(
    rb"(?s)(?:[\w:%](?:&[\w!%^*+=@-])+|[^\s\"'\\;|&`]|\\[^\n]|\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\"'])+|[;|&`\n]"
)
"""An ampersand within a word is an address's."""
_ROOM, _LEAST = 2_000, 12
"""Words that all commands of a line may have, and each when there are more: a line may name a program in every word."""
_SETTING: Final = linear.compiled(rb"[a-z_]{2,20}=[^=]")
_PUBLISHED: Final = frozenset({b"public", b"private"})
"""What every agent of SNMP calls its communities."""
_LITERAL: Final = linear.compiled(rb"--from-literal[= ][\"']?(?:user(?:name)?=|\w[\w.-]{0,99}=([^\s\"']{1,300}))")


@dataclass(frozen=True, slots=True)
class Word:
    """One argument, and where it stands."""

    text: bytes
    start: int

    def part(self, at: int, end: int | None = None) -> Word:
        """A piece of it."""
        return Word(self.text[at:end], self.start + at)


@dataclass(frozen=True, slots=True)
class _Command:
    """What a program's arguments say."""

    value: tuple[bytes, ...] = ()
    joined: tuple[bytes, ...] = ()
    prefixed: tuple[bytes, ...] = ()
    pair: dict[bytes, bytes] = field(default_factory=dict)
    """Option → the sign between a user and a password."""
    places: tuple[tuple[bytes, ...], ...] = ()
    when: frozenset[bytes] = frozenset()

    def secrets(self, words: Sequence[Word]) -> Iterator[Word]:
        """The words, or pieces of words, that are passwords."""
        if self.when and self.when.isdisjoint(word.text for word in words):
            return
        for at, word in enumerate(words):
            yield from self._option(word, words[at + 1] if at + 1 < len(words) else None)
        for place in self.places:
            yield from _placed(place, words)

    def _option(self, word: Word, after: Word | None) -> Iterator[Word]:
        if not word.text.startswith((b"-", b"/p:")):
            return
        for option in self.joined:
            if word.text.startswith(option) and len(word.text) > len(option):
                yield word.part(len(option))
        for option in self.value:
            if (found := _valued(option, word, after)) is not None:
                yield found
        for option in self.prefixed:
            found = _valued(option, word, after)
            if found is not None and found.text.startswith(b"pass:"):
                yield found.part(5)
        for option, sign in self.pair.items():
            found = _valued(option, word, after)
            if found is not None and sign in found.text and not spans.is_masked(found.text):
                yield found.part(found.text.index(sign) + 1)


def _valued(option: bytes, word: Word, after: Word | None) -> Word | None:
    """The value of an option: joined or the next word."""
    if word.text == option:
        return after if after is not None and not after.text.startswith(b"-") else None
    if word.text.startswith(option + b"="):
        return word.part(len(option) + 1)
    is_short = len(option) == 2 and option[1:].isalpha()
    return word.part(2) if is_short and word.text.startswith(option) else None


def _placed(place: tuple[bytes, ...], words: Sequence[Word]) -> Iterator[Word]:
    """What stands at a place, behind the words before it; options are passed over."""
    lead = [sign for sign in place if sign not in _SIGNS]
    at = next((at for at in range(len(words)) if [word.text for word in words[at : at + len(lead)]] == lead), None)
    rest = [word for word in words[at + len(lead) :] if not word.text.startswith(b"-")] if at is not None else []
    for number, (sign, word) in enumerate(zip(place[len(lead) :], rest, strict=False)):
        if not _fits(sign, word.text):
            return
        if sign in {b"*:", b"*/"} and (pair := _PAIRS[sign].fullmatch(word.text)) is not None:
            yield word.part(*pair.span(1))
        elif sign == b"*":
            yield word
        elif sign == b"=*":
            yield from (each.part(each.text.index(b"=") + 1) for each in rest[number:] if b"=" in each.text)


def _fits(sign: bytes, word: bytes) -> bool:
    """Whether a word can stand where this sign does."""
    if sign == b"?":
        return bool(names.kind(word.rpartition(b":")[2].decode("utf-8", "replace")))
    if sign == b"//_":
        return word.startswith(b"//")
    return sign != b"*" or not _SETTING.match(word)


_PAIRS: Final = {sign: linear.compiled(rb"[\w.@-]+" + sign[1:] + rb"([^\s@]+)(?:@\S*)?") for sign in (b"*:", b"*/")}
_SIGNS: Final = frozenset({b"_", b"?", b"*", b"*:", b"*/", b"=*", b"//_"})


def _split(words: object) -> tuple[bytes, ...]:
    return tuple(str(words).encode().split()) if words else ()


def _read(data: dict[str, Any]) -> _Command:
    return _Command(
        value=_split(data.get("value")),
        joined=_split(data.get("joined")),
        prefixed=_split(data.get("prefixed")),
        pair={option: sign.encode() for sign, options in data.get("pair", {}).items() for option in _split(options)},
        places=tuple(_split(place) for place in data.get("places", ())),
        when=frozenset(_split(data.get("when"))),
    )


_DATA: Final = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))["commands"]
_TABLE: Final[dict[bytes, list[_Command]]] = {}
FIRST: Final[dict[str, str]] = {}
"""Every program that is known, and what its first argument may begin with; empty: anything."""
for _each in _DATA:
    for _program in str(_each["programs"]).split():
        FIRST[_program] = _each.get("first", FIRST.get(_program, ""))
        _TABLE.setdefault(_program.encode(), []).append(_read(_each))


def secrets(words: Sequence[Word]) -> Iterator[Word]:
    """The passwords among the words of a command line; several commands may follow each other in it."""
    room = _ROOM
    for at, word in enumerate(words):
        for command in _TABLE.get(_called(word.text), ()):
            arguments = _arguments(words, at + 1, max(_LEAST, min(_WORDS, room)))
            room -= len(arguments)
            yield from command.secrets(arguments)


def _called(word: bytes) -> bytes:
    return word.rpartition(b"/")[2].removesuffix(b".sh").removesuffix(b".exe")


def _arguments(words: Sequence[Word], at: int, most: int) -> list[Word]:
    found: list[Word] = []
    for word in words[at : at + most]:
        if word.text in _ENDS:
            break
        found.append(word)
    return found


_ENDS: Final = frozenset({b";", b"|", b"&", b"`", b"\n"})


def command(text: bytes, end: int) -> Iterator[Span]:
    """The passwords of the line around a place; a span without a kind says how far it was read."""
    start = text.rfind(b"\n", max(0, end - _BACK), max(0, end - 1)) + 1
    start = max(start, end - _BACK, 0)
    limit = min(len(text), end + _AHEAD)
    stop = _line_end(text, end, limit)
    yield from _line(text, start, stop)
    for literal in _LITERAL.finditer(text, start, stop):
        if literal[1] and values.is_secret(literal[1], "password"):
            yield Span(literal.start(1), literal.end(1), "flag-password")
    yield Span(stop, stop, "")


def _line_end(text: bytes, start: int, limit: int) -> int:
    """Where the line ends that no backslash continues."""
    stop = text.find(b"\n", start, limit)
    while stop > 0 and text[stop - 1 : stop] == b"\\":
        stop = text.find(b"\n", stop + 1, limit)
    return stop if stop >= 0 else limit


def _line(text: bytes, start: int, stop: int, depth: int = 0) -> Iterator[Span]:
    words: list[Word] = []
    for found in _WORD.finditer(text, start, stop):
        words.append(_bare(found[0], found.start()))
        if b" " in found[0] and depth < _DEPTH:  # what `sh -c` gets, what a message quotes
            yield from _line(text, found.start() + 1, found.end() - 1, depth + 1)
    for word in secrets(words):
        value = _bare(word.text, word.start)
        if is_secret(value.text):
            yield Span(value.start, value.start + len(value.text), "flag-password")


def is_secret(value: bytes) -> bool:
    """Whether what stands in a password's place is one."""
    return values.is_secret(value, "password") and value not in _PUBLISHED and not value.startswith(b"-")


def _bare(word: bytes, start: int) -> Word:
    """A word without the quotes around it, and what lists in a text have."""
    lead = len(word) - len(word.lstrip(b"[({\"'"))
    bare = word[lead:].rstrip(b",\"'")
    while bare and (opening := _BRACKETS.get(bare[-1:])) is not None and opening not in bare:
        bare = bare[:-1].rstrip(b",\"'")
    return Word(bare, start + lead)


_BRACKETS: Final = {b"]": b"[", b")": b"(", b"}": b"{"}
