"""Owns how JSON values are written as YAML: keys in order, as Helm prints values. A text that another reader of YAML
might take for something else is quoted as in JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["written"]

_PLAIN: Final = re.compile(r"[A-Za-z_/][A-Za-z0-9_./:@+=,\- ]*")
_NOT_PLAIN: Final = re.compile(r":(?: |\Z)| \Z")
# YAML 1.1 reads these as other values, in any case.
_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
_BLOCK: Final = re.compile(r"[^\s][^\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]*")


def written(value: Any) -> str:
    """Returns a JSON value as YAML, without a newline at its end."""
    return "\n".join(_lines(value))


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key in sorted(value):
            yield from _entry(f"{_text(key)}:", value[key])
    elif isinstance(value, list) and value:
        for item in value:
            yield from _item(item)
    else:
        yield _scalar(value)


def _entry(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value and _BLOCK.fullmatch(value):
        kept = len(value) - len(value.rstrip("\n"))
        yield f"{key} |{'-+'[kept > 1] if kept != 1 else ''}"
        lines = value.split("\n")
        yield from (f"  {line}" if line else "" for line in (lines[:-1] if kept else lines))
    elif isinstance(value, dict) and value:
        yield key
        yield from (f"  {line}" if line else "" for line in _lines(value))
    elif isinstance(value, list) and value:
        yield key
        yield from _lines(value)
    else:
        yield f"{key} {_scalar(value)}"


def _item(item: Any) -> Iterator[str]:
    first, *rest = _lines(item)
    yield f"- {first}"
    yield from (f"  {line}" if line else "" for line in rest)


def _scalar(value: Any) -> str:
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and not _NOT_PLAIN.search(text) and text.lower() not in _WORDS:
        return text
    shown = json.dumps(text, ensure_ascii=False)
    return shown if shown.isprintable() else json.dumps(text)
