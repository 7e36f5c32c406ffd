"""Names, and parts of values, that look alike: `payment` and `payrnent`, `registry.example.com` and
`registry.examp1e.com`.

`view` compares a plan's names with each other, and `rows` a field's new value with the old one and with the object's
images.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from kubescript.changes.view import characters

__all__ = ["Known", "between_names", "is_alike", "skeleton"]

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
_BETWEEN_PARTS: Final = re.compile(r"""[\s/:@,;=()"'\[\]{}<>]+""")
"""What separates the host, the path and the tag of an image, the words of a command, and the fields of JSON."""
_WITHIN_PARTS: Final = re.compile(r"[._-]+")
"""What separates the labels of a host, and the words of a name."""
# Parts of one or two characters resemble each other by chance: the 1 of `web-1` and an article in a text.
_LEAST_PART: Final = 3
# Images and names are shorter; longer texts would take seconds.
_MOST_COMPARED: Final = 4_000
"""The maximum length in characters of a value that is compared part by part."""


def between_names(names: Iterable[str]) -> dict[str, str]:
    """Returns the names that resemble another name, as a whole or in a part, each with a name that it resembles."""
    names_of: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(set(names)):
        for word in dict.fromkeys((name, *_list_words(name))):
            names_of[word].append(name)
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for word in names_of:
        groups[skeleton(word)].append(word)
    similar: dict[str, str] = {}
    for words in groups.values():
        for word in words[1:]:
            similar |= dict.fromkeys(names_of[word], names_of[words[0]][0])
            similar |= dict.fromkeys(names_of[words[0]], names_of[word][0])
    return {name: other for name, other in similar.items() if name != other}


def is_alike(one: str, other: str) -> bool:
    """Says whether two texts look alike as a whole."""
    return skeleton(one) == skeleton(other)


class Known:
    """The parts of texts that a reader knows."""

    def __init__(self, texts: Iterable[str]) -> None:
        short = [text for text in texts if len(text) <= _MOST_COMPARED]
        self._parts = {part: None for text in short for part in _list_parts(text)}
        self._folded = {part.casefold() for part in self._parts}

    @functools.cached_property
    def _by_shape(self) -> dict[str, str]:
        return {skeleton(part): part for part in self._parts}

    def find_imitation(self, text: str) -> tuple[str, str] | None:
        """Returns the first part of a text that is none of these parts but looks like one, and that one. Capital and
        small letters are told apart by a reader."""
        if len(text) > _MOST_COMPARED:
            return None
        for part in _list_parts(text):
            if part.casefold() in self._folded:
                continue
            imitated = self._by_shape.get(skeleton(part))
            if imitated is not None:
                return part, imitated
        return None


def _list_parts(text: str) -> list[str]:
    """Returns the parts of a value, and the words of each."""
    parts: list[str] = []
    for part in _BETWEEN_PARTS.split(text):
        if len(part) >= _LEAST_PART:
            parts.append(part)
            parts += _list_words(part)
    return parts


def _list_words(name: str) -> list[str]:
    return [word for word in _WITHIN_PARTS.split(name) if len(word) >= _LEAST_PART]


def skeleton(text: str) -> str:
    """Returns the common form of strings that look alike: without accents, case and invisible characters, and with each
    letter as the Latin letter of the same shape."""
    if not text.isascii():
        # Marks are removed first: the standard library sorts runs of marks, which takes a minute for 100,000.
        bare = _without(text, _is_no_letter)
        text = _without(unicodedata.normalize("NFKD", bare), characters.is_mark)
    text = text.casefold().translate(_SHAPES)
    # `rn` looks like m, and `vv` like w.
    return text.replace("rn", "m").replace("vv", "w")


def _is_no_letter(char: str) -> bool:
    """Says whether a name looks the same without this character."""
    # Attack: U+0F73, of class 0, decomposes into two marks.
    return characters.is_hidden(char) or characters.is_mark(char) or unicodedata.combining(char) > 0


def _without(text: str, goes: Callable[[str], bool]) -> str:
    gone = filter(goes, set(text))
    return text.translate(dict.fromkeys(map(ord, gone)))
