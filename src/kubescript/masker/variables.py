"""A name and a value that stand beside each other and are told apart by words or by quotes alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubescript.masker import extents, keys, names, pairs, prose, values
from kubescript.masker.spans import Span

__all__ = ["quoted", "variable_text", "variable_yaml", "weak", "weak_key"]

_READ: Final = 8
"""Letters of the value that the probe has read."""
_BACK: Final = 200
"""Bytes looked at before a value, for its name."""
_BARE: Final = re.compile(rb"(?:[^\s\"'`&;,<>\\]|\\(?![\"'nrt])|[&;,](?![\w.\-%]*[=:]|\s|\Z|[\"'}\]]))+")
_YAML_NAME: Final = re.compile(
    rb"(?:name|key|path)[\"']?:[ \t]*[\"']?([/A-Za-z0-9_.-]{1,100})[\"']?[ \t]*\r?\n[ \t]*(?:value|contents?):[ \t]\Z"
)
_PRINTED: Final = re.compile(
    rb"(?i:name|key|path|param(?:eter)?|variable|setting|option)\\*+[\"'`]?\s{0,4}(?:=>|[:=])\s{0,4}\\*+[\"'`]?([/A-Za-z0-9_.\-]{1,100})\\*+[\"'`]?"
    rb"[,;]?\s{0,40}:?\\*+[\"'`]?(?i:value|contents?)\\*+[\"'`]?\s{0,4}(?:=>|[:=])\s{0,4}\Z"
)
_ENCRYPTED: Final = re.compile(rb"ENC\[[^\]\s]*\Z")
"""Before the parts of what sops has written."""
_OTHER_KEY: Final = re.compile(
    rb"(?i)\b(?:partition|sort|primary|foreign|cache|hash|range|routing|row|index|public)[ ]keys?\W*\Z"
)
_BESIDE: Final = re.compile(rb"([A-Za-z0-9_.\-]{1,100})\\{0,7}[\"'`]?(?:[ \t]{1,20}|[ \t]{0,4},[ \t]{0,4})(?:<<)?\Z")


def variable_yaml(text: bytes, end: int) -> Iterator[Span]:
    """`name: DB_PASSWORD` and, on the next line, `value: …`."""
    head = text[max(0, end - _BACK) : end]
    match = _YAML_NAME.search(head)
    kind = names.kind(match[1].decode()) if match is not None else ""
    if kind:
        for span in pairs.values_at(text, end, kind, in_prose=False, whole_line=True, head=head):
            yield Span(span.start, span.end, f"env-{kind}")
    elif match is not None and names.weak(name := match[1].decode()):
        start, stop = extents.extent(text, end, whole_line=True, head=head, stops=_BARE)
        if values.is_weak_secret(text[start:stop], name):
            yield Span(start, stop, "env-key")


def variable_text(text: bytes, end: int) -> Iterator[Span]:
    """`{Name: "DB_PASSWORD", Value: "…"}` as Go, Python and Ruby print it."""
    at = end - 1
    match = _PRINTED.search(text[max(0, at - 2 * _BACK) : at])
    kind = names.kind(match[1].decode()) if match is not None else ""
    if kind:
        start, stop = extents.extent(text, at, whole_line=False, head=b"", stops=_BARE)
        if values.is_secret(text[start:stop], kind):
            yield Span(start, stop, f"env-{kind}")


def quoted(text: bytes, end: int) -> Iterator[Span]:
    """A name and a value in quotes, whatever is between them: `X-Api-Key "…"`, `:password "…"`, `{pass, <<"…">>}`."""
    opening = re.compile(rb"\\*[\"'`]\Z").search(text, max(0, end - 16), end - 1)
    at = opening.start() if opening is not None else end - 1
    match = _BESIDE.search(text[max(0, at - _BACK) : at])
    kind = names.kind(match[1].decode()) if match is not None else ""
    if match is None or not kind:
        return
    start, stop = extents.extent(text, at, whole_line=False, head=b"", stops=_BARE)
    value = text[start:stop]
    joined = kind in {"password", "basic-auth"} or re.search(rb"[a-z][A-Z]|[-_.]", match[1])
    says = (joined and kind != "secret") or (values.is_random(value) and re.search(rb"[A-Z]", value))
    if says and values.is_secret_in_prose(value, kind) and prose.is_odd(value) and b" " not in value:
        yield Span(start, stop, kind)


def weak_key(text: bytes, end: int) -> Iterator[Span]:
    """The same of `key` alone, of whose value the probe has read more."""
    return weak(text, end - 4)


def weak(text: bytes, end: int) -> Iterator[Span]:
    """A random value of a name that alone would not tell."""
    start = end - _READ
    match = re.compile(
        rb"([A-Za-z0-9_.\-]{1,100})(?:\\{0,7}[\"'`])?[ \t]{0,3}[:=]>?[ \t]{0,3}(?:\\{0,7}[\"'`])?\Z"
    ).search(text[max(0, start - _BACK) : start])
    if match is None:
        return
    name = match[1].decode()
    value = re.compile(rb"[A-Za-z0-9+/_=.~-]{8,4096}").match(text, start)
    if value is None or names.kind(name) or _ENCRYPTED.search(text, max(0, start - _BACK), start):
        return
    if name.lower() in {"key", "keys"} and _OTHER_KEY.search(text, max(0, start - _BACK), start):
        return
    if names.weak(name) and values.is_weak_secret(value[0], name):
        yield Span(value.start(), value.end(), "key")
    elif name.lower() in {"auth", "_auth"} and keys.is_basic(value[0]):
        yield Span(value.start(), value.end(), "basic-auth")
