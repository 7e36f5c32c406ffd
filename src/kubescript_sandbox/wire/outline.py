"""How many values a JSON text has, how deep they lie and how long its numbers are, told before anything is decoded.

Attack: 4 MiB of empty lists are 1.4 million objects, which take a process that decodes and renders them seconds and
hundreds of MiB. Both sides look here: the worker to say so to its script, the host because a worker may lie. All of it
is linear, and takes no more memory than a few times the text."""

from __future__ import annotations

import itertools
from typing import Final

__all__ = ["MAX_DIGITS", "MAX_VALUES", "depth", "has_long_numbers", "most_values", "outline"]

MAX_VALUES: Final = 100_000
"""Values of one text. They take the host up to half a second and some 30 MiB."""
MAX_DIGITS: Final = 4_300
"""Of one integer: Python refuses to read a longer one (sys.get_int_max_str_digits)."""
_ORDINARY_DIGITS: Final = 40
_MAX_LONG_DIGITS: Final = 20_000
"""Of all longer numbers together. They take 2 ms."""
_BYTES_OF_VALUE: Final = 8
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NOT_BRACKETS: Final = bytes(set(range(256)) - _STEPS.keys())
_DIGITS: Final = b"0123456789"
_ONLY_DIGITS: Final = bytes(byte if byte in _DIGITS else ord(" ") for byte in range(256))


def most_values(output_bytes: int) -> int:
    """Returns how many values a result may have whose answer has so many bytes."""
    return max(MAX_VALUES, output_bytes // _BYTES_OF_VALUE)


def outline(text: bytes, most: int) -> bytes | None:
    """Returns JSON text without its strings; None when it has more than `most` values."""
    # Taken out from the left, two backslashes are always one escape; a quote behind a single one is within a string.
    bare = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # A string is a value or a key. Attack: a million empty strings, which take ten times their size in a list.
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
    """Whether the numbers in an outline are too long, one of them or all together.

    Attack: 900 integers of 4,300 digits, whose reading holds the interpreter for 0.2 to 0.9 s: its time grows with the
    square of their length.
    """
    lengths = [len(digits) for digits in outline.translate(_ONLY_DIGITS).split() if len(digits) > _ORDINARY_DIGITS]
    return max(lengths, default=0) > MAX_DIGITS or sum(lengths) > _MAX_LONG_DIGITS
