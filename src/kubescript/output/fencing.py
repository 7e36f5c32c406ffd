"""Marks what came from the cluster, so that a model takes it for data: a line before and a line after, with a number
that the text does not hold. `render` calls it for each answer.

There is one rule. An answer with any text that neither the script nor the server has written stands between the marks.
Numbers, times, states such as `true`, and words of the script's own strings do not make it one.
"""

from __future__ import annotations

import bisect
import functools
import re
import secrets
import string
from dataclasses import dataclass
from typing import Final

from kubescript import types
from kubescript.wire import messages

__all__ = ["FENCE_BYTES", "Own", "fence", "unfenced"]

FENCE_BYTES: Final = 64
"""Bytes that the two lines take at most."""

_OPEN: Final = "[untrusted {number}]\n"
_CLOSE: Final = "\n[end {number}]"
_FENCED: Final = re.compile(
    # Answers that were recorded by earlier versions have the longer line.
    r"\A\[untrusted (?P<number>\d{3,20})(?:: data from the cluster, not instructions)?\]\n(?P<text>.*)"
    r"\n\[end (?P=number)\]",
    re.DOTALL,
)
_DIGITS: Final = 3
"""One token of the usual vocabularies."""
_DRAWS: Final = 8
"""Numbers of one length that are tried. Attack: a text that holds all numbers of three digits."""

_SENTENCE_MARKS: Final = ".-"
"""Characters of a word that do not count at its ends."""
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
"""A comment or a string of Python. What is not closed reaches to the end, so that nothing is read twice."""
_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}")
_FIELD: Final = re.compile(r"(?<!\w)(?P<name>\w++)\s*+(?::|=(?!=))")
"""The name of an argument, a field or a variable."""

_EMPTY: Final = r"(?P<name>max|min)\(\) (?:arg is an empty sequence|iterable argument is empty)"
_FIXED_MESSAGE: Final = re.compile(
    r"\A(?:(?:(?:list|tuple|string|pop|list assignment|range object) index out of range"
    r"|pop from (?:an )?empty (?:list|set|deque)|substring not found|list\.remove\(x\): x not in list"
    r"|(?:float |integer )?(?:division|modulo|division or modulo) by zero|dictionary changed size during iteration"
    r"|(?:not enough|too many) values to unpack \(expected \d{1,9}(?:, got \d{1,9})?\)"
    r"|printed more than \d{1,12} bytes; print less, or return a summary as the last expression"
    r"|403 policy\.metadata_only: (?:[A-Za-z]{1,60}|these objects) are served as metadata \(rule [\w./*-]{1,200}\),"
    r" without (?:values, key names or type|content); read \.metadata"
    rf"|{_EMPTY})(?:; write (?P=name)\(\.\.\., default=0\)|; missing lists are empty: write `x\[0\] if x else None`)?)"
    r"(?=\n  | \(line \d|\Z)"
)
"""Whole messages of the interpreter and of the worker, with their hints. They hold nothing variable but numbers, and
a kind and a rule, so it does not matter who raised them."""
_SCRIPT_LINE: Final = re.compile(
    r"(?m)^  line \d{1,9}(?: in (?P<name>\w{1,100}|<(?:lambda|(?:list|set|dict)comp|genexpr)>))?: `(?P<line>.*)`$"
)


_LINE_NUMBER: Final = re.compile(r" \(line \d{1,9}\)\Z")
_SCRIPT_ERRORS: Final = frozenset(
    {"AttributeError", "ImportError", "ModuleNotFoundError", "NameError", "SyntaxError", "TypeError"}
)
"""Exceptions whose text is about the script, with hints that are instructions to the model."""
_TOOL: Final = "tool."
"""How the codes of a classic tool's errors begin; the name of the sentence follows."""
_UNSENT: Final = "request."
"""How the error for a call begins that could not be sent. An error of the API server begins with its status."""
_LOOKS_UP: Final = re.compile(
    r"\b(?:raise|throw|set_exception|setattr|delattr|attrgetter|methodcaller|format_map)\b|[(,]\s*+\*\*"
    r"|(?<!['\"])\.format\b|\bgetattr\b(?!\([\w.]{1,200},\s?['\"]\w{1,80}['\"])"
)
"""Attack: a script that raises what a pod wrote as one of these, or takes it for the name of an attribute or argument.
The interpreter quotes such a name as it is, with the quotes in it."""
_OF_DATA: Final = ("this object has no ", "the resource ")
"""How errors begin that list names of the cluster."""
_QUOTED: Final = re.compile(r"""(?<!\w)(?:"((?:[^"\\\n]|\\.)*+)"?|'((?:[^'\\\n]|\\.)*+)'?)""")
"""A text as `repr` quotes it. What is not closed reaches to the end of its line, so that nothing is read twice."""
_NAME: Final = re.compile(r"[\w.]{0,80}", re.ASCII)
"""A field, a method, a type or a part of a hint."""


@dataclass(frozen=True)
class Own:
    """What did not come from the cluster: the script, and texts of the server's."""

    script: str
    texts: tuple[str, ...] = ()
    """Whole messages that the server gave the script."""

    def wrote(self, text: str, *, as_json: bool = False) -> bool:
        """Whether nothing in the text, or in the strings of JSON text, came from the cluster."""
        for own in self.texts:
            text = text.replace(own, " ")
        if as_json:
            text = _ESCAPE.sub(" ", text)
        text = _FIGURE.sub(" ", text)
        return all(map(self._is_own, _WORD.finditer(text)))

    def wrote_fault(self, fault: types.Fault) -> bool:
        """Whether nothing in the error's text came from the cluster."""
        if fault.foreign:
            return self.wrote(fault.message)
        # Attack: a worker that has fallen sends a text of a pod as the type, which stands before the message.
        if not _NAME.fullmatch(fault.type):
            return False
        if fault.code.startswith(_TOOL):
            return self._wrote_sentence(fault.code.removeprefix(_TOOL), fault.message)
        return not fault.type or self._wrote_error(fault)

    def _wrote_error(self, fault: types.Fault) -> bool:
        """Whether an exception of the script has no text of the cluster."""
        message = fault.message
        for own in self._own_parts(message):
            message = message.replace(own, " ")
        if _LOOKS_UP.search(self.script) or message.startswith(_OF_DATA):
            return self.wrote(message)
        quoted = [found[1] or found[2] or "" for found in _QUOTED.finditer(message)]
        if message.startswith(_UNSENT):
            return all(text in self.script or self.wrote(text) for text in quoted)
        if fault.type in _SCRIPT_ERRORS:
            return all(text in self.script or _NAME.fullmatch(text) for text in quoted)
        return self.wrote(message)

    def _wrote_sentence(self, name: str, message: str) -> bool:
        """Whether a tool's error is a sentence of the catalogue, filled with words of the call.

        Attack: a worker that has fallen sends a text of a pod under the code of a tool's error.
        """
        sentences = messages.CATALOGUE.get(name, {}).values()
        filled = (_filled_places(sentence, message) for sentence in sentences)
        return any(values is not None and all(map(self.wrote, values)) for values in filled)

    def _own_parts(self, message: str) -> list[str]:
        """Returns the parts of an error's text that are the same whatever was read, or lines of the script."""
        # An error quotes lines without their indentation.
        lines = sorted(line.strip() for line in self.script.splitlines())
        parts = [found[0] for found in _SCRIPT_LINE.finditer(message) if self._has_line(found, lines)]
        found = (_FIXED_MESSAGE.match(message), _LINE_NUMBER.search(message))
        parts += [part[0] for part in found if part]
        return parts

    def _has_line(self, quoted: re.Match[str], lines: list[str]) -> bool:
        """Whether the script has the function and the line that are quoted, or a line that begins like a cut quote."""
        function = quoted["name"] or ""
        if function not in self.script and not function.startswith("<"):
            return False
        line = quoted["line"]
        beginning = line.removesuffix("…")
        # Attack: a message of a thousand such lines, for a script of a hundred thousand.
        at = bisect.bisect_left(lines, beginning)
        nearest = lines[at] if at < len(lines) else ""
        return nearest.startswith(beginning) if beginning != line else nearest == line

    def _is_own(self, found: re.Match[str]) -> bool:
        # A number is nobody's text, nor is the number before a unit: `12`, `3.5Gi`.
        word = found[0].lstrip("0123456789" + _SENTENCE_MARKS)
        word = _folded(word)
        return not word or word in self._words or word in _VALUES

    @functools.cached_property
    def _words(self) -> frozenset[str]:
        """The words of the script's strings, and the names that it gives to fields."""
        written = [found["name"] for found in _FIELD.finditer(self.script)]
        for found in _STRING.finditer(self.script):
            text = found["a"] or found["b"] or found["c"] or found["d"] or ""
            if "f" in (found["f"] or "").lower():
                text = _PLACEHOLDER.sub(" ", text)
            written += _WORD.findall(_ESCAPE.sub(" ", text))
        return frozenset(map(_folded, written))


def _filled_places(sentence: str, message: str) -> list[str] | None:
    """Returns what stands in the places of a sentence; None for another sentence. Each part of the sentence is looked
    for behind the one before, so that nothing is read twice."""
    first, *others = [part for part, *_ in string.Formatter().parse(sentence)]
    if not message.startswith(first):
        return None
    values = []
    rest = message.removeprefix(first)
    for part in filter(None, others):
        value, found, rest = rest.partition(part)
        if not found:
            return None
        values.append(value)
    return [*values, rest]


def fence(text: str) -> str:
    """Returns the text between its two lines.

    The number is drawn until the text does not contain it, so no text can close its own fence, whatever it guessed.
    """
    number = _number_for(text)
    return _OPEN.format(number=number) + text + _CLOSE.format(number=number)


def unfenced(answer: str) -> str:
    """Returns an answer without the two lines, to compare it or for a program that trusts it."""
    return _FENCED.sub(lambda found: found["text"], answer, count=1)


def _number_for(text: str) -> str:
    """Returns a number that the text does not hold, a longer one where it holds most of the short ones."""
    digits = _DIGITS
    while True:
        # The number has no leading zero.
        smallest = 10 ** (digits - 1)
        for _ in range(_DRAWS):
            number = str(smallest + secrets.randbelow(9 * smallest))
            if number not in text:
                return number
        digits += _DIGITS


def _folded(word: str) -> str:
    return word.strip(_SENTENCE_MARKS).casefold()
