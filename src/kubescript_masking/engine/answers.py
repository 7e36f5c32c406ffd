"""Values on the line below the one that announces them: an answer to a question, the content of an XML element, the
line below an arrow or a colon.

A line that announces a value opens a reader. The reader is sent each following line and yields the secrets in it, until
it is finished.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from typing import Final

from kubescript_masking.rules import names, patterns, values
from kubescript_masking.text import extents, linear
from kubescript_masking.text.spans import Span

__all__ = [
    "LONG", "Reader", "count_shared", "find_content", "judge", "move", "read_announced", "read_answer", "read_opened",
]  # fmt: skip

Reader = Generator[list[Span], bytes, None]
"""Reads the lines below a name. A span without a kind means that the line is removed."""
LONG: Final = 2_000
"""How many bytes of a line are read."""
_BLANK_LINES: Final = 2
"""How many blank lines may stand between the line that announces a value and the value."""
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


def read_opened(above: bytes) -> Reader:
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
    is_quoted = line.startswith((b'"', b"'"), begin)
    if arrow and not is_quoted:  # NAME=⏎OTHER=…
        return
    start, stop = extents.extent(line, begin)
    value = line[start:stop].partition(b"<")[0]
    yield judge(name, value, start)


def read_answer(above: bytes) -> Reader:
    """Reads the answer to a password prompt, or the content of a form's field."""
    asks = _ASKS.search(above)
    if asks is None:
        return
    # A mail server's prompt, `Password:` in base64, names no field.
    field = asks[1]
    kind = names.kind(field.decode()) if field else "password"
    if not kind:
        return
    line, start = yield from _find_filled(above)
    value = line[start:].rstrip()
    if values.is_secret(value, kind):
        yield [Span(start, start + len(value), kind)]


def read_announced(above: bytes) -> Reader:
    """Reads a value that stands alone below a line that announces it."""
    lead = above.rstrip()[-LONG:]
    if not lead.endswith(b":") or _ANNOUNCES.search(lead[:-1]) is None:
        return
    line, start = yield from _find_filled(above)
    content = line[start:]
    both = lead + b"\n" + content
    found, _ = patterns.ROWS["announced"].spans(both, len(both), 0)
    below = [span for span in found if span.start > len(lead)]
    moved = move(below, len(line) - len(both))
    yield list(moved)


def _find_filled(above: bytes) -> Generator[list[Span], bytes, tuple[bytes, int]]:
    """Returns the next line that is neither blank nor a header of a form's field, and where its content begins."""
    line = yield []
    for _ in range(_BLANK_LINES):
        is_filled = line.strip() and not line.startswith(_HEADER)
        if is_filled:
            break
        line = yield []
    start = find_content(line, above)
    content = line[start:].lstrip()
    return line, len(line) - len(content)


def find_content(line: bytes, above: bytes) -> int:
    """Returns where a line's content begins: after the prefix, which ends with a blank and has the same shape in the
    line above."""
    return line.rfind(b" ", 0, count_shared(line, above)) + 1


def count_shared(line: bytes, above: bytes) -> int:
    """Returns how many bytes at a line's beginning have the same shape in the line above."""
    above = above[:_SHAPE_BYTES].translate(_SHAPE)
    shape = line[:_SHAPE_BYTES].translate(_SHAPE)
    same = 0
    # This is a bisection: letter by letter, a line would take up to four hundred steps.
    different = min(len(above), len(shape)) + 1
    while different - same > 1:
        middle = (same + different) // 2
        if above.startswith(shape[:middle]):
            same = middle
        else:
            different = middle
    return same


def judge(name: str, value: bytes, start: int, where: str = "") -> list[Span]:
    """Returns the span of a value that begins here, if it is secret under this name; `where` prefixes its kind."""
    kind = values.kind(name, value)
    if not kind:
        return []
    return [Span(start, start + len(value), where + kind)]


def move(found: Iterable[Span], by: int) -> Iterator[Span]:
    """Yields a line's spans as spans of the text in which the line begins at `by`."""
    for span in found:
        start, end = span.start + by, span.end + by
        yield Span(start, end, span.kind)
