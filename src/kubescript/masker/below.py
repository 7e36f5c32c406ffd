"""What stands below a credential's name: in the object or the list behind it, or on the lines that are indented deeper.

A list under such a name is a list of values, whatever their place. In an object, a field that says no more than that
here the value is (`value`, `default`) inherits the name; under a plural (`tokens`) so does every field. What has a name
of its own that tells more is judged by that one, elsewhere.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final, NamedTuple

from kubescript.masker import extents, json_strings, linear, names, values
from kubescript.masker.spans import Span

__all__ = ["READERS", "Regions", "lines", "members"]

_BYTES: Final = 4_096
"""Bytes of an object, a list or a block that are read."""
_NESTED: Final = 3
"""Regions that are read within each other. Attack: names within names, each of which reads all that is below it."""
_PLURALS: Final = ("secrets", "tokens", "passwords", "keys", "passphrases", "bearer")
_IDENTIFIERS: Final = (
    "id",
    "ids",
    "hash",
    "checksum",
    "digest",
    "fingerprint",
    "sha256",
    "md5",
    "integrity",
    "version",
    "url",
    "uri",
)
"""How fields end whose values are drawn by lot, or made from a secret, and are none."""
_LEAST: Final = 4
"""Bytes of the shortest secret."""
_PRIVATE: Final = "secureJsonData"
"""What Grafana calls all secret settings of a data source."""
_LABEL: Final = linear.compiled(rb"[A-Za-z0-9_.@/-]{1,100}")
_TOKEN: Final = linear.compiled(
    rb"(?s)\"((?:[^\"\\]|\\.)*)\"|'([^'\n]*)'|([{}\[\],])|(=>|[:=])|"
    rb"([^\s\"'{}\[\],:=\\]+(?:[:=][^\s\"'{}\[\],:=>\\]+)*)|(\\)"
)
_OPENS: Final = (b"{", b"[")
_CLOSES: Final = (b"}", b"]")
_ENDS: Final = (*_CLOSES, b",")
_NAME: Final = linear.compiled(rb"(?:\A|[^\w./-])([\w.-]+)(?:\\*[\"'`])?\]?\s*(?:=>|[:=]|\s)\s*\z")
_KEY: Final = linear.compiled(rb"[^\\]\"([\w.-]+)\"\s*:\s*\z")
"""The same in JSON, and not within one of its strings."""
_HEAD: Final = linear.compiled(
    rb"^([ \t]*(?:- +)*)[\"']?(-{0,2}[\w.-]{1,100})[\"']?(:?)"
    rb"[ \t]*([|>][+-]?[0-9]?)?[ \t]*(?:#[^\n]*)?\r?\n?\z"
)
_FIELD: Final = linear.compiled(
    rb"^([ \t]*(?:- +)*)(?:[\"']?([\w.@/-]{1,100})[\"']?:(?:[ \t]+|\r?\n?\z))?([^\r\n]*?)[ \t]*\r?\n?\z"
)
_QUOTED: Final = linear.compiled(rb"([\"'])(.*)[\"'](?:[ \t]+#.*)?")


class _Value(NamedTuple):
    """A scalar below a name."""

    start: int
    end: int
    own: bytes
    """What it is called itself; empty in a list."""


def _opening(text: bytes, at: int, pattern: linear.Pattern) -> str:
    """The name in front of a bracket; empty when there is none that may be a credential's."""
    found = pattern.search(text[max(0, at - extents.BACK) : at])
    name = "" if found is None else found[1].decode("latin-1")
    return name if names.kind(name) or names.weak(name) or name == _PRIVATE else ""


class Regions:
    """What was read of one text, for places in their order: no byte is read more than a few times."""

    def __init__(self) -> None:
        self._ends: list[int] = []

    def may_read(self, at: int) -> bool:
        """Whether what begins here lies within few others."""
        self._ends = [end for end in self._ends if end > at]
        return len(self._ends) < _NESTED

    def have_read(self, end: int) -> None:
        """It ends here."""
        self._ends.append(end)


def _flow(text: bytes, at: int) -> tuple[list[_Value], int]:
    """The scalars of the object or the list that begins at a bracket, in JSON, YAML's flow style or a language's, and
    where it ends."""
    above: list[tuple[bytes, bytes]] = []
    found: list[_Value] = []
    key = b""
    waiting: linear.Match | None = None
    end = min(len(text), at + _BYTES)
    for token in _TOKEN.finditer(text, at, end):
        sign = token[3] or token[4]
        if token[6]:  # JSON within a string: what unfolds that reads it
            return found, token.end()
        if sign is None or sign in _ENDS:
            if waiting is not None:
                found += _value(waiting, key, above)
                key = b""
            waiting = token if sign is None else None
        elif sign in _OPENS:
            above.append((sign, key or (above[-1][1] if above else b"")))
            key, waiting = b"", None
        else:
            key, waiting = (b"" if waiting is None else waiting[_group(waiting)]), None
        if sign in _CLOSES:
            above.pop()
        if not above:
            return found, token.end()
    return found, end


def _value(token: linear.Match, key: bytes, above: list[tuple[bytes, bytes]]) -> Iterator[_Value]:
    bracket, own = above[-1]
    if bracket == b"[" or key:
        yield _Value(*token.span(_group(token)), key or own)


def _group(token: linear.Match) -> int:
    return next(group for group in (1, 2, 5) if token.start(group) >= 0)


def _judged_as(name: str, own: bytes) -> str:
    """The name by which a value below a name is judged; empty when it inherits none."""
    if not own or json_strings.is_holder(own):
        return name
    if name == _PRIVATE:
        return "secret"
    is_label = _LABEL.fullmatch(own) is not None and not own.decode("latin-1").lower().endswith(_IDENTIFIERS)
    # What is drawn by lot counts under a plural, whosever it is: `tokens: {ci: …}`.
    return "key" if is_label and names.kind(name) and name.lower().endswith(_PLURALS) else ""


def _in_code(value: bytes, kind: str) -> bool:
    """Whether an item of a list is a credential that may as well be a word of a sentence, or a rule: `min:12`."""
    return b":" not in value and values.is_secret_in_prose(value, kind)


def block(text: bytes, end: int, regions: Regions) -> Iterator[Span]:
    """What stands on the lines below the one in which a name ends at `end`."""
    if not regions.may_read(end):
        return
    start = text.rfind(b"\n", max(0, end - extents.BACK), end - 1) + 1
    below = lines(text[start:end])
    if next(below, None) is None:
        return
    place, limit = end, min(len(text), end + _BYTES)
    while place < limit:
        stop = text.find(b"\n", place, limit) + 1 or limit
        try:
            found = below.send(text[place:stop])
        except StopIteration:
            break
        yield from (Span(place + span.start, place + span.end, span.kind) for span in found)
        place = stop
    regions.have_read(place)


def members(data: bytes, end: int, regions: Regions) -> Iterator[tuple[int, int, str]]:
    """The strings of a document's object or list whose bracket ends at `end`, each with the name by which it is
    judged."""
    for start, stop, name in _named(data, end, regions, _KEY):
        if data[start - 1 : start] == b'"':
            yield start, stop, name


def group(text: bytes, end: int, regions: Regions) -> Iterator[Span]:
    """What is secret in the object or the list of a text whose bracket ends at `end`."""
    for start, stop, name in _named(text, end, regions, _NAME):
        if kind := values.kind(name, text[start:stop], _in_code):
            yield Span(start, stop, kind)


def _named(text: bytes, end: int, regions: Regions, pattern: linear.Pattern) -> Iterator[tuple[int, int, str]]:
    at = end - 1
    name = _opening(text, at, pattern) if regions.may_read(at) else ""
    if not name:
        return
    found, stop = _flow(text, at)
    regions.have_read(stop)
    for value in found:
        if value.end - value.start >= _LEAST and (judged := _judged_as(name, value.own)):
            yield value.start, value.end, judged


READERS: Final = {"below": block, "group": group}
"""By the probe that calls for them."""


def lines(line: bytes) -> Generator[list[Span], bytes, None]:
    """What stands on the lines below `name:`: it is sent each, and gives what is secret there, until they are no longer
    below it. It is over at once when the line is no such name."""
    head = _HEAD.search(line)
    if head is None:
        return
    name = head[2].decode("latin-1")
    bare = name.lstrip("-")
    if not (names.kind(bare) or names.weak(name)):
        return
    is_flag, has_colon = bare != name, bool(head[3])
    if is_flag == has_colon:
        return
    if is_flag:
        line = yield []
        yield list(_next_argument(line, head[1], bare))
    elif head[4]:
        yield from _scalar(len(head[1]))
    else:
        yield from _indented(_indent(head[1]), name)


def _scalar(margin: int) -> Generator[list[Span], bytes, None]:
    """A block scalar, all of which is the value."""
    line = yield []
    while not line.strip() or _indent(line) > margin:
        line = yield [Span(_indent(line), len(line.rstrip()), "secret")] if line.strip() else []


def _indented(base: int, name: str) -> Generator[list[Span], bytes, None]:
    """Fields that are indented deeper, or items of a list, which may be as deep as the name."""
    line = yield []
    while not line.strip() or _indent(line) > base or (_indent(line) == base and line.lstrip(b" \t").startswith(b"- ")):
        line = yield list(_on_line(line, name)) if line.strip() else []


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


def _next_argument(line: bytes, margin: bytes, name: str) -> Iterator[Span]:
    """`- --password⏎- …`: the next item of the same list."""
    field = _FIELD.match(line)
    if field is not None and field[1] == margin and field[2] is None and not field[3].startswith(b"-"):
        yield from _judged(*_bare(field), b"", name)


def _on_line(line: bytes, name: str) -> Iterator[Span]:
    field = _FIELD.match(line)
    if field is None or (field[2] is None and b"- " not in field[1]):
        return
    own = field[2] or b""
    is_named = own and names.kind(own.decode("latin-1"))  # it is judged by that
    if not (is_named or field[3].startswith(_OPENS)):
        yield from _judged(*_bare(field), own, name)


def _judged(value: bytes, start: int, own: bytes, name: str) -> Iterator[Span]:
    judged = _judged_as(name, own) if len(value) >= _LEAST else ""
    if judged and (kind := values.kind(judged, value)):
        yield Span(start, start + len(value), kind)


def _bare(field: linear.Match) -> tuple[bytes, int]:
    """A value without its quotes or the comment behind it, and where it stands."""
    quoted = _QUOTED.fullmatch(field[3])
    if quoted is not None:
        return quoted[2], field.start(3) + 1
    return field[3].partition(b" #")[0].rstrip(), field.start(3)
