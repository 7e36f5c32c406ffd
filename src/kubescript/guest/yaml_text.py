"""Writes JSON values as YAML. A package that does this would be one more in the untrusted process, for the few forms
that are needed: maps, lists, and texts that any reader of YAML 1.1 reads back as the same texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["write"]

# Words divided by single spaces, colons or commas. `: ` and ` #` begin something else, so neither can match.
_PLAIN: Final = re.compile(r"(?:--?)?[A-Za-z/_][\w./@+=()-]*(?:(?: |:|, )[\w./@+=()][\w./@+=()-]*)*", re.ASCII)
# An amount or an address, which no reader takes for a number: 100m, 128Mi, 10.0.0.1.
_AMOUNT: Final = re.compile(r"\d+(?:m|[KMGT]i)|\d+(?:\.\d+){2,}", re.ASCII)
_WORDS: Final = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
"""Words that are no texts in YAML 1.1."""
_BLANKS: Final = {ord("\t"): " ", ord("\n"): " "}
"""What a text of several lines may hold beside what is printable."""
_STEP: Final = "  "


def write(value: Any) -> str:
    """Returns the value as a YAML document without its marks."""
    if isinstance(value, str):  # lines of a text are indented, and below nothing they cannot be
        return _text(value) + "\n"
    # The last line's end may be that of a text.
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
        # As in kubectl's YAML, the dashes stand below the key.
        yield indent + key
        yield from _lines(value, indent)
    else:
        first, *rest = _scalar(value, indent + _STEP)
        yield f"{indent}{key} {first}"
        yield from rest


def _element(value: Any, indent: str) -> list[str]:
    if isinstance(value, dict | list) and value:
        lines = _lines(value, indent + _STEP)
        # The dash takes the place of the first line's indentation.
        return [f"{indent}- {lines[0][len(indent) + len(_STEP) :]}", *lines[1:]]
    first, *rest = _scalar(value, indent + _STEP)
    return [f"{indent}- {first}", *rest]


def _scalar(value: Any, indent: str) -> list[str]:
    """Returns the lines of a value that is no map and no list with content; all but the first are indented."""
    if not isinstance(value, str):
        return [_number(value) if isinstance(value, float) else json.dumps(value)]
    if "\n" in value[:-1] and not value.startswith((" ", "\n", "\t")) and _is_block(value):
        body = value.removesuffix("\n")
        if not body.endswith("\n"):
            lines = [f"{indent}{line}" if line else "" for line in body.split("\n")]
            return ["|" if value.endswith("\n") else "|-", *lines]
    return [_text(value)]


def _is_block(text: str) -> bool:
    """Tells whether the lines of a text may stand as they are."""
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
    # YAML 1.1 knows an exponent only after a point and with a sign.
    text = json.dumps(value)
    mantissa, exponent, power = text.partition("e")
    if not exponent:
        return text
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}e{power if power[0] in '+-' else f'+{power}'}"
