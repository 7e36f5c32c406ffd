"""Command lines: passwords by their place, of the programs that take them so (`commands.toml`).

A line of a shell and a list of arguments are read alike: as words, each with its place. A program's words end where the
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
from kubescript_masking.text import json_strings, linear, spans
from kubescript_masking.text.spans import Span

__all__ = ["FIRST", "command", "find_listed"]

_BACK: Final = 4_096
_AHEAD: Final = 8_192
_DEPTH: Final = 2
"""Quotes within quotes."""
_WORDS: Final = 200
"""Words of one command that are looked at."""
_WORD: Final = linear.build(
    rb"(?s)(?:[\w:%](?:&[\w!%^*+=@-])+|[^\s\"'\\;|&`]|\\[^\n]|\"(?:[^\"\\]|\\.)*\"|'[^']*'|[\"'])+|\\\r?\n|[;|&`\n]"
)
"""An ampersand within a word is an address's."""
_ROOM, _LEAST = 2_000, 12
"""Words that all commands of a line may have, and each when there are more: a line may name a program in every word."""
_PUBLISHED: Final = frozenset({b"public", b"private"})
"""What every agent of SNMP calls its communities."""
_LIST_BACK, _LIST_WORDS = 2_048, 400
_LITERAL: Final = linear.build(rb"--from-literal[= ][\"']?(?:user(?:name)?=|\w[\w.-]{0,99}=([^\s\"'`]{1,300}))")


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

    options: tuple[tuple[bytes, bytes, bool], ...]
    """Each with the sign behind which its value is secret, and whether that may be the next word."""
    places: tuple[tuple[bytes, ...], ...]
    when: frozenset[bytes]

    def secrets(self, words: Sequence[Word]) -> Iterator[Word]:
        """The words, or pieces of words, that are passwords."""
        if self.when and self.when.isdisjoint(word.text for word in words):
            return
        for word, after in itertools.pairwise([*words, None]):
            if word is not None and word.text.startswith((b"-", b"/p:")):
                yield from self._optional(word, after)
        for place in self.places:
            yield from _find_places(place, words)

    def _optional(self, word: Word, after: Word | None) -> Iterator[Word]:
        for option, sign, is_apart in self.options:
            found = _find_values(option, word, after if is_apart else None)
            if found is not None and sign in found.text and not (sign and spans.is_masked(found.text)):
                yield found.part(found.text.index(sign) + len(sign))


def _find_values(option: bytes, word: Word, after: Word | None) -> Word | None:
    """The value of an option: joined or the next word."""
    if word.text == option:
        return after if after is not None and not after.text.startswith(b"-") else None
    if word.text.startswith(option + b"="):
        return word.part(len(option) + 1)
    is_short = len(option) == 2 or option.endswith(b":")
    return word.part(len(option)) if is_short and word.text.startswith(option) else None


def _find_places(place: tuple[bytes, ...], words: Sequence[Word]) -> Iterator[Word]:
    """What stands at a place, behind the words before it; options are passed over."""
    lead = [sign for sign in place if sign not in _SIGNS]
    texts = [word.text for word in words]
    at = next((at for at in range(len(texts)) if texts[at : at + len(lead)] == lead), None)
    if at is None:
        return
    rest = [word for word in words[at + len(lead) :] if not word.text.startswith(b"-")]
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
        name = word.rpartition(b":")[2]
        return b"/" not in name and bool(names.kind(name.decode("utf-8", "replace")))
    return sign != b"*" or not values.is_setting(word)


_PAIRS: Final = {sign: linear.build(rb"[\w.@-]+" + sign[1:] + rb"([^\s@]+)(?:@\S*)?") for sign in (b"*:", b"*/")}
_SIGNS: Final = frozenset({b"_", b"?", b"*", b"*:", b"*/", b"=*"})


def _split(words: str) -> tuple[bytes, ...]:
    return tuple(words.encode().split())


def _read(data: dict[str, Any]) -> _Command:
    behind = {"": data.get("value", ""), **data.get("pair", {})}
    return _Command(
        options=(
            *((option, sign.encode(), True) for sign, options in behind.items() for option in _split(options)),
            *((option, b"", False) for option in _split(data.get("joined", ""))),
        ),
        places=tuple(_split(place) for place in data.get("places", ())),
        when=frozenset(_split(data.get("when", ""))),
    )


_DATA: Final = tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8"))["commands"]
_TABLE: Final[dict[bytes, list[_Command]]] = {}
FIRST: Final[dict[str, str]] = {}
"""Every program that is known, and what its first argument may begin with; empty: anything."""
for _each in _DATA:
    for _program in str(_each["programs"]).split():
        FIRST[_program] = _each.get("first", FIRST.get(_program, ""))
        _TABLE.setdefault(_program.encode(), []).append(_read(_each))


def _secrets(words: Sequence[Word]) -> Iterator[Word]:
    """The passwords among the words of a command line; several commands may follow each other in it."""
    room = _ROOM
    for at, word in enumerate(words):
        for command in _TABLE.get(_find_calls(word.text), ()):
            arguments = _arguments(words, at + 1, max(_LEAST, min(_WORDS, room)))
            room -= len(arguments)
            yield from command.secrets(arguments)


def _find_calls(word: bytes) -> bytes:
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
        if found[0].startswith(b"\\") and found[0].endswith(b"\n"):  # the line goes on
            continue
        words.append(_bare(found[0], found.start()))
        if b" " in found[0] and depth < _DEPTH:  # what `sh -c` gets, what a message quotes
            yield from _line(text, found.start() + 1, found.end() - 1, depth + 1)
    for word in _secrets(words):
        value = _bare(word.text, word.start)
        if _is_secret(value.text):
            yield Span(value.start, value.start + len(value.text), "flag-password")


def _is_secret(value: bytes) -> bool:
    """Whether what stands in a password's place is one."""
    return values.is_secret(value, "password") and value not in _PUBLISHED and not value.startswith(b"-")


def _bare(word: bytes, start: int) -> Word:
    """A word without the quotes around it, and what lists in a text have."""
    lead = len(word) - len(word.lstrip(b"\\[({\"'"))
    bare = word[lead:].rstrip(b",\\\"'")
    return Word(bare, start + lead)


def find_listed(data: bytes, end: int, done: set[int]) -> Iterator[json_strings.String]:
    """The passwords among the arguments of a document's list in which the program's name ends shortly before a place.
    `done` has the lists that were read: one may name a program in every argument."""
    start = data.rfind(b"[", max(0, end - _LIST_BACK), end) + 1
    if start in done:
        return
    done.add(start)
    items = list(itertools.islice(json_strings.items(data, start), _LIST_WORDS)) if start else []
    if not items or items[-1].end < end:
        return
    for word in _secrets([Word(data[item.start : item.end], item.start) for item in items]):
        if _is_secret(word.text):
            yield json_strings.String(word.start, word.start + len(word.text), "password", "flag-")
