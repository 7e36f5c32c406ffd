"""Command lines that JSON keeps as a list, one argument a string: masked where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript.masker import commands, json_strings, linear, names
from kubescript.masker.json_strings import String

__all__ = ["located"]

_BACK: Final = 2_048
_MOST: Final = 400
"""Arguments that are looked at."""
_MEMBER: Final = linear.compiled(rb'(?s)\s*"((?:[^"\\]|\\.)*)"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,?')
_STRING: Final = linear.compiled(rb'(?s)"((?:[^"\\]|\\.)*)"\s*(,|\])?\s*')


def located(data: bytes, probe: str, end: int, lists: set[int]) -> Iterator[String]:
    """The parts of a document's strings that a command or a list makes secret; `lists`: the lists of arguments
    that were looked at, to be kept from one hit to the next."""
    if probe == "map":
        yield from _members(data, end)
    elif probe == "list":
        yield from _items(data, end - 1)
    elif probe == "command":
        yield from _in_list(data, end, lists)


def _items(data: bytes, place: int) -> Iterator[String]:
    """The strings of a list that goes by a credential's name."""
    name = json_strings.key_before(data, place)
    while name and (part := _STRING.match(data, place)) is not None:
        yield String(part.start(1), part.end(1), name)
        place = part.end()


def _members(data: bytes, place: int) -> Iterator[String]:
    """The strings of an object whose members are tokens, whatever they are called."""
    is_private = data.endswith(b"{", 0, place) and b"secureJsonData" in data[max(0, place - 40) : place]
    for _ in range(_MOST):
        member = _MEMBER.match(data, place)
        if member is None:
            return
        name = member[1].decode("utf-8", "replace")
        yield String(
            member.start(2), member.end(2), "secret" if is_private else "tokenValue" if names.kind(name) else "key"
        )
        place = member.end()


def _in_list(data: bytes, end: int, done: set[int]) -> Iterator[String]:
    """The passwords among the arguments of the list in which the program's name ends shortly before this place. `done`
    has the lists that were read: one may name a program in every argument."""
    start = data.rfind(b"[", max(0, end - _BACK), end) + 1
    if start in done:
        return
    done.add(start)
    words: list[commands.Word] = []
    place = start
    while start and len(words) < _MOST and (part := _STRING.match(data, place)) is not None:
        words.append(commands.Word(part[1], part.start(1)))
        place = part.end()
        if part[2] != b",":
            break
    if place < end:
        return
    for word in commands.secrets(words):
        if commands.is_secret(word.text):
            yield String(word.start, word.start + len(word.text), "password", "flag-")
