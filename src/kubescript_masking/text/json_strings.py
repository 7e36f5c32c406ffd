"""The strings of a JSON document that a scan's hits point to, and the names of their values; found without parsing it.

In valid JSON, an unescaped quotation mark begins or ends a string. Strings are read from the front of the document to
its end, each once, however many hits it contains; a value's name is in front of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import orjson

from kubescript_masking.text import linear

__all__ = [
    "BEHIND_RUN",
    "NUMBER",
    "OPENINGS",
    "SAID",
    "String",
    "elements",
    "end_of",
    "escape",
    "is_holder",
    "items",
    "locate",
    "plain",
    "quotes_only",
    "unescape",
]

OPENINGS: Final = (b"{", b"[", b'"')
"""What JSON that is nested in a string begins with."""
_BLANK: Final = b" \t\r\n"
_BACK: Final = 420
"""How many bytes before a value are searched for its name."""
_FAR_BACK: Final = 4_200
"""How many bytes before a name are searched for its value."""
_HOLDERS: Final = frozenset(
    b"val content contents text data string plain plaintext literal cleartext inline raw default exact".split()
)
"""Generic keys: the name of their value is beside them or above them. So are those that end like `newValue`."""
_VALUES: Final = (b"value", b"Value", b"values", b"Values")
_BESIDE: Final = linear.build(
    rb'(?s)"(?:(?:[A-Za-z]*[nN]ame|[A-Za-z]*[kK]ey|variable|param|path|id|field|setting|label|option|property|attribute|header|title|(type))'
    rb'"\s*:\s*"((?:[^"\\]|\\.){1,200}))"'
)
_REVERSED: Final = linear.build(
    rb'(?s).*"(?:value|(message))"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,\s*"(?:name|key|field)"\s*:\s*"\z'
)
_NUMBER: Final = linear.build(rb"([0-9]{4,20})[\s,}\]]")
# The token of an ACME challenge is meant to be published.
_CHALLENGE: Final = linear.build(
    rb'"token"\s*:\s*"[\w-]{16,128}"\s*,[^{}]{0,300}"type"\s*:\s*"(?:http|dns|tls-alpn)-01"|'
    rb'"type"\s*:\s*"(?:http|dns|tls-alpn)-01"[^{}]{0,300}"token"\s*:'
)
"""An ACME challenge."""
_FLAG: Final = linear.build(rb"--?[A-Za-z0-9_.-]{1,80}")
_ITEM: Final = linear.build(rb'(?s)\s*"((?:[^"\\]|\\.)*)"\s*,?')
_ELEMENT: Final = linear.build(rb'(?s)[\[,]\s*"((?:[^"\\]|\\.)*)"\s*')
_NEXT_FLAG: Final = linear.build(rb'--?[a-z][a-z-]*["=]')
NUMBER: Final = "number"
"""The role of a number."""
SAID: Final = "said"
"""The role of a message about a field's value: `Invalid value: "…"`."""
BEHIND_RUN: Final = 2
"""How many bytes after a string the probes in `_AT_END` read."""
# What these probes look for ends with the string.
_AT_END: Final = frozenset({"base64", "drawn", "ppp-secrets"})
"""Probes that read the quote after a string."""
# `drawn` finds 126 of these in a list of 20 pods: judging them took 5 of the 7 ms that masking the list takes.
_FIELDS: Final = frozenset({b"FieldsV1", b"fieldsV1"})
_UNITS: Final = (b"Ki", b"Mi", b"Gi", b"Ti")
_WINDOW: Final = 4_096
# Otherwise an escape would seem to begin after an escaped backslash; documents contain no zero bytes.
_BACKSLASH: Final = b"\\\0"
"""Replaces an escaped backslash."""
# JSON writers use either small or capital digits throughout.
_NEEDLESS: Final = {
    form.encode(): bytes([code])
    for code in range(0x20, 0x7F)
    for form in (f"\\u{code:04x}", f"\\u{code:04X}")
    if chr(code) not in '"\\'
}
"""Needless escapes and their characters."""


class String(NamedTuple):
    """The place of a string's content in the document."""

    start: int
    end: int
    name: str = ""
    """The value's name; empty when only the content matters."""
    role: str = ""
    """What the name belongs to: `env-`, `flag-` or empty; or else `NUMBER`, `SAID`."""


def elements(data: bytes, name: str) -> Iterator[String]:
    """Yields the strings that are elements of lists, under one name."""
    for match in _ELEMENT.finditer(data):
        if data[match.end() : match.end() + 1] in {b",", b"]"}:
            yield String(match.start(1), match.end(1), name)


def locate(data: bytes, hits: Iterable[tuple[str, int]]) -> Iterator[String]:
    """Yields the strings that hits (a probe, and where its match ends) point to, in order, with their names; a value
    before its name may come late."""
    done = 0  # outside any string; nothing after it has been read
    for probe, end in hits:
        if end <= done:
            continue
        read = quotes_only(data, done, end)
        last = read.rfind(b'"')
        is_inside = read.count(b'"') % 2 == 1
        if not is_inside:
            # What some probes look for ends with its string, so they read its quote.
            is_just_behind = last >= max(0, len(read) - BEHIND_RUN)
            is_of_string = is_just_behind and probe in _AT_END
            if not is_of_string:
                yield from _find_number(data, end - 1)
                done = end
                continue
            behind = last
            last = read.rfind(b'"', 0, last)
            if probe == "drawn" and _is_of_kubernetes(read[last + 1 : behind]):
                done = end
                continue
        start = done + last + 1
        yield from _read(data, start)
        done = end_of(data, start) + 1


def _is_of_kubernetes(content: bytes) -> bool:
    """Says whether mixed letters and digits are the API's own words, or an amount of memory."""
    return content in _FIELDS or (content.endswith(_UNITS) and content[:-2].isdigit())


def _read(data: bytes, start: int) -> Iterator[String]:
    """Yields the string whose content begins here, and the value that it names."""
    end = end_of(data, start)
    head = data[max(0, start - _BACK) : start - 1].rstrip(_BLANK)
    name, role = _find_name(data, head, start, end)
    yield String(start, end, name, role)
    key = head.removesuffix(b":").rstrip(_BLANK)
    if not key.endswith((b'"name"', b'"key"', b'"field"')):
        return
    low = max(0, start - _FAR_BACK)
    before = _REVERSED.match(data[low:start])
    if before is None:
        return
    is_message = before[1] is not None
    value_start, value_end = before.span(2)
    own_name = text_of(data[start:end])
    yield String(low + value_start, low + value_end, own_name, SAID if is_message else "env-")


def _find_number(data: bytes, start: int) -> Iterator[String]:
    """Yields the number that begins here, if it is a member's value."""
    head = data[max(0, start - _BACK) : start].rstrip(_BLANK)
    if not head.endswith(b":"):
        return
    number = _NUMBER.match(data, start)
    if number is None:
        return
    key = head[:-1].rstrip(_BLANK)
    name, _ = _find_by_key(data, key, start)
    first, last = number.span(1)
    yield String(first, last, name, NUMBER)


def _find_name(data: bytes, head: bytes, start: int, end: int) -> tuple[str, str]:
    """Returns a value's name and role. `head` is the text in front of the value."""
    before = head[:-1].rstrip(_BLANK)
    if head.endswith(b":"):
        return _find_by_key(data, before, start)
    if not head.endswith(b","):
        return "", ""
    flag, _ = _last_string(before)
    behind = data[end + 1 : end + 8].lstrip(_BLANK)
    is_key = behind.startswith(b":")
    is_flag = not is_key and _FLAG.fullmatch(flag) is not None
    if is_flag and not _NEXT_FLAG.match(data, start, end + 1):
        return text_of(flag), "flag-"
    return "", ""


def items(data: bytes, place: int) -> Iterator[String]:
    """Yields the strings of a list from this place on, up to the first item that is not a string."""
    while (item := _ITEM.match(data, place)) is not None:
        yield String(*item.span(1))
        place = item.end()


def _find_by_key(data: bytes, head: bytes, start: int) -> tuple[str, str]:
    """Returns the key, or the name beside a generic key, and the role; both empty for an ACME challenge's token."""
    key, place = _last_string(head)
    if not key or (key == b"token" and _is_challenge(data, start)):
        return "", ""
    if not is_holder(key):
        return text_of(key), ""
    above = head[:place].rstrip(_BLANK)
    if above.endswith(b","):
        beside = _find_beside(above)
        if not beside and start > _BACK and b"{" not in above:
            # The labels of a series are sorted, so that others stand between `name` and `value`.
            beside = _find_beside(data[max(0, start - _FAR_BACK) : start - _BACK + place])
        if beside:
            return text_of(beside), "env-"
    if above.endswith(b"{"):
        parent_head = above[:-1].rstrip(_BLANK).removesuffix(b":")
        parent, _ = _last_string(parent_head)
        key = parent or key
    return text_of(key), ""


def _find_beside(above: bytes) -> bytes:
    """Returns the name that stands last in front of a value, in its object; empty if there is none."""
    object_start = above.rfind(b"{") + 1
    beside = [match[2] for match in _BESIDE.finditer(above, object_start) if _is_name(match)]
    return beside[-1] if beside else b""


def _is_challenge(data: bytes, start: int) -> bool:
    """Says whether the value that begins here belongs to an ACME challenge."""
    low = max(0, start - _BACK)
    high = start + _BACK
    near = data[low:high]
    return _CHALLENGE.search(near) is not None


def is_holder(key: bytes) -> bool:
    """Says whether a key is generic, which means that it says only that this is the value."""
    return key in _HOLDERS or (key.endswith(_VALUES) and key.isalpha())


def _is_name(match: linear.Match) -> bool:
    """Says whether a key's value names another value; that of `type` does so only when it begins with `password`."""
    is_type, value = match[1], match[2]
    return not is_type or value.startswith(b"password")


def _last_string(head: bytes) -> tuple[bytes, int]:
    """Returns the content of the string that ends `head`, and the place of its first quote; empty when there is
    none."""
    if not head.endswith(b'"'):
        return b"", 0
    begin = head.rfind(b'"', 0, len(head) - 1)
    if head[begin - 1 : begin] == b"\\":  # the quote may be escaped
        begin = quotes_only(head, 0, len(head) - 1).rfind(b'"')
    if begin < 0:
        return b"", 0
    return head[begin + 1 : -1], begin


def end_of(data: bytes, start: int) -> int:
    """Returns where the string whose content begins at `start` ends."""
    end = data.find(b'"', start)
    if end < 0:
        return len(data)
    if end == start or data[end - 1 : end] != b"\\":
        return end
    size = _WINDOW
    while True:
        found = quotes_only(data, start, start + size).find(b'"')
        if found >= 0:
            return start + found
        if start + size >= len(data):
            return len(data)
        size *= 2


def quotes_only(data: bytes, start: int, end: int) -> bytes:
    """Returns a piece with zeros for escaped quotation marks and backslashes: each quotation mark that remains begins
    or ends a string."""
    piece = data[start:end]
    if b"\\" in piece:
        piece = piece.replace(b"\\\\", b"\0\0").replace(b'\\"', b"\0\0")
    return piece


def plain(data: bytes) -> bytes:
    r"""Returns the document without needless escapes, such as \u0070 for p, which would hide a name or a token from the
    scan."""
    data = data.replace(b"\\\\", _BACKSLASH).replace(b"\\/", b"/")
    for escape, letter in _NEEDLESS.items():
        if escape in data:
            data = data.replace(escape, letter)
    return data.replace(_BACKSLASH, b"\\\\")


def unescape(raw: bytes) -> bytes | None:
    """Returns the bytes that a string stands for; None when it is not valid."""
    if b"\\" not in raw:
        return raw
    try:
        return str(orjson.loads(b'"' + raw + b'"')).encode()
    except orjson.JSONDecodeError:
        return None


def escape(content: bytes) -> bytes:
    """Returns the bytes of a string with this content."""
    text = content.decode("utf-8", "replace")
    return orjson.dumps(text)[1:-1]


def text_of(raw: bytes) -> str:
    """Returns a name without its escapes."""
    content = unescape(raw)
    if content is None:
        content = raw
    return content.decode("utf-8", "replace")
