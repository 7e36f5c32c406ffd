"""Command lines that JSON keeps as a list, one argument a string: read as one line, masked where they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubescript.redaction import commands, formats
from kubescript.redaction.strings import String

__all__ = ["located"]

_OPTION: Final = re.compile(rb'(?<!\\)"--?[A-Za-z]\Z')
_NAMED_LIST: Final = re.compile(rb'"([^"\\]{1,200})"\s*:\s*\[\s*\Z')
_REACH: Final = 2_048
_STRING: Final = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*,?\s*', re.DOTALL)


def located(data: bytes, probe: str, end: int) -> Iterator[String]:
    """The parts of a document's strings that a command, or a key in JSON, makes secret."""
    if probe == "jwk":
        for span in formats.jwk(data, end):
            yield String(span.start, span.end, "privateKey")
    elif probe == "list":
        yield from _items(data, end - 1)
    elif probe == "command" and _OPTION.search(data, end - 4, end):
        yield from _in_list(data, end)


def _items(data: bytes, place: int) -> Iterator[String]:
    """The strings of a list that goes by a credential's name."""
    name = _NAMED_LIST.search(data, max(0, place - 300), place)
    while name is not None and (part := _STRING.match(data, place)) is not None:
        yield String(part.start(1), part.end(1), name[1].decode("utf-8", "replace"))
        place = part.end()


def _in_list(data: bytes, end: int) -> Iterator[String]:
    start = data.rfind(b"[", max(0, end - _REACH), end) + 1
    if not start:
        return
    line, places = bytearray(), []
    place = start
    while (part := _STRING.match(data, place, end + _REACH)) is not None:
        places.append((len(line), part.start(1), part.end(1)))
        line += part[1] + b" "
        place = part.end()
    for span in commands.command(bytes(line), min(len(line), 260)):
        for at, first, last in places:
            if at <= span.start and span.end <= at + last - first:
                yield String(first + span.start - at, first + span.end - at, "password", "flag-")
