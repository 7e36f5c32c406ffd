"""Text from a script or a cluster, made safe for an approver: nothing in it is invisible, moves other text, or can be
taken for another name without a remark.

Attack: a person approves a change because it does not look like what it is. `rows` and `view` put every string of a
plan through this module; both renderers show the pieces and the remarks.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from kubescript.output import sanitizing

__all__ = ["Shown", "lookalikes", "name", "show", "skeleton"]

# Attack: fifty combining marks cover the lines above and below.
_MAX_MARKS: Final = 2
"""How many combining marks on one letter are still drawn."""
_BLANK: Final = frozenset("\u2800\U0001d159")
"""Symbols without ink, in addition to those in `sanitizing`."""
_IMITATED: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET"})
"""Scripts whose letters resemble letters of other scripts in this list."""

_LETTERS: Final = {
    "a": "\u0430\u03b1\u0251", "b": "\u044c\u0184", "c": "\u0441\u03f2\u1d04", "d": "\u0501\u13e7",
    "e": "\u0435\u04bd", "f": "\u0192\u0584", "g": "\u0261\u0581\u050d", "h": "\u04bb\u0570",
    "i": "\u0456\u0131\u03b9\u04cf", "j": "\u0458\u03f3", "k": "\u043a\u03ba", "l": "\u01c0\u05c0\u04c0",
    "m": "\u043c", "n": "\u0578\u043f\u0273", "o": "\u043e\u03bf\u0585\u0ed0", "p": "\u0440\u03c1",
    "q": "\u051b\u0563", "r": "\u0433\u1d26", "s": "\u0455\ua731", "t": "\u0442\u03c4", "u": "\u057d\u03c5",
    "v": "\u0475\u03bd", "w": "\u0461\u051d\u0561", "x": "\u0445\u03c7", "y": "\u0443\u03b3\u04af", "z": "\u1d22",
    "-": "\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "/": "\u2044\u2215\u29f8", ":": "\u2236\ua789\u0589",
    ".": "\u06d4\u0701",
}  # fmt: skip
"""Maps a character to others of the same shape, in lower case and without accents."""
_SHAPES: Final = str.maketrans(
    {other: char for char, others in _LETTERS.items() for other in others} | {"0": "o", "1": "l", "i": "l", "|": "l"}
)
_SHORT_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """A string in its displayed form."""

    pieces: tuple[tuple[str, bool], ...]
    """The parts of the string; True: an escape such as `\\u202e`, which stands for invisible characters."""
    remarks: tuple[str, ...] = ()
    """Remarks on the string's characters for the reader."""

    @property
    def text(self) -> str:
        """The joined pieces."""
        return "".join(piece for piece, _ in self.pieces)


def show(text: str) -> Shown:
    """Returns one line of text in its displayed form."""
    if text.isascii() and text.isprintable():
        return Shown(((text, False),))
    # A value may have a million characters, but it has few distinct ones.
    alphabet = set(text)
    parts = tuple(_pieces(text, alphabet))
    pieces = tuple((piece, is_hidden) for piece, is_hidden, _ in parts)
    remarks = tuple(_remarks(text, alphabet, parts))
    return Shown(pieces, remarks)


def name(text: str, imitated: Mapping[str, str]) -> Shown:
    """Returns a name in its displayed form; `imitated` is the result of `lookalikes` for it and related names."""
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


def lookalikes(names: Iterable[str]) -> dict[str, str]:
    """Returns the names that resemble another name, each with one of those that it resembles."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for text in sorted(set(names)):
        shape = skeleton(text)
        groups[shape].append(text)
    similar = {}
    for first, *others in groups.values():
        if others:
            similar[first] = others[0]
            similar |= dict.fromkeys(others, first)
    return similar


def skeleton(text: str) -> str:
    """Returns the common form of strings that look alike: without accents, case and invisible characters, and with each
    letter as the Latin letter of the same shape."""
    if not text.isascii():
        # Marks are removed first: the standard library sorts runs of marks, which takes a minute for 100,000.
        bare = _without(text, _is_no_letter)
        text = _without(unicodedata.normalize("NFKD", bare), _is_mark)
    text = text.casefold().translate(_SHAPES)
    # `rn` looks like m, and `vv` like w.
    return text.replace("rn", "m").replace("vv", "w")


def _is_no_letter(char: str) -> bool:
    """Says whether a name looks the same without this character."""
    # Attack: U+0F73, of class 0, decomposes into two marks.
    return _is_hidden(char) or _is_mark(char) or unicodedata.combining(char) > 0


def _pieces(text: str, alphabet: set[str]) -> Iterator[tuple[str, bool, int]]:
    """Yields the parts of a string, whether each is escaped, and how many characters it stands for."""
    hidden = {char for char in alphabet if _is_hidden(char)}
    marks = {char for char in alphabet if _is_mark(char)}
    if not hidden and not marks:
        yield text, False, len(text)
        return
    judged = _judge(text, hidden, marks)
    for is_hidden, pairs in itertools.groupby(judged, operator.itemgetter(1)):
        chars = "".join(char for char, _ in pairs)
        piece = _escapes(chars) if is_hidden else chars
        yield piece, is_hidden, len(chars)


def _judge(text: str, hidden: set[str], marks: set[str]) -> Iterator[tuple[str, bool]]:
    """Yields each character, and whether it must be escaped."""
    count = 0
    for char in text:
        if char in marks:
            count += 1
        else:
            count = 0
        yield char, count > _MAX_MARKS or char in hidden


def _without(text: str, goes: Callable[[str], bool]) -> str:
    gone = filter(goes, set(text))
    return text.translate(dict.fromkeys(map(ord, gone)))


def _is_hidden(char: str) -> bool:
    """Says whether a character has no ink, or acts on those around it."""
    return char in _BLANK or sanitizing.is_hidden(char)


def _is_mark(char: str) -> bool:
    """Says whether a character is drawn on the one before it."""
    return unicodedata.category(char) in {"Mn", "Me"}


def _escapes(text: str) -> str:
    """Returns the characters as JSON's escapes; values are already JSON."""
    escapes = {ord(char): _SHORT_ESCAPES.get(char) or sanitizing.escape(char) for char in set(text)}
    return text.translate(escapes)


def _remarks(text: str, alphabet: set[str], pieces: Iterable[tuple[str, bool, int]]) -> Iterator[str]:
    hidden = sum(count for _, is_hidden, count in pieces if is_hidden)
    if hidden:
        plural = "s" if hidden > 1 else ""
        yield f"{hidden} invisible or control character{plural}, shown as \\u…"
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
