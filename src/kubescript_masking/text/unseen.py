"""Makes the views of a text that are scanned: without invisible characters, and then with ASCII for full-width forms.

Where something is masked, the line or the string is written as its view shows it; all others stay as they were sent.
"""

from __future__ import annotations

import itertools
from typing import Final

from kubescript_masking.text import linear

__all__ = ["narrow", "view"]

_COLOURS: Final = linear.build(rb"\x1b\[[0-9;:?]{0,40}[A-Za-z]")
# NUL is every other byte of ASCII in UTF-16; terminals do not show the others.
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\v\f\r\x1b"))
_OVERSTRUCK: Final = b"\x08"
_HIDDEN: Final = linear.build(
    # soft hyphens, joiners, direction marks, variation selectors, tags
    rb"(\xc2\xad|\xcd\x8f|\xd8\x9c|\xe1\xa0[\x8b-\x8e]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|"
    rb"\xef\xb8[\x80-\x8f]|\xef\xbb\xbf|\xf3\xa0[\x80-\x87][\x80-\xbf])|"
    # blanks
    rb"\xc2\xa0|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xaf]|\xe2\x81\x9f|\xe3\x80\x80"
)
_WIDE: Final = linear.build(rb"\xef\xbc[\x81-\xbf]|\xef\xbd[\x80-\x9e]")
"""U+FF01 to U+FF5E, which stand for ! to ~."""


def view(text: bytes) -> bytes:
    """Returns the text as a reader sees it; the same object when nothing changes. Lines stay lines."""
    # Attack: an attacker logs in UTF-16, or puts a zero-width space, a bell or a colour between a name and its value.
    if b"\x1b[" in text:
        text = _COLOURS.sub(b"", text)
    if _OVERSTRUCK in text:
        text = _strike_once(text)
    shown = text.translate(None, _CONTROLS)  # a third of the time of a search by RE2
    if len(shown) < len(text):
        text = shown
    if text.isascii() or _HIDDEN.search(text) is None:
        return text
    return _HIDDEN.sub(_show, text)


def narrow(text: bytes) -> bytes:
    """Returns the text with ASCII for full-width forms; the same object when it has none."""
    if text.isascii() or _WIDE.search(text) is None:
        return text
    return _WIDE.sub(_narrow, text)


def _strike_once(text: bytes) -> bytes:
    r"""Removes the first of two equal characters in one place (`p\bp`, bold) and underlines (`_\bp`)."""
    parts = text.split(_OVERSTRUCK)
    shown = []
    for part, after in itertools.pairwise(parts):
        is_doubled = after and part[-1:] in {b"_", after[:1]}
        shown.append(part[:-1] if is_doubled else part)
    return b"".join([*shown, parts[-1]])


def _show(found: linear.Match) -> bytes:
    """Returns what a reader sees of a character: a blank, or nothing."""
    is_hidden = found[1] is not None
    return b"" if is_hidden else b" "


def _narrow(wide: linear.Match) -> bytes:
    """Returns the ASCII of a full-width form, which has three bytes."""
    _, high, low = wide[0]
    # The second byte is 0xBC for `!` to `_`, and 0xBD for the rest.
    shift = 0x60 if high == 0xBC else 0x20
    code = low - shift
    return bytes([code])
