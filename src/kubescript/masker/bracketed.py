"""Values in brackets, and what else programs put around a value that they print: `X-Api-Key=[…]`, `password(…)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from kubescript.masker import names, prose, values
from kubescript.masker.spans import Span

__all__ = ["PROBES", "READERS"]

_BACK: Final = 160
_NAME: Final = re.compile(rb"([A-Za-z0-9_.\-]{1,100})[\"']?(?:[:=]>?[ ]?[\[(<]{1,2}|\()\Z")
_VALUE: Final = re.compile(rb"([^\s\[\](){}\"',;<>]{6,4096})[\])>]")
_ROW: Final = re.compile(rb"(?m)^[ \t]*([A-Za-z0-9_.\-]{1,100})[ \t]+\|[ \t]+(\S{4,4096})[ \t]*$")
_OTHER: Final = re.compile(rb"[\"'][ ]->[ ]\"([^\"\n]{4,400})")
_DEFAULT: Final = re.compile(
    rb"(?s)(?:variable|option|add_argument|Option|Argument)[ (]{0,2}[\"'][-]{0,2}([\w-]{1,80})[\"'][^}]{0,200}?\bdefault[ ]{0,4}=[ ]{0,4}[\"']([^\"'\n]{4,300})[\"']"
)
_MAP: Final = re.compile(
    rb"(?i)(?<![A-Za-z0-9_-])(?:tokens|passwords|api_?keys|keys|secrets|credentials)\\{0,3}[\"']?[ ]{0,4}[:=]?[ ]{0,4}\{([^{}]{1,4000})\}"
)
_MEMBER: Final = re.compile(rb"[\w.-]\\{0,3}[\"']?\s{0,4}[:=]\s{0,4}\\{0,3}[\"']?([A-Za-z0-9+/=_.~-]{8,4096})")
_BLOCK: Final = re.compile(
    rb"(?im)^([ ]{0,40})(?:tokens|passwords|api_?keys|keys):[ ]*\r?\n((?:\1[ ]+[\w.-]{1,80}:[ ]+\S{1,4096}[ ]*(?:\r?\n|\Z)){1,100})"
)
_ARRAY: Final = re.compile(
    rb"(?i)([\w-]{0,60}(?:keys|tokens|secrets|passwords))\\{0,3}[\"']?[ ]?[=:][ ]?\[([^\[\]]{1,4000})\]"
)
_ITEM: Final = re.compile(rb"[\"']([A-Za-z0-9+/=_.~-]{16,4096})\\{0,3}[\"']")
_UUID: Final = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def bracketed(text: bytes, end: int) -> Iterator[Span]:
    """`X-Api-Key:[…]`, `password=[hunter2]`, `password(hunter2)`."""
    at = end - 1
    head, value = _NAME.search(text[max(0, at - _BACK) : at]), _VALUE.match(text, at)
    if head is None or value is None:
        return
    name = head[1].decode()
    kind = names.kind(name)
    drawn = values.is_random(value[1]) or values.is_drawn(value[1])
    if drawn and (kind or names.weak(name)):
        yield Span(*value.span(1), kind or "key")
    elif kind == "password" and values.is_mixed(value[1]) and re.fullmatch(rb"[^._]+", value[1]):
        yield Span(*value.span(1), kind)


def row(text: bytes, end: int) -> Iterator[Span]:
    """`password | hunter2`, a line of its own."""
    start = text.rfind(b"\n", max(0, end - _BACK), end) + 1
    match = _ROW.match(text, start)
    kind = names.kind(match[1].decode()) if match is not None else ""
    if match is not None and kind and prose.is_odd(match[2]) and values.is_secret_in_prose(match[2], kind):
        yield Span(*match.span(2), kind)


def planned(text: bytes, end: int) -> Iterator[Span]:
    """`token = "…" -> "…"`: what it becomes."""
    start = text.rfind(b"\n", max(0, end - 300), end) + 1
    name = re.compile(rb"[ \t~+-]{0,40}[\"']?([A-Za-z0-9_.\-]{1,100})[\"']?[ ]{0,40}[=:][ ]{0,4}[\"']").match(
        text, start
    )
    kind = names.kind(name[1].decode()) if name is not None else ""
    for other in _OTHER.finditer(text, start, min(len(text), end + 600)) if kind else ():
        if values.is_secret(other[1], kind):
            yield Span(*other.span(1), kind)


def default(text: bytes, end: int) -> Iterator[Span]:
    """`variable "db_password" { default = "hunter2" }`."""
    for match in _DEFAULT.finditer(text, max(0, end - 400), min(len(text), end + 320)):
        kind = names.kind(match[1].decode())
        if kind and values.is_secret(match[2], kind):
            yield Span(*match.span(2), kind)


def collected(text: bytes, end: int) -> Iterator[Span]:
    """Members of a map of tokens, of keys: what is drawn by lot there is one, whatever it is called."""
    start = max(0, end - 100)
    for pattern, group in ((_MAP, 1), (_BLOCK, 2)):
        for block in pattern.finditer(text, start, min(len(text), end + 4_100)):
            for member in _MEMBER.finditer(text, block.start(group), block.end(group)):
                if values.is_random(member[1]) or values.is_drawn(member[1]) or _UUID.fullmatch(member[1]):
                    yield Span(*member.span(1), "token")


def array(text: bytes, end: int) -> Iterator[Span]:
    """`hmac_keys = ["…", "…"]`: what is drawn by lot among its items."""
    for block in _ARRAY.finditer(text, max(0, end - 100), min(len(text), end + 4_100)):
        name = block[1].decode()
        for item in _ITEM.finditer(text, *block.span(2)) if names.kind(name) or names.weak(name) else ():
            if values.is_random(item[1]) or values.is_drawn(item[1]):
                yield Span(*item.span(1), "key")


READERS: Final[dict[str, Callable[[bytes, int], Iterator[Span]]]] = {
    "bracketed": bracketed,
    "row": row,
    "planned": planned,
    "default": default,
    "collected": collected,
    "array": array,
}
"""By the probe that calls for them."""
_COMMON: Final = "pass|secret|token|key|pwd|cred|auth"
PROBES: Final = (
    ("bracketed", rf"(?i)(?:{_COMMON})[a-z0-9_.-]*[\"']?(?:[:=]>? ?[\[(<]+|\()[a-z0-9]"),
    ("row", rf"(?i)(?:{_COMMON})[a-z0-9_.-]*[ \t]+\|[ \t]+[^ \t\r\n|]"),
    ("planned", r"[\"'] -> \\*\"[^\"]"),
    ("default", r"default *= *\\*[\"'][^\"'\r\n]"),
    ("array", r"(?i)(?:keys|tokens|secrets|passwords)\\*[\"']? ?[=:] ?\[ ?\\*[\"']"),
    (
        "collected",
        r"(?i)(?:tokens|passwords|api_?keys|[^a-z0-9_-]keys|secrets|credentials)\\*[\"']?(?: *[:=]? *\{[^}]|: *\r?\n)",
    ),
)
