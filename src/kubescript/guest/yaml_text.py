"""Writes JSON values as YAML. A package would add more code to the untrusted process, and only a few forms are needed:
maps, lists, and strings that any YAML 1.1 reader parses as the same strings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["write"]

# Words separated by single spaces, colons or commas. `: ` and ` #` have a meaning in YAML, so neither can match.
_PLAIN: Final = re.compile(r"(?:--?)?[A-Za-z/_][\w./@+=()-]*(?:(?: |:|, )[\w./@+=()][\w./@+=()-]*)*", re.ASCII)
# An amount or an address, which no reader parses as a number: 100m, 128Mi, 10.0.0.1.
_AMOUNT: Final = re.compile(r"\d+(?:m|[KMGT]i)|\d+(?:\.\d+){2,}", re.ASCII)
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
"""Words that are not strings in YAML 1.1."""
_BLANKS: Final = {ord("\t"): " ", ord("\n"): " "}
"""Characters that a string of several lines may contain besides printable ones."""
_STEP: Final = "  "


def write(value: Any) -> str:
    """Returns the value as a YAML document without document markers."""
    # The lines of a top-level string cannot be indented.
    if isinstance(value, str):
        return f"{_text(value)}\n"
    # The final line end may belong to a string.
    text = "\n".join(_lines(value, ""))
    return f"{text}\n"


def _lines(value: Any, indent: str) -> list[str]:
    lines: list[str] = []
    if isinstance(value, dict) and value:
        for key, each in value.items():
            name = _text(str(key))
            lines.extend(_entry(f"{name}:", each, indent))
    elif isinstance(value, list) and value:
        for each in value:
            lines.extend(_element(each, indent))
    else:
        first, *rest = _scalar(value, indent + _STEP)
        lines = [indent + first, *rest]
    return lines


def _entry(key: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        yield indent + key
        yield from _lines(value, indent + _STEP)
    elif isinstance(value, list) and value:
        # As in kubectl's YAML, the dashes are in the same column as the key.
        yield indent + key
        yield from _lines(value, indent)
    else:
        first, *rest = _scalar(value, indent + _STEP)
        yield f"{indent}{key} {first}"
        yield from rest


def _element(value: Any, indent: str) -> list[str]:
    inner = indent + _STEP
    if isinstance(value, dict | list) and value:
        first, *rest = _lines(value, inner)
        # The dash replaces the first line's indentation.
        first = first[len(inner) :]
    else:
        first, *rest = _scalar(value, inner)
    return [f"{indent}- {first}", *rest]


def _scalar(value: Any, indent: str) -> list[str]:
    """Returns the lines of a scalar or an empty collection; all but the first are indented."""
    if isinstance(value, float):
        return [_number(value)]
    if not isinstance(value, str):
        return [json.dumps(value)]
    if not _is_block(value):
        return [_text(value)]
    body = value.removesuffix("\n")
    lines = [f"{indent}{line}" if line else "" for line in body.split("\n")]
    return ["|" if value.endswith("\n") else "|-", *lines]


def _is_block(text: str) -> bool:
    """Says whether a string has several lines that may be written unchanged."""
    if "\n" not in text[:-1]:
        return False
    # A reader takes the indentation from the first line.
    if text.startswith((" ", "\n", "\t")):
        return False
    # If there are several line ends at the end, a reader keeps only one.
    if text.endswith("\n\n"):
        return False
    return text.translate(_BLANKS).isprintable()


def _text(text: str) -> str:
    """Returns a string without quotation marks if it is read as a string even without them."""
    is_plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    if is_plain or _AMOUNT.fullmatch(text):
        return text
    # A string in JSON's quotation marks is a string in YAML too.
    quoted = json.dumps(text, ensure_ascii=False)
    if quoted.isprintable():
        return quoted
    return "".join(map(_escape, quoted))


def _escape(character: str) -> str:
    """Returns a character as it is written in a quoted string."""
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _number(value: float) -> str:
    text = json.dumps(value)
    mantissa, exponent, power = text.partition("e")
    if not exponent:
        return text
    # YAML 1.1 requires a point and a sign in numbers with exponents.
    if "." not in mantissa:
        mantissa += ".0"
    if power[0] not in "+-":
        power = f"+{power}"
    return f"{mantissa}e{power}"
