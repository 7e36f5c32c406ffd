"""Finds values in the object or list under a credential's name.

A list under such a name is a list of values. In an object, a generic field (`value`, `default`) inherits the name;
under a plural (`tokens`), every field does. A field with a more specific name is judged by that name, elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import orjson

from kubescript_masking.rules import names, values
from kubescript_masking.text import extents, json_strings, linear
from kubescript_masking.text.json_strings import String
from kubescript_masking.text.spans import Span

__all__ = ["LEAST", "Regions", "group", "judge_as", "members"]

_BYTES: Final = 4_096
"""How many bytes of an object, a list or a block are read."""
# Attack: an attacker nests names, each of which reads everything below it.
_NESTED: Final = 3
"""How many regions are read within each other."""
_PLURALS: Final = ("secrets", "tokens", "passwords", "keys", "passphrases", "bearer")
LEAST: Final = 4
"""The length of the shortest secret in bytes."""
_PRIVATE: Final = "secureJsonData"
"""Grafana's field for all secret settings of a data source."""
_LABEL: Final = linear.build(rb"[A-Za-z0-9_.@/-]{1,100}")
_TOKEN: Final = linear.build(
    rb"(?s)\"((?:[^\"\\]|\\.)*)\"|'([^'\n]*)'|([{}\[\],])|(=>|[:=])|"
    rb"([^\s\"'{}\[\],:=\\]+(?:[:=][^\s\"'{}\[\],:=>\\]+)*)|(\\)"
)
_OPENS: Final = (b"{", b"[")
_CLOSES: Final = (b"}", b"]")
_ENDS: Final = (*_CLOSES, b",")
_NAME: Final = linear.build(rb"(?:\A|[^\w./-])([\w.-]+)(?:\\*[\"'`])?\]?\s*(?:=>|[:=]|\s)\s*\z")
_KEY: Final = linear.build(rb"[^\\]\"([\w.-]+)\"\s*:\s*\z")
"""A name in JSON, outside its strings."""


class _Value(NamedTuple):
    """A scalar below a name."""

    start: int
    end: int
    own: bytes
    """The value's own name; empty in a list."""


def _find_opening(text: bytes, at: int, pattern: linear.Pattern) -> str:
    """Returns the name in front of a bracket; empty unless it may be a credential's."""
    low = max(0, at - extents.BACK)
    found = pattern.search(text[low:at])
    if found is None:
        return ""
    name = found[1].decode("latin-1")
    is_secret = name == _PRIVATE or values.is_name(name)
    return name if is_secret else ""


class Regions:
    """Tracks what was read of one text, in order, so that no byte is read more than a few times."""

    def __init__(self) -> None:
        self._ends: list[int] = []

    def may_read(self, at: int) -> bool:
        """Says whether the nesting at `at` is within limits."""
        around = [end for end in self._ends if end > at]
        self._ends = around
        return len(around) < _NESTED

    def have_read(self, end: int) -> None:
        """Notes that a region ends here."""
        self._ends.append(end)


def _read_flow(text: bytes, at: int) -> tuple[list[_Value], int]:
    """Returns the scalars of the object or list that begins at a bracket, in JSON, YAML's flow style or a programming
    language, and where it ends."""
    above: list[tuple[bytes, bytes]] = []  # the open brackets, each with the name that its values inherit
    found: list[_Value] = []
    key = b""
    scalar: linear.Match | None = None  # the last scalar, which is a key or a value
    limit = min(len(text), at + _BYTES)
    for token in _TOKEN.finditer(text, at, limit):
        sign = token[3] or token[4]
        if token[6]:  # JSON within a string is read when the string is unfolded
            return found, token.end()
        if sign is None or sign in _ENDS:
            if scalar is not None:
                bracket, inherited = above[-1]
                if key or bracket == b"[":
                    start, end = scalar.span(_find_group(scalar))
                    found.append(_Value(start, end, key or inherited))
                key = b""
            scalar = token if sign is None else None
        elif sign in _OPENS:
            outer = above[-1][1] if above else b""
            above.append((sign, key or outer))
            key, scalar = b"", None
        else:
            key = b"" if scalar is None else scalar[_find_group(scalar)]
            scalar = None
        if sign in _CLOSES:
            above.pop()
        if not above:
            return found, token.end()
    return found, limit


def _find_group(token: linear.Match) -> int:
    """Returns the group of a scalar that contains its text."""
    for group in (1, 2):
        if token.start(group) >= 0:
            return group
    return 5


def judge_as(name: str, own: bytes) -> str:
    """Returns the name by which a value below a name is judged; empty when it inherits none."""
    if not own or json_strings.is_holder(own):
        return name
    if name == _PRIVATE:
        return "password"
    if _LABEL.fullmatch(own) is None:
        return ""
    lower = own.decode("latin-1").lower()
    if lower.endswith(names.IDENTIFIERS):
        return ""
    # Under a plural name, random values count, whatever their key: `tokens: {ci: …}`.
    is_plural = name.lower().endswith(_PLURALS) and names.kind(name) != ""
    return "key" if is_plural else ""


def _in_code(value: bytes, kind: str) -> bool:
    """Says whether a list item is a credential, and not a word of a sentence or a rule such as `min:12`."""
    is_rule = b":" in value
    if is_rule:
        return False
    return values.is_secret_in_prose(value, kind)


def members(data: bytes, end: int, regions: Regions) -> Iterator[String]:
    """Yields the strings of the document's object or list whose bracket ends at `end`, each with the name that judges
    it."""
    for start, stop, name in _find_named(data, end, regions, _KEY):
        is_string = data[start - 1 : start] == b'"'
        if is_string:
            yield String(start, stop, name)


def group(text: bytes, end: int, regions: Regions) -> Iterator[Span]:
    """Yields the secrets of the text's object or list whose bracket ends at `end`."""
    for start, stop, name in _find_named(text, end, regions, _NAME):
        value = text[start:stop]
        kind = values.kind(name, value, _in_code)
        if kind:
            yield Span(start, stop, kind)


def _pass_over(text: bytes, at: int, name: str) -> int:
    """Returns where the JSON object at a bracket ends if no field of it inherits the name; 0 if one may."""
    # Every pod has a `serviceAccountToken`: reading each token by token took a sixth of the time of a list of pods.
    end = text.find(b"}", at, at + _BYTES) + 1
    try:
        fields = orjson.loads(text[at:end])
    except orjson.JSONDecodeError:  # nested, or no JSON
        return 0
    if not isinstance(fields, dict) or any(judge_as(name, own.encode()) for own in fields):
        return 0
    return end


def _find_named(text: bytes, end: int, regions: Regions, pattern: linear.Pattern) -> Iterator[tuple[int, int, str]]:
    """Yields the values below the name in front of a bracket, each with the name that judges it."""
    at = end - 1
    if not regions.may_read(at):
        return
    name = _find_opening(text, at, pattern)
    if not name:
        return
    harmless = _pass_over(text, at, name)
    found, stop = ([], harmless) if harmless else _read_flow(text, at)
    regions.have_read(stop)
    for value in found:
        size = value.end - value.start
        judged = judge_as(name, value.own) if size >= LEAST else ""
        if judged:
            yield value.start, value.end, judged
