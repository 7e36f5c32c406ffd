"""Decides which values look random: drawn by lot, as keys and tokens are, and not written by people."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Final

from kubescript_masking.text import linear

__all__ = [
    "DIGITS", "LETTERS", "LOWER", "NAME_STEM", "UPPER", "entropy", "has", "has_digit", "is_drawn", "is_hex",
    "is_mixed", "is_object_name", "is_random",
]  # fmt: skip

UPPER: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LOWER: Final = b"abcdefghijklmnopqrstuvwxyz"
DIGITS: Final = b"0123456789"
LETTERS: Final = UPPER + LOWER
_SAMPLE: Final = 1_024
"""How many bytes of a value its randomness is judged by."""
_OF_RANDOM: Final = LETTERS + DIGITS + b"+/=_.~-"
_OF_DRAWN: Final = LETTERS + DIGITS + b"!@#$%^&*+=?_~-"
_OF_NAMES: Final = LOWER + DIGITS + b"-./"
_TO_DASHES: Final = bytes.maketrans(b"./", b"--")
_CLASSES: Final = bytes(
    97 if code in LOWER else 65 if code in UPPER else 48 if code in DIGITS else 95 for code in range(256)
)
"""`a` for each small letter, `A` for each capital, `0` for each digit."""
NAME_STEM: Final = rb"[a-z]+[0-9]{0,3}(?:[-./_](?:[a-z]+[0-9]*|[0-9]+|[a-z0-9]{1,4}))*"
# Kubernetes and kustomize append no vowels, so that no words appear, and no look-alikes.
_GENERATED: Final = rb"[bcdfghjklmnpqrstvwxz2456789]"
_NAME: Final = linear.build(NAME_STEM + rb"(?:-" + _GENERATED + rb"{8,10})?(?:-" + _GENERATED + rb"{5})?")


def is_object_name(value: bytes) -> bool:
    """Says whether a value is an object's name: lower-case words with dashes, the last perhaps generated."""
    return _NAME.fullmatch(value) is not None


def is_random(value: bytes) -> bool:
    """Says whether a value looks random: long, mixed, and of high entropy."""
    if len(value) < 16 or not is_mixed(value) or value.translate(None, _OF_RANDOM):
        return False
    has_sign = b"-" in value or b"/" in value
    if has_sign and not value.translate(None, _OF_NAMES):
        # `namespace/name`, as controllers log their objects
        parts = value.translate(_TO_DASHES).split(b"-")
        has_words = any(len(part) > 2 and part.isalpha() for part in parts)
        if has_words or is_object_name(value):
            return False
    # The entropy of hexadecimal digits is 4 bits at most.
    least = 3.0 if is_hex(value) else 3.7
    return entropy(value[:_SAMPLE]) >= least


def is_hex(value: bytes) -> bool:
    """Says whether a value has hexadecimal digits only, all small or all capital."""
    odd = value.translate(None, DIGITS)
    is_small = not odd.translate(None, b"abcdef")
    is_capital = not odd.translate(None, b"ABCDEF")
    return is_small or is_capital


def is_drawn(value: bytes, changes: float = 0.4) -> bool:
    """Says whether small letters, capitals and digits are mixed as in no word, name or version. `changes` is the
    smallest number of changes between these classes per byte."""
    if not 8 <= len(value) <= 200 or value.translate(None, _OF_DRAWN):
        return False
    classes = value.translate(_CLASSES)
    has_all = b"a" in classes and b"A" in classes and b"0" in classes
    if not has_all:
        return False
    changed = sum(one != two for one, two in itertools.pairwise(classes))
    return changed >= changes * len(value)


def entropy(value: bytes) -> float:
    """Returns a value's Shannon entropy in bits per byte."""
    size = len(value)
    shares = [count / size for count in Counter(value).values()]
    return -sum(share * math.log2(share) for share in shares)


def has_digit(value: bytes) -> bool:
    """Says whether a value contains a digit."""
    return has(value, DIGITS)


def is_mixed(value: bytes) -> bool:
    """Says whether a value has letters and digits, as hardly any word of a sentence does."""
    return has_digit(value) and has(value, LETTERS)


def has(value: bytes, letters: bytes) -> bool:
    """Says whether a value contains one of these letters."""
    others = value.translate(None, letters)
    return len(others) < len(value)
