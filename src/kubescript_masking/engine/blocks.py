"""Finds values on the lines around their name, in a text or a log: a YAML block, a here document, the `value` beside a
`name`, and the answers of `answers`.

A line that ends with a name opens a reader. It reads each line once, so that a log costs the same however many names it
contains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kubescript_masking.engine import answers, groups
from kubescript_masking.engine.answers import Reader
from kubescript_masking.rules import names, values
from kubescript_masking.text import extents, linear
from kubescript_masking.text.spans import Span

__all__ = ["OPENS", "in_text"]

_BYTES: Final = 4_096
"""How many bytes below a name in a text are read."""
_LINES: Final = 6
"""How many lines may stand between a name and the value beside it."""
# Attack: an attacker opens a here document and never ends it, to hide the rest of a log.
_HERE_LINES: Final = 64
"""How many lines of a here document are masked."""
_HEAD: Final = linear.build(
    rb"^([ \t]*(?:- +)*)[\"']?(-{0,2}[\w.-]{1,100})[\"']?(:?)"
    rb"[ \t]*([|>][+-]?[0-9]?)?[ \t]*(?:#[^\n]*)?\r?\n?\z"
)
_HERE: Final = linear.build(rb"([\w.-]{1,100})[\"']?[ \t]*[=:]?[ \t]*<<[-~]?[\"']?(\w{1,40})[\"']?[ \t]*\r?\n?\z")
_FIELD: Final = linear.build(
    rb"^([ \t]*(?:- +)*)(?:[\"']?([\w.@/-]{1,100})[\"']?:(?:[ \t]+|\r?\n?\z))?([^\r\n]*?)[ \t]*\r?\n?\z"
)
_REFERENCE: Final = linear.build(rb"\s*(?:name|key|namespace|secretName): [\w./-]{1,253}\s*\z")
"""A line of a reference to an object."""
_QUOTED: Final = linear.build(rb"([\"'])(.*)[\"'](?:[ \t]+#.*)?")
_BESIDE: Final = linear.build(
    rb"^([ \t]*(?:- +)*)[\"']?(?:name|key|path)[\"']?[ \t]*[:=][ \t]*[\"']?([\w.-]{1,100})[\"']?,?[ \t]*\r?\n?\z"
)
_VALUE: Final = linear.build(rb"^([ \t]*(?:- +)*)[\"']?(?:value|contents?|default)[\"']?[ \t]*[:=][ \t]*")


def in_text(text: bytes, end: int, regions: groups.Regions) -> Iterator[Span]:
    """Yields the secrets around the line of a text in which a name ends at `end`."""
    if not regions.may_read(end):
        return
    low = max(0, end - extents.BACK)
    start = text.rfind(b"\n", low, end - 1) + 1
    limit = min(len(text), end + _BYTES)
    read = end
    for _, opened in OPENS:
        reader = opened(text[start:end])
        for span in _read_below(text, end, limit, reader):
            read = max(read, span.end)
            yield span
    yield from _find_above(text, start, end)
    regions.have_read(read)


def _read_below(text: bytes, place: int, limit: int, reader: Reader) -> Iterator[Span]:
    """Yields what a reader finds in the lines from this place on."""
    try:
        next(reader)
        while place < limit:
            stop = text.find(b"\n", place, limit) + 1 or limit
            found = reader.send(text[place:stop])
            yield from answers.move(found, place)
            place = stop
    except StopIteration:
        pass


def _find_above(text: bytes, start: int, end: int) -> Iterator[Span]:
    """Yields the `value` above its `name`, within the same object."""
    beside = _BESIDE.search(text[start:end])
    if beside is None or b"-" in beside[1]:
        return
    indent, name = len(beside[1]), beside[2].decode()
    for place, line in _read_upwards(text, start):
        lead = _VALUE.search(line)
        if lead is not None and len(lead[1]) == indent:
            found = _judge_value(line, lead.end(), name)
            yield from answers.move(found, place)
            return
        is_over = _count_indent(line) < indent
        if is_over or not line.strip():
            return


def _read_upwards(text: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yields the lines before a place, the last one first, each with its place."""
    for _ in range(_LINES):
        if start == 0:
            return
        low = max(0, start - answers.LONG)
        begin = text.rfind(b"\n", low, start - 1) + 1
        yield begin, text[begin:start]
        start = begin


def _read_block(line: bytes) -> Reader:
    """Reads the fields or items that are indented deeper than their name, or a here document."""
    here = _HERE.search(line)
    if here is not None and values.is_name(here[1].decode()):
        yield from _read_here(here[2])
        return
    head = _HEAD.search(line)
    if head is None:
        return
    name = head[2].decode("latin-1")
    bare = name.lstrip("-")
    is_flag, has_colon = bare != name, bool(head[3])
    if is_flag == has_colon or not (names.kind(bare) or names.weak(name)):
        return
    if is_flag:
        line = yield []
        yield _judge_next_argument(line, head[1], bare)
    elif head[4]:
        yield from _read_scalar(len(head[1]))
    else:
        yield from _read_indented(_count_indent(head[1]), name)


def _read_here(last: bytes) -> Reader:
    """Reads a here document."""
    line = yield []
    for _ in range(_HERE_LINES):
        if line.strip() == last:
            return
        line = yield _mark_whole(line)


def _read_scalar(margin: int) -> Reader:
    """Reads a block scalar, all of which is the value."""
    line = yield []
    while not line.strip() or _count_indent(line) > margin:
        if _REFERENCE.match(line) is not None:  # a reference contains no secret
            line = yield []
        else:
            line = yield _mark_whole(line)


def _mark_whole(line: bytes) -> list[Span]:
    """Returns a line's content as one secret; nothing for a blank line."""
    end = len(line.rstrip())
    if end == 0:
        return []
    return [Span(_count_indent(line), end, "secret")]


def _read_indented(base: int, name: str) -> Reader:
    """Reads the fields that are indented deeper, or a list's items, which may be as deep as the name."""
    line = yield []
    while True:
        if not line.strip():
            line = yield []
            continue
        indent = _count_indent(line)
        is_item = indent == base and line.startswith(b"- ", base)
        if indent <= base and not is_item:
            return
        line = yield _judge_field(line, name)


def _count_indent(line: bytes) -> int:
    """Returns the number of blanks and tabs at a line's beginning."""
    bare = line.lstrip(b" \t")
    return len(line) - len(bare)


def _judge_next_argument(line: bytes, margin: bytes, name: str) -> list[Span]:
    """Returns the next item of the same list, if it is secret: `- --password⏎- …`."""
    field = _FIELD.match(line)
    if field is None or field[1] != margin:
        return []
    is_item = field[2] is None and not field[3].startswith(b"-")
    return _judge(field, b"", name) if is_item else []


def _judge_field(line: bytes, name: str) -> list[Span]:
    """Returns the value of a field or a list item below a name, if it is secret."""
    field = _FIELD.match(line)
    if field is None or (field[2] is None and b"- " not in field[1]):
        return []
    own = field[2] or b""
    is_named = own and names.kind(own.decode("latin-1"))  # the value is judged by its own name
    is_flow = field[3].startswith((b"{", b"["))
    if is_named or is_flow:
        return []
    return _judge(field, own, name)


def _judge(field: linear.Match, own: bytes, name: str) -> list[Span]:
    """Returns a field's value, without its quotes or the comment after it, if it is secret."""
    value, start = field[3], field.start(3)
    quoted = _QUOTED.fullmatch(value)
    if quoted is not None:
        value, start = quoted[2], start + 1
    else:
        value = value.partition(b" #")[0].rstrip()
    if len(value) < groups.LEAST:
        return []
    judged = groups.judge_as(name, own)
    return answers.judge(judged, value, start) if judged else []


def _read_beside(line: bytes) -> Reader:
    """Reads `value: …` beside `name: DB_PASSWORD` in the same object; other fields may stand between them."""
    beside = _BESIDE.search(line)
    if beside is None:
        return
    name = beside[2].decode()
    if not values.is_name(name):
        return
    indent = _count_indent(beside[1])
    line = yield []
    for _ in range(_LINES):
        is_over = _count_indent(line) < indent
        if is_over or not line.strip(b" \t\r\n{}[],"):
            return
        lead = _VALUE.search(line[: answers.LONG])
        if lead is not None:
            yield _judge_value(line, lead.end(), name)
            return
        line = yield []


def _judge_value(line: bytes, start: int, name: str) -> list[Span]:
    """Returns the value after `value:`, if it is secret under the name beside it."""
    begin = extents.beginning(line, start)
    start, stop = extents.extent(line, begin, whole_line=True)
    value = line[start:stop].rstrip(b" \t\r\n,")
    return answers.judge(name, value, start, "env-")


OPENS: Final[tuple[tuple[str, Callable[[bytes], Reader]], ...]] = (
    ("block", _read_block),
    ("beside", _read_beside),
    ("opened", answers.read_opened),
    ("answer", answers.read_answer),
    ("announced", answers.read_announced),
)
"""The sorts of readers, each with its opener; one reader of each sort is open at a time."""
