"""Text from a script or a cluster, made safe for an approver: nothing in it is invisible, moves other text, or passes
for another name without a remark.

Attack: a person approves a change because it does not look like what it is. `rows` and `view` make every text of a plan
with this module; both renderers show the pieces and the remarks.
"""

from __future__ import annotations

import dataclasses
import itertools
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from kubescript.output import sanitizing

__all__ = ["Shown", "lookalikes", "name", "show", "skeleton"]

_MAX_MARKS: Final = 2
"""Most combining marks on one letter that are still drawn. Attack: fifty of them cover the lines above and below."""
_BLANK: Final = frozenset("\u2800\U0001d159")
"""Symbols without ink, beside those in `sanitizing`."""
_IMITATED: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "DESERET"})
"""Scripts whose letters resemble letters of others in this list."""

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
"""Character → others of the same shape, in lower case and without accents."""
_SHAPES: Final = str.maketrans(
    {other: char for char, others in _LETTERS.items() for other in others} | {"0": "o", "1": "l", "i": "l", "|": "l"}
)


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """A text in its displayed form."""

    pieces: tuple[tuple[str, bool], ...]
    """Parts of the text; True: an escape such as `\\u202e`, which stands for invisible characters."""
    remarks: tuple[str, ...] = ()
    """Remarks on its characters for the reader."""

    @property
    def text(self) -> str:
        """The joined pieces."""
        return "".join(piece for piece, _ in self.pieces)


def show(text: str) -> Shown:
    """Returns one line of text in its displayed form."""
    if text.isascii() and text.isprintable():
        return Shown(((text, False),))
    alphabet = set(text)  # a value may have a million characters, but few distinct ones
    pieces = tuple(_pieces(text, alphabet))
    return Shown(tuple((piece, is_hidden) for piece, is_hidden, _ in pieces), tuple(_remarks(text, alphabet, pieces)))


def name(text: str, imitated: Mapping[str, str]) -> Shown:
    """Returns a name in its displayed form; `imitated` is the result of `lookalikes` for it and related names."""
    plain = show(text)
    remarks = list(plain.remarks)
    foreign = sorted(char for char in set(text) if not char.isascii())
    if foreign:
        spelled = ", ".join(f"U+{ord(char):04X} {unicodedata.name(char, 'without a name')}" for char in foreign[:3])
        remarks.append("not plain ASCII: " + spelled + (" and others" if len(foreign) > 3 else ""))
    if text in imitated:
        remarks.append(f"looks like {show(imitated[text]).text}, which is another name in this plan")
    return Shown(plain.pieces, tuple(remarks))


def lookalikes(names: Iterable[str]) -> dict[str, str]:
    """Returns the names that resemble another one, each with one that it resembles."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for text in sorted(set(names)):
        groups[skeleton(text)].append(text)
    return {text: group[0 if at else 1] for group in groups.values() if len(group) > 1 for at, text in enumerate(group)}


def skeleton(text: str) -> str:
    """Returns the common form of texts that look alike: without accents, case and invisible characters, each letter as
    the Latin one of its shape."""
    if not text.isascii():
        # Marks are removed first: the standard library sorts runs of them, a minute for 100,000. Attack: U+0F73, of
        # class 0, decomposes into two marks.
        bare = _without(text, lambda char: _is_hidden(char) or _is_mark(char) or unicodedata.combining(char) > 0)
        text = _without(unicodedata.normalize("NFKD", bare), _is_mark)
    text = text.casefold().translate(_SHAPES)
    return text.replace("rn", "m").replace("vv", "w")


def _pieces(text: str, alphabet: set[str]) -> Iterator[tuple[str, bool, int]]:
    """Yields the parts of a text, whether each is escaped, and how many characters it stands for."""
    hidden = {char for char in alphabet if _is_hidden(char)}
    marks = {char for char in alphabet if _is_mark(char)}
    if not hidden and not marks:
        yield text, False, len(text)
        return
    for is_hidden, pairs in itertools.groupby(_judge(text, hidden, marks), lambda pair: pair[1]):
        piece = "".join(char for char, _ in pairs)
        yield (_escapes(piece) if is_hidden else piece), is_hidden, len(piece)


def _judge(text: str, hidden: set[str], marks: set[str]) -> Iterator[tuple[str, bool]]:
    """Yields each character with whether it must be escaped."""
    count = 0
    for char in text:
        count = count + 1 if char in marks else 0
        yield char, count > _MAX_MARKS or char in hidden


def _without(text: str, goes: Callable[[str], bool]) -> str:
    return text.translate({ord(char): None for char in set(text) if goes(char)})


def _is_hidden(char: str) -> bool:
    return char in _BLANK or sanitizing.is_hidden(char)


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in {"Mn", "Me"}


def _escapes(text: str) -> str:
    """Returns the characters with JSON's escapes; values are JSON already."""
    short = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return text.translate({ord(char): short.get(char) or sanitizing.escape(char) for char in set(text)})


def _remarks(text: str, alphabet: set[str], pieces: Iterable[tuple[str, bool, int]]) -> Iterator[str]:
    hidden = sum(count for _, is_hidden, count in pieces if is_hidden)
    if hidden:
        yield f"{hidden} invisible or control character{'s' * (hidden > 1)}, shown as \\u…"
    if any(unicodedata.bidirectional(char) in {"R", "AL"} for char in alphabet):
        yield "letters that are read from right to left"
    mixed = _mixture(text, {char: _script(char) for char in alphabet if char.isalpha()})
    if mixed:
        yield "one word mixes letters of " + " and ".join(script.capitalize() for script in mixed)


def _mixture(text: str, scripts: Mapping[str, str]) -> list[str]:
    """Returns the scripts of the first word that mixes letters of several similar scripts."""
    if len(_IMITATED.intersection(scripts.values())) < 2:
        return []
    for is_letter, chars in itertools.groupby(text, str.isalpha):
        found = _IMITATED.intersection(scripts[char] for char in set(chars)) if is_letter else ()
        if len(found) > 1:
            return sorted(found)
    return []


def _script(char: str) -> str:
    """Returns the first word of the character's name, which is its script for all scripts that look alike."""
    return "LATIN" if char.isascii() else unicodedata.name(char, "").partition(" ")[0]
