"""The strings of a JSON document that a scan points to, and the names their values go by; found without parsing it.

In valid JSON a quotation mark that is not escaped begins or ends a string, wherever one starts to read. Each byte is
looked at a bounded number of times: a string that was found once is skipped by every further hit in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["String", "end_of", "escaped", "located", "plain", "unescaped"]

_CONTENT: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_NAMED: Final = re.compile(
    rb'"(?:(?:[A-Za-z]*[nN]ame|[A-Za-z]*[kK]ey|variable|param|path|id|field|setting|label|option|property|attribute|header|title)"\s*:\s*"|type"\s*:\s*"(?=password"))((?:[^"\\]|\\.){1,200})"',
    re.DOTALL,
)
_MEMBER: Final = re.compile(
    rb'"([^"\\]{1,200})"\s*:\s*\{\s*"(?:value|plain|plaintext|literal|cleartext|inline|raw|default|val)"\s*:\s*"\Z'
)
_LISTED: Final = re.compile(rb'"([^"\\]{1,200})"\s*:\s*\[\s*"\Z')
_REVERSED: Final = re.compile(rb'"value"\s*:\s*"(?=(?:[^"\\]|\\.)*+"\s*,\s*"(?:name|key)"\s*:\s*"[^"]*\Z)', re.DOTALL)
_CHALLENGE: Final = re.compile(
    rb'"token"\s*:\s*"[\w-]{16,128}"\s*,[^{}]{0,300}"type"\s*:\s*"(?:http|dns|tls-alpn)-01"|'
    rb'"type"\s*:\s*"(?:http|dns|tls-alpn)-01"[^{}]{0,300}"token"\s*:'
)
"""What an ACME server asks to be published."""
_ARGUMENT: Final = re.compile(rb'"(--?[A-Za-z0-9_.-]{1,80})"\s*,\s*"\Z')
_NEXT_FLAG: Final = re.compile(rb'--?[a-z][a-z-]*["=]')
_AFTER_KEY: Final = re.compile(rb"\s*:")
_ESCAPES: Final = re.compile(rb"\\(?:u00([2-7][0-9a-fA-F])|.)", re.DOTALL)
_BLANK: Final = b" \t\r\n"
_BACK: Final = 420
_FAR_BACK: Final = 4_200
_BACKSLASH: Final = ord("\\")
_READ: Final = {"weak": 8, "weak-key": 12}
"""Letters of the value that the probe has read beyond its beginning."""


@dataclass(frozen=True, slots=True)
class String:
    """Where a string's content is in the document."""

    start: int
    end: int
    name: str = ""
    """Of its value; empty when only its content is of interest."""
    role: str = ""
    """`env-`, `flag-` or nothing: what the name is of."""


def located(data: bytes, hits: Iterable[tuple[str, int]]) -> Iterator[String]:
    """The strings that hits (a probe, and where its match ends) point to; one may come twice, then with a name."""
    done = 0
    blanks = _Blanks(data)
    for probe, end in hits:
        string = None
        if probe == "columns" and _is_quote(data, blanks.before(end - 1) - 1):  # behind a string's end, so in none
            continue
        if end > done or probe in {*_READ, "variable-reversed"}:
            string = _named(probe, data, end)
        last = end - 2 if probe == "base64" and _is_quote(data, end - 1) else end - 1
        if string is None and end > done and not _is_quote(data, last):
            start = _start(data, done, last)
            string = String(start, end_of(data, start)) if start >= 0 else None
            done = max(done, last)  # no quote is between: where none is at all, each hit would look for one
        if string is not None:
            yield string
            done = max(done, string.end + 1)


def end_of(data: bytes, start: int) -> int:
    """Where the string whose content begins at `start` ends."""
    match = _CONTENT.match(data, start)
    return match.end() if match is not None else len(data)


def plain(data: bytes) -> bytes:
    """The same document without escapes that need not be: they would hide a name, or a token, from the scan."""
    return _ESCAPES.sub(_unneeded, data)


def _unneeded(escape: re.Match[bytes]) -> bytes:
    letter = bytes.fromhex(escape[1].decode()) if escape[1] is not None else b""
    if escape[0] == b"\\/":
        return b"/"
    return letter if letter and letter not in b'"\\\x7f' else escape[0]


def unescaped(raw: bytes) -> bytes | None:
    """What a string's bytes stand for; None when they stand for nothing."""
    if b"\\" not in raw:
        return raw
    try:
        text = json.loads(b'"' + raw + b'"', strict=False)
        return str(text).encode()
    except (ValueError, UnicodeError):
        return None


def escaped(content: bytes) -> bytes:
    """The bytes of a string for this content."""
    return json.dumps(content.decode("utf-8", "replace"), ensure_ascii=False).encode()[1:-1]


def _named(probe: str, data: bytes, end: int) -> String | None:
    """The string whose name the probe has found."""
    if probe == "pair" or probe in _READ:
        start = end - _READ.get(probe, 0)
        return _member(data, start, end)
    head = data[max(0, end - _BACK) : end]
    if probe == "variable" and (name := _name_before(head)) is not None:
        return String(end, end_of(data, end), _text(name), "env-")
    if probe == "argument" and (match := _ARGUMENT.search(head)) is not None:
        stop = end_of(data, end)
        is_value = not _AFTER_KEY.match(data, stop + 1) and not _NEXT_FLAG.match(data, end)
        return String(end, stop, _text(match[1]), "flag-") if is_value else None
    if probe == "member" and (match := _MEMBER.search(head)) is not None:
        return String(end, end_of(data, end), _text(match[1]))
    if probe == "listed" and (match := _LISTED.search(head)) is not None and not match[1].lower().endswith(b"s"):
        return String(end, end_of(data, end), _text(match[1]))
    return _before_name(data, end) if probe == "variable-reversed" else None


def _member(data: bytes, start: int, end: int) -> String | None:
    """The value that begins at `start`, by its key; one that an ACME server asks to be published has no name."""
    key = _key_before(data, start)
    if key is None:
        return None
    is_public = key == b"token" and _CHALLENGE.search(data, max(0, start - _BACK), end + _BACK) is not None
    return String(start, end_of(data, start), "" if is_public else _text(key))


def _key_before(data: bytes, start: int) -> bytes | None:
    """The key of the value whose content begins at `start`; None when none does."""
    if data[start - 1 : start] != b'"':
        return None
    head = data[max(0, start - _BACK) : start - 1].rstrip(_BLANK)
    if not head.endswith(b":"):
        return None
    head = head[:-1].rstrip(_BLANK)
    if not head.endswith(b'"') or _is_escaped(head, len(head) - 1):
        return None
    begin = _start(head, 0, len(head) - 1)
    return head[begin:-1] if begin >= 0 else None


def _name_before(head: bytes) -> bytes | None:
    """The name in `"name": "…", "value": "` at the end of `head`."""
    named = list(_NAMED.finditer(head, max(0, head.rfind(b"{"))))
    return named[-1][1] if named else None


def _before_name(data: bytes, end: int) -> String | None:
    """`"value": …` of an object in which the name comes after it."""
    begin = data.rfind(b'"value"', max(0, end - _FAR_BACK), end)
    match = _REVERSED.match(data, begin, end) if begin >= 0 else None
    if match is None:
        return None
    name = data[data.rfind(b'"', begin, end) + 1 : end_of(data, end)]
    return String(match.end(), end_of(data, match.end()), _text(name), "env-")


def _start(data: bytes, low: int, at: int) -> int:
    """Where the content of the string begins that holds the byte at `at`; -1 when none does."""
    quote = data.rfind(b'"', low, at)
    while quote >= 0 and _is_escaped(data, quote):
        quote = data.rfind(b'"', low, quote)
    return quote + 1 if quote >= 0 else -1


def _is_quote(data: bytes, at: int) -> bool:
    """Whether a string begins or ends here, so that this byte is in none."""
    return data[at : at + 1] == b'"' and not _is_escaped(data, at)


class _Blanks:
    """Where the blanks before a place begin, for places in their order: a run of them is walked through once."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._start, self._end = 0, 0

    def before(self, at: int) -> int:
        """The first place from which on nothing but blanks comes before `at`."""
        place = at
        while place > self._end and self._data[place - 1] in _BLANK:
            place -= 1
        if place == self._end:
            place = self._start
        self._start, self._end = place, at
        return place


def _is_escaped(data: bytes, at: int) -> bool:
    """Whether an odd number of backslashes stands before this byte."""
    if at == 0 or data[at - 1] != _BACKSLASH:
        return False
    before = data[max(0, at - 64) : at]
    count = len(before) - len(before.rstrip(b"\\"))
    while count == len(before) < at:  # rare; looking at all that comes before would cost as much for each
        before = data[max(0, at - 2 * count) : at]
        count = len(before) - len(before.rstrip(b"\\"))
    return count % 2 == 1


def _text(raw: bytes) -> str:
    content = unescaped(raw)
    return (content if content is not None else raw).decode("utf-8", "replace")
