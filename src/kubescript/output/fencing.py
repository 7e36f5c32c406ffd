"""Marks text from the cluster, so that a model takes it for data: one line before it and one after, with a number that
the text does not contain. `render` calls it for each answer.

There is one rule. An answer with any text that neither the script nor the server wrote is put between the marks.
Numbers, times, states such as `true`, and words of the script's own strings do not count as such text.
"""

from __future__ import annotations

import functools
import re
import secrets
import string
from dataclasses import dataclass
from typing import Final

from kubescript.output import sentences
from kubescript.wire import messages

__all__ = ["FENCE_BYTES", "Own", "constants", "fence", "unfence"]

FENCE_BYTES: Final = 64
"""The maximum size of the two lines in bytes."""

_OPEN: Final = "[untrusted {number}]\n"
_CLOSE: Final = "\n[end {number}]"
_FENCED: Final = re.compile(
    # Answers recorded by earlier versions have the longer line.
    r"\A\[untrusted (?P<number>\d{3,20})(?:: data from the cluster, not instructions)?\]\n(?P<text>.*)"
    r"\n\[end (?P=number)\]",
    re.DOTALL,
)
_DIGITS: Final = 3
"""Three digits are one token in common vocabularies."""
_DRAWS: Final = 8
"""How many numbers of each length to try. Attack: a text contains all numbers of three digits."""

_SENTENCE_MARKS: Final = ".-"
"""Characters that do not count at the ends of a word."""
_WORD: Final = re.compile(r"[\w.-]+|[^\x00-\x7f]")
_ESCAPE: Final = re.compile(r"\\.", re.DOTALL)
_TIME: Final = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)"
_AGE: Final = r"(?:\d{1,6}[dhms]){1,4}"
_LARGE: Final = r"\d{1,20}(?:\.\d{1,20})?[eE][+-]?\d{1,3}"
_FIGURE: Final = re.compile(rf"(?<![\w.-])-?(?:{_TIME}|{_AGE}|{_LARGE})(?![\w-])")
"""A time, an age as `age()` writes it, or a large number."""
_VALUES: Final = frozenset({"none", "true", "false", "null", "nan", "inf", "infinity", "\N{HORIZONTAL ELLIPSIS}"})
_STRING: Final = re.compile(
    r"#[^\n]*+"
    r'|(?P<f>(?i:rf?|fr?|u)?)(?:"""(?P<a>(?:[^"\\]|\\.|"(?!""))*+)(?:"""|\Z)'
    r"|'''(?P<b>(?:[^'\\]|\\.|'(?!''))*+)(?:'''|\Z)"
    r"""|"(?P<c>(?:[^"\\\n]|\\.)*+)"?|'(?P<d>(?:[^'\\\n]|\\.)*+)'?)""",
    re.DOTALL,
)
"""A comment or a string in Python. An unclosed one extends to the end, so that nothing is read twice."""
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")
_FIELD: Final = re.compile(r"(?<!\w)(?P<name>\w++)\s*+(?::|=(?!=))")
"""The name of an argument, a field or a variable."""

_TOOL_TYPES: Final = frozenset({"", "Error", "BLOCKED"})
_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class Own:
    """The texts that did not come from the cluster: the script's and the server's."""

    script: str
    texts: tuple[str, ...] = ()
    """Whole messages that the server gave the script."""
    denials: tuple[tuple[str, str], ...] = ()
    """Messages of that kind, each with a copy without names from the cluster; a message is ours if it contains no such
    name and masking left it unchanged."""
    names: tuple[str, ...] = ()
    """Names chosen by the operator, each of which is the whole value of a note."""

    def is_own_value(self, value: str) -> bool:
        """Says whether a note's value did not come from the cluster."""
        return value in self.names or self.wrote(value)

    def wrote(self, text: str, *, as_json: bool = False) -> bool:
        """Says whether nothing in the text, or in the strings of a JSON text, came from the cluster."""
        for own in self._messages:
            text = text.replace(own, " ")
        # The letter of an escape such as `\n` would become part of the word after it.
        if as_json:
            text = _ESCAPE.sub(" ", text)
        text = _FIGURE.sub(" ", text)
        return all(map(self._is_own, _WORD.finditer(text)))

    def is_sentence(self, text: str, *, by_worker: bool = True) -> bool:
        """Says whether the text consists of our sentences, with values that did not come from the cluster; only of the
        interpreter's sentences if none of the worker's own code wrote it."""
        return self._speech.is_ours(text, by_worker=by_worker)

    def is_tool_sentence(self, name: str, text: str) -> bool:
        """Says whether the text is this sentence of the catalogue, in any language, with such values."""
        translations = messages.CATALOGUE.get(name, {}).values()
        return self._speech.is_one_of(text, map(_split, translations))

    def knows(self, name: str) -> bool:
        """Says whether the name of a type comes from the script or from us."""
        if name in _TOOL_TYPES or name in self._script_names:
            return True
        return sentences.is_type(name) or sentences.is_word(name)

    def denial_in(self, text: str) -> str:
        """Returns the longest of our messages in a text, without names from the cluster; an empty string if there is
        none.

        Attack: a cluster text surrounds our denial, which inside a marked block is data to a model, without authority.
        """
        found = [each for each in self.denials if each[0] in text]
        return max(found, key=lambda each: len(each[0]), default=("", ""))[1]

    def _has(self, value: str) -> bool:
        """Says whether the value in a sentence's placeholder is the script's, or a name in the SDK."""
        if value in self._script_names or value in self._constants:
            return True
        return sentences.is_name(value)

    @functools.cached_property
    def _constants(self) -> frozenset[str]:
        return constants(self.script)

    @functools.cached_property
    def _messages(self) -> tuple[str, ...]:
        """Whole messages of the server in which nothing came from the cluster."""
        plain = [message for message, ours in self.denials if message == ours]
        return (*self.texts, *plain)

    @functools.cached_property
    def _speech(self) -> sentences.Speech:
        return sentences.Speech(self.wrote, self._has)

    @functools.cached_property
    def _script_names(self) -> frozenset[str]:
        return frozenset(_IDENTIFIER.findall(self.script))

    def _is_own(self, found: re.Match[str]) -> bool:
        """Says whether a word is a number, a state or one of the script's own."""
        # A number is not cluster text, nor is a number before a unit: `12`, `3.5Gi`.
        word = found[0].lstrip("0123456789" + _SENTENCE_MARKS)
        word = _fold(word)
        return not word or word in self._words or word in _VALUES

    @functools.cached_property
    def _words(self) -> frozenset[str]:
        """The words of the script's strings, and the names that it gives to fields."""
        written = [found["name"] for found in _FIELD.finditer(self.script)]
        for found in _STRING.finditer(self.script):
            text = _content(found)
            prefix = found["f"] or ""
            # A placeholder is code: the string itself does not say the names in it.
            if "f" in prefix.lower():
                text = _PLACEHOLDER.sub(" ", text)
            text = _ESCAPE.sub(" ", text)
            written += _WORD.findall(text)
        return frozenset(map(_fold, written))


def _split(sentence: str) -> sentences.Parts:
    """Returns the text before, between and after the placeholders of a catalogue sentence."""
    marked = ""
    for text, name, _, _ in string.Formatter().parse(sentence):
        marked += text
        if name is not None:
            marked += "\0"
    return tuple(re.split("\0+", marked))


def constants(script: str) -> frozenset[str]:
    """Returns the script's string literals that contain no escape."""
    texts = map(_content, _STRING.finditer(script))
    return frozenset(text for text in texts if text and "\\" not in text)


def _content(string: re.Match[str]) -> str:
    """Returns the text between the quotes of a string; an empty string for a comment."""
    return string["a"] or string["b"] or string["c"] or string["d"] or ""


def fence(text: str) -> str:
    """Returns the text between its two lines.

    A number is redrawn until the text does not contain it, so no text can close its own fence by guessing.
    """
    number = _number_for(text)
    return _OPEN.format(number=number) + text + _CLOSE.format(number=number)


def unfence(answer: str) -> str:
    """Returns an answer without the two lines, for comparison or for a program that trusts it."""
    return _FENCED.sub(lambda found: found["text"], answer, count=1)


def _number_for(text: str) -> str:
    """Returns a number that the text does not contain, a longer one where it contains most short ones."""
    digits = _DIGITS
    while True:
        # The number has no leading zero.
        smallest = 10 ** (digits - 1)
        for _ in range(_DRAWS):
            number = str(smallest + secrets.randbelow(9 * smallest))
            if number not in text:
                return number
        digits += _DIGITS


def _fold(word: str) -> str:
    return word.strip(_SENTENCE_MARKS).casefold()
