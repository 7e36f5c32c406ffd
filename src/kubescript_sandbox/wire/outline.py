"""Measures JSON text before it is decoded: its number of values, its depth and the length of its numbers.

Attack: a script returns 4 MiB of empty lists, which are 1.4 million objects; decoding and rendering them takes seconds
and hundreds of MiB. Both sides check: the worker to inform its script, the host because a worker may lie. All checks
are linear, and take at most a few times the text's memory.
"""

from __future__ import annotations

import itertools
from typing import Final

__all__ = ["MAX_DIGITS", "MAX_VALUES", "depth", "has_long_numbers", "most_values", "outline"]

# This many values take the host up to half a second and about 30 MiB.
MAX_VALUES: Final = 100_000
"""How many values one text may have."""
# How many digits one integer may have: Python refuses to read a longer one (sys.get_int_max_str_digits).
MAX_DIGITS: Final = 4_300
_ORDINARY_DIGITS: Final = 40
# Reading this many digits takes 2 ms.
_MAX_LONG_DIGITS: Final = 20_000
"""How many digits all longer numbers may have together."""
_BYTES_OF_VALUE: Final = 8
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NOT_BRACKETS: Final = bytes(set(range(256)) - _STEPS.keys())
_DIGITS: Final = b"0123456789"
_ONLY_DIGITS: Final = bytes(byte if byte in _DIGITS else ord(" ") for byte in range(256))


def most_values(output_bytes: int) -> int:
    """Returns how many values a result may have if its answer may have this many bytes."""
    return max(MAX_VALUES, output_bytes // _BYTES_OF_VALUE)


def outline(text: bytes, most: int) -> bytes | None:
    """Returns JSON text without its strings; None when it has more than `most` values."""
    # Read from the left, two backslashes are always one escape; a quote behind a single one is within a string.
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A string is a value or a key. Attack: a script returns a million empty strings, which take ten times their size in
    # a list.
    if bare.count(b'"') > 4 * most:
        return None
    outside = b"".join(bare.split(b'"')[::2])
    if outside.count(b",") + outside.count(b"[") + outside.count(b"{") > most:
        return None
    return outside


def depth(outline: bytes) -> int:
    """Returns the levels of lists and objects in an outline."""
    brackets = outline.translate(None, _NOT_BRACKETS)
    return max(itertools.accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def has_long_numbers(outline: bytes) -> bool:
    """Says whether the numbers in an outline are too long, singly or together."""
    # Attack: a script returns 900 integers of 4,300 digits; reading them blocks the interpreter for 0.2 to 0.9 s, since
    # the time grows with the square of their length.
    lengths = [len(digits) for digits in outline.translate(_ONLY_DIGITS).split() if len(digits) > _ORDINARY_DIGITS]
    return max(lengths, default=0) > MAX_DIGITS or sum(lengths) > _MAX_LONG_DIGITS
