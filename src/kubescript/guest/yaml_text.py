"""Writes JSON values as YAML. A package would add more code to the untrusted process, and only a few forms are needed:
maps, lists, and texts that any YAML 1.1 reader parses as the same texts."""

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
"""Words that are not texts in YAML 1.1."""
_BLANKS: Final = {ord("\t"): " ", ord("\n"): " "}
"""Characters that a text of several lines may contain besides printable ones."""
_STEP: Final = "  "


def write(value: Any) -> str:
    """Returns the value as a YAML document without document markers."""
    if isinstance(value, str):  # the lines of a top-level text cannot be indented
        return _text(value) + "\n"
    # The final line end may belong to a text.
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Any, indent: str) -> list[str]:
    if isinstance(value, dict) and value:
        return [line for key, each in value.items() for line in _entry(f"{_text(str(key))}:", each, indent)]
    if isinstance(value, list) and value:
        return [line for each in value for line in _element(each, indent)]
    first, *rest = _scalar(value, indent + _STEP)
    return [indent + first, *rest]


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
    if isinstance(value, dict | list) and value:
        lines = _lines(value, indent + _STEP)
        # The dash replaces the first line's indentation.
        return [f"{indent}- {lines[0][len(indent) + len(_STEP) :]}", *lines[1:]]
    first, *rest = _scalar(value, indent + _STEP)
    return [f"{indent}- {first}", *rest]


def _scalar(value: Any, indent: str) -> list[str]:
    """Returns the lines of a scalar or an empty collection; all but the first are indented."""
    if not isinstance(value, str):
        return [_number(value) if isinstance(value, float) else json.dumps(value)]
    if "\n" in value[:-1] and not value.startswith((" ", "\n", "\t")) and _is_block(value):
        body = value.removesuffix("\n")
        if not body.endswith("\n"):
            lines = [f"{indent}{line}" if line else "" for line in body.split("\n")]
            return ["|" if value.endswith("\n") else "|-", *lines]
    return [_text(value)]


def _is_block(text: str) -> bool:
    """Says whether a text's lines may be written unchanged."""
    return text.translate(_BLANKS).isprintable()


def _text(text: str) -> str:
    if (_PLAIN.fullmatch(text) and text.lower() not in _WORDS) or _AMOUNT.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted if quoted.isprintable() else "".join(map(_escape, quoted))


def _escape(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _number(value: float) -> str:
    # YAML 1.1 requires a point and a sign in numbers with exponents.
    text = json.dumps(value)
    mantissa, exponent, power = text.partition("e")
    if not exponent:
        return text
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}e{power if power[0] in '+-' else f'+{power}'}"
