"""Text from a script or a cluster, made safe for an approver: nothing in it is invisible, moves other text, or can be
taken for another name without a remark.

Attack: a person approves a change because it does not look like what it is. `rows` and `view` put every string of a
plan through this module; both renderers show the pieces and the remarks.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from kubescript.output import sanitizing

__all__ = ["Shown", "is_hidden", "is_mark", "name", "show"]

# Attack: fifty combining marks cover the lines above and below.
_MAX_MARKS: Final = 2
"""How many combining marks on one letter are still drawn."""
_BLANK: Final = frozenset("\u2800\U0001d159")
"""Symbols without ink, in addition to those in `sanitizing`."""
_IMITATED: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET"})
"""Scripts whose letters resemble letters of other scripts in this list."""
# Attack: 500 blanks push the end of a command out of view.
_MOST_BLANKS: Final = 32
"""The maximum number of blanks in a row that are drawn."""
_LONG_BLANK: Final = " " * (_MOST_BLANKS + 1)
_LONG_BLANKS: Final = re.compile(f"({_LONG_BLANK} *)")
_SHORT_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """A string in its displayed form."""

    pieces: tuple[tuple[str, bool], ...]
    """The parts of the string; True: an escape such as `\\u202e`, or a number of blanks, for characters that nobody
    would see."""
    remarks: tuple[str, ...] = ()
    """Remarks on the string's characters for the reader."""

    @property
    def text(self) -> str:
        """The joined pieces."""
        return "".join(piece for piece, _ in self.pieces)


def show(text: str) -> Shown:
    """Returns one line of text in its displayed form."""
    if text.isascii() and text.isprintable() and _LONG_BLANK not in text:
        return Shown(((text, False),))
    # A value may have a million characters, but it has few distinct ones.
    alphabet = set(text)
    parts = tuple(_pieces(text, alphabet))
    pieces = tuple((piece, is_escaped) for piece, is_escaped, _ in parts)
    remarks = tuple(_remarks(text, alphabet, parts))
    return Shown(pieces, remarks)


def name(text: str, imitated: Mapping[str, str]) -> Shown:
    """Returns a name in its displayed form; `imitated` is the result of `lookalikes.between_names` for it and related
    names."""
    plain = show(text)
    remarks = list(plain.remarks)
    foreign = sorted(char for char in set(text) if not char.isascii())
    if foreign:
        remarks.append(_describe_foreign(foreign))
    if text in imitated:
        other = show(imitated[text])
        remarks.append(f"looks like {other.text}, which is another name in this plan")
    return Shown(plain.pieces, tuple(remarks))


def _describe_foreign(chars: list[str]) -> str:
    spelled = [f"U+{ord(char):04X} {unicodedata.name(char, 'without a name')}" for char in chars[:3]]
    remark = f"not plain ASCII: {', '.join(spelled)}"
    if len(chars) > 3:
        remark += " and others"
    return remark


def is_hidden(char: str) -> bool:
    """Says whether a character has no ink, or acts on those around it."""
    return char in _BLANK or sanitizing.is_hidden(char)


def is_mark(char: str) -> bool:
    """Says whether a character is drawn on the one before it."""
    return unicodedata.category(char) in {"Mn", "Me"}


def _pieces(text: str, alphabet: set[str]) -> Iterator[tuple[str, bool, int]]:
    """Yields the parts of a string, whether each is escaped, and how many invisible characters it stands for."""
    hidden = set(filter(is_hidden, alphabet))
    marks = set(filter(is_mark, alphabet))
    for part in _LONG_BLANKS.split(text):
        if part.startswith(_LONG_BLANK):
            yield f"⟨{len(part):,} blanks⟩", True, 0
        elif hidden or marks:
            yield from _escape_hidden(part, hidden, marks)
        elif part:
            yield part, False, 0


def _escape_hidden(text: str, hidden: set[str], marks: set[str]) -> Iterator[tuple[str, bool, int]]:
    judged = _judge(text, hidden, marks)
    for is_escaped, pairs in itertools.groupby(judged, operator.itemgetter(1)):
        chars = "".join(char for char, _ in pairs)
        if is_escaped:
            yield _escapes(chars), True, len(chars)
        else:
            yield chars, False, 0


def _judge(text: str, hidden: set[str], marks: set[str]) -> Iterator[tuple[str, bool]]:
    """Yields each character, and whether it must be escaped."""
    count = 0
    for char in text:
        if char in marks:
            count += 1
        else:
            count = 0
        yield char, count > _MAX_MARKS or char in hidden


def _escapes(text: str) -> str:
    """Returns the characters as JSON's escapes; values are already JSON."""
    escapes = {ord(char): _SHORT_ESCAPES.get(char) or sanitizing.escape(char) for char in set(text)}
    return text.translate(escapes)


def _remarks(text: str, alphabet: set[str], pieces: Iterable[tuple[str, bool, int]]) -> Iterator[str]:
    hidden = sum(count for _, _, count in pieces)
    if hidden:
        plural = "s" if hidden > 1 else ""
        yield f"{hidden} invisible or control character{plural}, shown as \\u…"
    if _LONG_BLANK in text:
        yield "blanks in a row, shown as a number"
    directions = {unicodedata.bidirectional(char) for char in alphabet}
    if directions & {"R", "AL"}:
        yield "letters that are read from right to left"
    scripts = {char: _script(char) for char in alphabet if char.isalpha()}
    mixed = _mixture(text, scripts)
    if mixed:
        names = map(str.capitalize, mixed)
        yield "one word mixes letters of " + " and ".join(names)


def _mixture(text: str, scripts: Mapping[str, str]) -> list[str]:
    """Returns the scripts of the first word that mixes letters of several similar scripts."""
    if len(_IMITATED.intersection(scripts.values())) < 2:
        return []
    for is_letter, chars in itertools.groupby(text, str.isalpha):
        if not is_letter:
            continue
        found = _IMITATED.intersection(scripts[char] for char in set(chars))
        if len(found) > 1:
            return sorted(found)
    return []


def _script(char: str) -> str:
    """Returns the first word of the character's name, which is its script for all scripts that look alike."""
    if char.isascii():
        return "LATIN"
    script, _, _ = unicodedata.name(char, "").partition(" ")
    return script
