"""Values on the lines below their name, in a text or a log: a YAML block, a here document, the `value` beside a `name`,
the content of an XML element, the line below an arrow, an answer to a question.

A line that ends with a name opens a reader. The reader is sent each following line and yields the secrets in it, until
it is finished. It reads each line once, so that a log costs the same however many names it contains.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Final

from kubescript_masking.engine import groups
from kubescript_masking.rules import names, patterns, values
from kubescript_masking.text import extents, linear
from kubescript_masking.text.spans import Span

__all__ = ["OPENS", "Reader", "content", "in_text"]

Reader = Generator[list[Span], bytes, None]
"""Reads the lines below a name. A span without a kind means that the line is removed."""
_BYTES: Final = 4_096
"""Bytes below a name in a text that are read."""
_LINES: Final = 6
"""Lines between a name and the value beside it."""
_HERE_LINES: Final = 64
"""Lines of a here document that are masked. Attack: an attacker opens one and never ends it, to hide the rest of a
log."""
_LONG: Final = 2_000
"""Bytes of a line that are read."""
_BLANK_LINES: Final = 2
"""Blank lines between the line that announces a value and the value."""
_HEAD: Final = linear.build(
    rb"^([ \t]*(?:- +)*)[\"']?(-{0,2}[\w.-]{1,100})[\"']?(:?)"
    rb"[ \t]*([|>][+-]?[0-9]?)?[ \t]*(?:#[^\n]*)?\r?\n?\z"
)
_HERE: Final = linear.build(rb"([\w.-]{1,100})[\"']?[ \t]*[=:]?[ \t]*<<[-~]?[\"']?(\w{1,40})[\"']?[ \t]*\r?\n?\z")
_FIELD: Final = linear.build(
    rb"^([ \t]*(?:- +)*)(?:[\"']?([\w.@/-]{1,100})[\"']?:(?:[ \t]+|\r?\n?\z))?([^\r\n]*?)[ \t]*\r?\n?\z"
)
_REFERENCE: Final = linear.build(rb"\s*(?:name|key|namespace|secretName): [\w./-]{1,253}\s*\z")
"""A line of a reference to an object; it contains no secret."""
_QUOTED: Final = linear.build(rb"([\"'])(.*)[\"'](?:[ \t]+#.*)?")
_BESIDE: Final = linear.build(
    rb"^([ \t]*(?:- +)*)[\"']?(?:name|key|path)[\"']?[ \t]*[:=][ \t]*[\"']?([\w.-]{1,100})[\"']?,?[ \t]*\r?\n?\z"
)
_VALUE: Final = linear.build(rb"^([ \t]*(?:- +)*)[\"']?(?:value|contents?|default)[\"']?[ \t]*[:=][ \t]*")
_OPENED: Final = linear.build(
    rb"(?:(?:^|>)[ \t]*<(?:[\w-]{1,40}:)?([\w.-]{1,100})(?: [^<>]*)?>|"
    rb"([\w.-]{1,100})[\"']?\]?[ \t]*(?:=>|:?=))[ \t]*\r?\n?\z"
)
_ASKS: Final = linear.build(rb"(?:334 UGFzc3dvcmQ6|form-data;[^\r\n]*\bname=\"([A-Za-z0-9_.-]{1,100})\")[ \t]*\r?\n?\z")
"""A mail server asks for a password, or a form's field follows."""
_HEADER: Final = b"Content-"
_ANNOUNCES: Final = patterns.build(r'(?i)(?&credential)(?:[^a-z_:="-][^:="]*)?\z')
"""A line, without its final colon, that announces a credential below it."""
_SHAPE: Final = bytes.maketrans(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", b"0" * 10 + b"A" * 26 + b"A" * 26
)
_SHAPE_BYTES: Final = 400


def in_text(text: bytes, end: int, regions: groups.Regions) -> Iterator[Span]:
    """Yields the secrets around the line of a text in which a name ends at `end`."""
    if not regions.may_read(end):
        return
    start = text.rfind(b"\n", max(0, end - extents.BACK), end - 1) + 1
    limit = min(len(text), end + _BYTES)
    read = end
    for _, opened in OPENS:
        for span in _below(text, start, end, limit, opened):
            read = max(read, span.end)
            yield span
    yield from _above(text, start, end)
    regions.have_read(read)


def _below(text: bytes, start: int, end: int, limit: int, opened: Callable[[bytes], Reader]) -> Iterator[Span]:
    reader = opened(text[start:end])
    place = end
    try:
        next(reader)
        while place < limit:
            stop = text.find(b"\n", place, limit) + 1 or limit
            found = reader.send(text[place:stop])
            yield from _move(found, place)
            place = stop
    except StopIteration:
        pass


def _above(text: bytes, start: int, end: int) -> Iterator[Span]:
    """Yields the `value` above its `name`, within the same object."""
    beside = _BESIDE.search(text[start:end])
    if beside is None or b"-" in beside[1]:
        return
    indent, name = len(beside[1]), beside[2].decode()
    for place, line in _read_upwards(text, start):
        lead = _VALUE.search(line)
        if lead is not None and len(lead[1]) == indent:
            yield from _move(_judge_value(line, lead.end(), name), place)
            return
        if _indent(line) < indent or not line.strip():
            return


def _read_upwards(text: bytes, start: int) -> Iterator[tuple[int, bytes]]:
    """Yields the lines before a place, the last one first, each with its place."""
    for _ in range(_LINES):
        if start == 0:
            return
        begin = text.rfind(b"\n", max(0, start - _LONG), start - 1) + 1
        yield begin, text[begin:start]
        start = begin


def _move(found: Iterable[Span], by: int) -> Iterator[Span]:
    for span in found:
        yield Span(span.start + by, span.end + by, span.kind)


def _read_block(line: bytes) -> Reader:
    """Reads the fields or items that are indented deeper than a name, or a here document."""
    if (here := _HERE.search(line)) is not None and values.is_name(here[1].decode()):
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
        yield list(_next_argument(line, head[1], bare))
    elif head[4]:
        yield from _read_scalar(len(head[1]))
    else:
        yield from _read_indented(_indent(head[1]), name)


def _read_here(last: bytes) -> Reader:
    """Reads a here document."""
    line = yield []
    for _ in range(_HERE_LINES):
        if line.strip() == last:
            return
        line = yield _whole(line, "secret")


def _read_scalar(margin: int) -> Reader:
    """Reads a block scalar, all of which is the value."""
    line = yield []
    while not line.strip() or _indent(line) > margin:
        line = yield [] if _REFERENCE.match(line) else _whole(line, "secret")


def _whole(line: bytes, kind: str) -> list[Span]:
    end = len(line.rstrip())
    return [Span(_indent(line), end, kind)] if end else []


def _read_indented(base: int, name: str) -> Reader:
    """Reads the fields that are indented deeper, or a list's items, which may be as deep as the name."""
    line = yield []
    while not line.strip() or _indent(line) > base or (_indent(line) == base and line[base:].startswith(b"- ")):
        line = yield list(_judge_field(line, name)) if line.strip() else []


def _indent(line: bytes) -> int:
    return len(line) - len(line.lstrip(b" \t"))


def _next_argument(line: bytes, margin: bytes, name: str) -> Iterator[Span]:
    """Yields the next item of the same list: `- --password⏎- …`."""
    field = _FIELD.match(line)
    if field is None or field[1] != margin:
        return
    is_item = field[2] is None and not field[3].startswith(b"-")
    if is_item:
        yield from _judge(field, b"", name)


def _judge_field(line: bytes, name: str) -> Iterator[Span]:
    """Yields the value of a field or a list item below a name."""
    field = _FIELD.match(line)
    if field is None or (field[2] is None and b"- " not in field[1]):
        return
    own = field[2] or b""
    is_named = own and names.kind(own.decode("latin-1"))  # it is judged by its own name
    is_flow = field[3].startswith((b"{", b"["))
    if not is_named and not is_flow:
        yield from _judge(field, own, name)


def _judge(field: linear.Match, own: bytes, name: str) -> Iterator[Span]:
    """Yields a field's value, without its quotes or the comment behind it."""
    value, start = field[3], field.start(3)
    quoted = _QUOTED.fullmatch(value)
    if quoted is not None:
        value, start = quoted[2], start + 1
    else:
        value = value.partition(b" #")[0].rstrip()
    judged = groups.judge_as(name, own) if len(value) >= groups.LEAST else ""
    kind = values.kind(judged, value) if judged else ""
    if kind:
        yield Span(start, start + len(value), kind)


def _read_beside(line: bytes) -> Reader:
    """Reads `value: …` beside `name: DB_PASSWORD` in the same object; other fields may stand between them."""
    beside = _BESIDE.search(line)
    if beside is None:
        return
    name = beside[2].decode()
    if not values.is_name(name):
        return
    line = yield []
    for _ in range(_LINES):
        is_over = _indent(line) < _indent(beside[1])
        if is_over or not line.strip(b" \t\r\n{}[],"):
            return
        lead = _VALUE.search(line[:_LONG])
        if lead is not None:
            yield list(_judge_value(line, lead.end(), name))
            return
        line = yield []


def _judge_value(line: bytes, start: int, name: str) -> Iterator[Span]:
    begin = extents.beginning(line, start)
    start, stop = extents.extent(line, begin, whole_line=True)
    value = line[start:stop].rstrip(b" \t\r\n,")
    kind = values.kind(name, value)
    if kind:
        yield Span(start, start + len(value), f"env-{kind}")


def _read_opened(above: bytes) -> Reader:
    """Reads the value on the line below `<password>` or `["password"]=>`."""
    opened = _OPENED.search(above)
    if opened is None:
        return
    element, arrow = opened[1], opened[2]
    name = (element or arrow).decode()
    if not values.is_name(name):
        return
    line, start = yield from _find_filled(above)
    begin = extents.beginning(line, start)
    if arrow and line[begin : begin + 1] not in (b'"', b"'"):  # NAME=⏎OTHER=…
        return
    start, stop = extents.extent(line, begin)
    value = line[start:stop].partition(b"<")[0]
    kind = values.kind(name, value)
    yield [Span(start, start + len(value), kind)] if kind else []


def _read_answer(above: bytes) -> Reader:
    """Reads the answer to a password prompt, or the content of a form's field."""
    asks = _ASKS.search(above)
    if asks is None:
        return
    kind = names.kind(asks[1].decode()) if asks[1] else "password"
    if not kind:
        return
    line, start = yield from _find_filled(above)
    value = line[start:].rstrip()
    if values.is_secret(value, kind):
        yield [Span(start, start + len(value), kind)]


def _read_announced(above: bytes) -> Reader:
    """Reads a value that stands alone below a line that announces it."""
    lead = above.rstrip()[-_LONG:]
    if not lead.endswith(b":") or _ANNOUNCES.search(lead[:-1]) is None:
        return
    line, start = yield from _find_filled(above)
    both = lead + b"\n" + line[start:]
    found, _ = patterns.ROWS["announced"].spans(both, len(both), 0)
    below = [span for span in found if span.start > len(lead)]
    yield list(_move(below, len(line) - len(both)))


def _find_filled(above: bytes) -> Generator[list[Span], bytes, tuple[bytes, int]]:
    """Returns the next line that is neither blank nor a header of a form's field, and where its content begins."""
    line = yield []
    for _ in range(_BLANK_LINES):
        if line.strip() and not line.startswith(_HEADER):
            break
        line = yield []
    start = content(line, above)
    return line, len(line) - len(line[start:].lstrip())


def content(line: bytes, above: bytes) -> int:
    """Returns where a line's content begins behind its prefix: the text, up to a blank, whose shape the line above
    shares."""
    above = above[:_SHAPE_BYTES].translate(_SHAPE)
    shape = line[:_SHAPE_BYTES].translate(_SHAPE)
    same = 0
    different = min(len(above), len(shape)) + 1
    while different - same > 1:
        middle = (same + different) // 2
        if above.startswith(shape[:middle]):
            same = middle
        else:
            different = middle
    return line.rfind(b" ", 0, same) + 1


OPENS: Final[tuple[tuple[str, Callable[[bytes], Reader]], ...]] = (
    ("block", _read_block),
    ("beside", _read_beside),
    ("opened", _read_opened),
    ("answer", _read_answer),
    ("announced", _read_announced),
)
"""The sorts of readers, each with its opener; one reader of each sort is open at a time."""
