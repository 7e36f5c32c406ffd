"""Labels that tell what was masked in the lines of their stream: LogQL's `| json` and `| logfmt` make labels of a line,
under names that Loki writes anew (`env_value`), and logfmt makes names of its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Final

from kubescript_masking.engine import masker, results
from kubescript_masking.text import json_strings, linear, placeholders

__all__ = ["Words"]

_KIND: Final = "from-line"
_PIECE: Final = 65_536
"""How many bytes of a line are split into words at a time."""
_DIGITS_AND_LETTERS: Final = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_ASCII: Final = bytes(byte if byte in _DIGITS_AND_LETTERS else 0x20 for byte in range(256))
"""Blanks for all but ASCII letters and digits: Loki writes `_` for all others in a name."""
_ALL: Final = bytes(byte if byte > 0x7F or byte in _DIGITS_AND_LETTERS else 0x20 for byte in range(256))
"""Blanks for all ASCII but letters and digits."""
_ESCAPED: Final = linear.build(rb"(?s)((?:\\u[0-9A-Fa-f]{4})+)|\\.")


class Words:
    """The words that masking has removed from the lines of one stream."""

    def __init__(self, lines: Iterable[tuple[str, str]], labels: Iterable[Mapping[str, str]]) -> None:
        """`lines` are all lines of the stream, each as it was and as it is now; other words than those of the labels
        are not kept. Raises TooLargeError."""
        wanted: set[bytes] = set()
        for text in chain.from_iterable(chain(own, own.values()) for own in labels):
            wanted.update(_label(text))
            results.check_size(len(wanted))
        pairs = [(before.encode(), _bare(after.encode())) for before, after in lines]
        self._before: set[bytes] = set()
        """The words of the lines in which something was masked."""
        for before, after in pairs:
            if before != after:
                self._before |= _line(before, wanted)
        self._removed = self._before.copy()
        for _, after in pairs if self._before else ():
            self._removed -= _line(after, self._removed)

    def __bool__(self) -> bool:
        return bool(self._removed)

    def mask(self, rules: masker.Masker, labels: Mapping[str, str]) -> dict[str, str]:
        """Returns labels without the names and values that hold a removed word."""
        return {self._mask(rules, name): self._mask(rules, value) for name, value in labels.items()}

    def _mask(self, rules: masker.Masker, text: str) -> str:
        words = _label(text)
        # A label of another origin may have a word in common with a line.
        if words <= self._before and not words.isdisjoint(self._removed):
            return rules.replace_value(_KIND, text.encode()).decode()
        return text


def _bare(text: bytes) -> bytes:
    """Returns a text without masks."""
    return placeholders.PLACEHOLDER.sub(b" ", text)


def _label(text: str) -> set[bytes]:
    """Returns the words of a label's name or value."""
    return set(_bare(text.encode()).translate(_ALL).split())


def _line(line: bytes, wanted: set[bytes]) -> set[bytes]:
    """Returns which words a line has, as they stand there and without the escapes of JSON."""
    found = _find(line, wanted)
    if b"\\" in line:
        found |= _find(_ESCAPED.sub(_unescape, line), wanted)
    return found


def _find(line: bytes, wanted: set[bytes]) -> set[bytes]:
    found: set[bytes] = set()
    for letters in (_ALL, _ASCII):
        text = line.translate(letters)
        start = 0
        # Attack: a line of 30 MB of short words would take 1 GB as a list.
        while start < len(text):
            end = text.find(b" ", start + _PIECE)
            end = len(text) if end < 0 else end
            found |= wanted.intersection(text[start:end].split())
            start = end
    return found


def _unescape(found: linear.Match) -> bytes:
    return json_strings.unescape(found[1] or b" ") or b" "
