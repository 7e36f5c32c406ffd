"""Labels that tell what was masked in the lines of their stream: LogQL's `| json` and `| logfmt` make labels of a line,
under names that Loki writes anew (`env_value`), and logfmt makes names of its words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from kubescript_masking.engine import masker
from kubescript_masking.text import json_strings, linear, placeholders

__all__ = ["Words"]

_KIND: Final = "from-line"
_DIGITS_AND_LETTERS: Final = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_ASCII: Final = bytes(byte if byte in _DIGITS_AND_LETTERS else 0x20 for byte in range(256))
"""Blanks for all but ASCII letters and digits: Loki writes `_` for all others in a name."""
_ALL: Final = bytes(byte if byte > 0x7F or byte in _DIGITS_AND_LETTERS else 0x20 for byte in range(256))
"""Blanks for all ASCII but letters and digits."""
_ESCAPED: Final = linear.build(rb"(?s)((?:\\u[0-9A-Fa-f]{4})+)|\\.")


class Words:
    """The words that masking has removed from the lines of one stream."""

    def __init__(self, lines: Iterable[tuple[str, str]]) -> None:
        """`lines` are all lines of the stream, each as it was and as it is now."""
        pairs = [(before.encode(), _bare(after.encode())) for before, after in lines]
        self._before: set[bytes] = set()
        """The words of the lines in which something was masked."""
        for before, after in pairs:
            if before != after:
                self._before |= _line(before)
        self._removed = self._before.copy()
        for _, after in pairs if self._before else ():
            self._removed -= _line(after)

    def __bool__(self) -> bool:
        return bool(self._removed)

    def mask(self, rules: masker.Masker, labels: Mapping[str, str]) -> dict[str, str]:
        """Returns labels without the names and values that hold a removed word."""
        return {self._mask(rules, name): self._mask(rules, value) for name, value in labels.items()}

    def _mask(self, rules: masker.Masker, text: str) -> str:
        words = _words(_bare(text.encode()), _ALL)
        # A label of another origin may have a word in common with a line.
        if words <= self._before and not words.isdisjoint(self._removed):
            return rules.replace_value(_KIND, text.encode()).decode()
        return text


def _bare(text: bytes) -> bytes:
    """Returns a text without masks."""
    return placeholders.PLACEHOLDER.sub(b" ", text)


def _line(line: bytes) -> set[bytes]:
    """Returns the words of a line, as they stand there and without the escapes of JSON."""
    found = _words(line, _ALL) | _words(line, _ASCII)
    if b"\\" in line:
        plain = _ESCAPED.sub(_unescape, line)
        found |= _words(plain, _ALL) | _words(plain, _ASCII)
    return found


def _unescape(found: linear.Match) -> bytes:
    return json_strings.unescape(found[1] or b" ") or b" "


def _words(text: bytes, letters: bytes) -> set[bytes]:
    return set(text.translate(letters).split())
