"""Removes text that no client, terminal or log may get: control characters, escape sequences, invisible characters.

Workloads write log lines, messages and annotations; a terminal or a model reads them. A colour code is noise, a cursor
movement hides the line above, and letters that people cannot see are still read by a model. Newlines, tabs, emoji and
every script of the world are kept. Answers, the log, the audit record and its commands are cleaned here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

__all__ = ["change_texts", "clean", "count_hidden", "escape", "escape_line", "is_hidden", "printable"]

_STRING: Final = "(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90-\x9f\n]*(?:\x07|\x1b\\\\|\x9c)"
"""OSC, DCS and others."""
_SEQUENCE: Final = re.compile(
    f"{_STRING}"
    "|(?:\x1b\\[|\x9b)(?:[0-?]*[@-~])?"  # CSI: colours, cursor, screen
    "|\x1b(?:\\(B|[=>A-z])?"  # the short ones: reset, the usual character set, the start of a string
)
"""ECMA-48 escape sequences. A string (a title, a hyperlink, an image) is removed with its content when it ends on its
line; otherwise it would swallow the following text, so only its introducer is removed. The same holds for every
sequence that may be incomplete: a label that ends with half a sequence must not swallow the number that a script writes
after it."""
_BREAKS: Final = re.compile("\r\n|[\r\x85\u2028\u2029]")
"""Other line endings. On a terminal a lone carriage return lets the next text overwrite the line."""
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 without tab and newline
    "\u202a-\u202e\u2066-\u2069"  # bidirectional embeddings, overrides, isolates
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2060-\u2065\u206a-\u206f"
    "\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"  # zero-width and blank: marks, joiners, fillers, annotations
    "\U00013430-\U0001343f"  # joiners of hieroglyphs
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"  # tags, the supplement of variation selectors
)
_DANGLING: Final = re.compile(
    "(?<![^\x00-\x7f\u200c\u200d\ufe0e])[\u200c\u200d]"  # not after a letter of another script or an emoji
    "|[\u200c\u200d](?![^\x00-\x7f\u200c\u200d\ufe0e\ufe0f])"  # nor before one
    "|(?<![#*0-9\u00a9\u00ae\u2000-\u200b\u2010-\u3300\U0001f000-\U0001fbff])[\ufe0e\ufe0f]"  # on nothing that varies
)
"""Joiners and variation selectors where neither a script nor an emoji needs them: a run of them can carry a message."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which no encoding can carry."""

_HIDING: Final = re.compile("[\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]")
"""Overrides, isolates and tags, which are suspicious, unlike colours and zero-width marks."""
_STRINGS: Final = re.compile(_STRING)
"""A string that begins in one workload's words and ends in another's removes the text between them."""

_UNPRINTABLE: Final = "\N{REPLACEMENT CHARACTER}"
_REMOVABLE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""All of the above in one pass. Most texts contain none of it, so `clean` ends after this search."""


def clean(text: str) -> str:
    """Returns the text without characters that a reader cannot see."""
    if _REMOVABLE.search(text) is None:
        return text
    text = _SEQUENCE.sub("", text)
    text = _BREAKS.sub("\n", text)
    text = _INVISIBLE.sub("", text)
    text = _remove_dangling(text)
    return _SURROGATE.sub("\ufffd", text)


def printable(text: str) -> str:
    """Returns the text as one line without anything that a terminal obeys: such characters are replaced."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _UNPRINTABLE for char in text)


def escape_line(line: str) -> str:
    """Returns JSON as one line, with JSON escapes for characters that a terminal obeys or a reader cannot see."""
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else escape(char) for char in line)


def escape(char: str) -> str:
    """Returns the character as JSON escapes, one for each of its UTF-16 units."""
    # JSON escapes a character beyond the first 65536 as a pair.
    digits = char.encode("utf-16-be", "surrogatepass").hex()
    units = [digits[start : start + 4] for start in range(0, len(digits), 4)]
    return "".join(f"\\u{unit}" for unit in units)


def is_hidden(char: str) -> bool:
    """Says whether a reader cannot see the character, or a terminal obeys it."""
    return not char.isprintable() or _REMOVABLE.match(char) is not None


def count_hidden(text: str) -> int:
    """Counts the characters that only hide or reorder what a reader sees; the answer reports their number."""
    count = 0
    if not text.isascii():
        count = len(_HIDING.findall(text))
    # An escape string is removed with its content, which its reader never sees.
    for string in _STRINGS.finditer(text):
        count += len(string[0])
    return count


def _remove_dangling(text: str) -> str:
    """Returns the text without dangling joiners; removing one may leave the next one dangling."""
    while True:
        text, count = _DANGLING.subn("", text)
        if not count:
            return text


def change_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Returns JSON data with every string in it changed, keys included. A key that now equals another is numbered, so
    that no entry is lost."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [change_texts(item, change) for item in value]
    if isinstance(value, dict):
        return _change_pairs(value, change)
    return value


def _change_pairs(pairs: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    numbers: dict[str, int] = {}
    for key, item in pairs.items():
        name = change(key)
        unique = name
        # Attack: a hundred thousand keys become equal. Counting resumes after the name's last number.
        while unique in changed:
            number = numbers.get(name, 1) + 1
            numbers[name] = number
            unique = f"{name}~{number}"
        changed[unique] = change_texts(item, change)
    return changed
