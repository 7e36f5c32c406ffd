"""Flags: `--password value`, and the lines that look like them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kubescript.masker import extents, markup, names, values
from kubescript.masker.spans import Span

__all__ = ["flag", "spaced"]

_BACK: Final = 200
"""Bytes looked at before a value, for its name."""
_BARE: Final = re.compile(rb"(?:[^\s\"'`&;,<>\\]|\\(?![\"'nrt])|[&;,](?![\w.\-%]*[=:]|\s|\Z|[\"'}\]]))+")
_NEXT: Final = re.compile(rb"--?[a-z][\w-]*")
_FUNCTION_WORD: Final = re.compile(
    rb"(?i:or|and|to|for|is|was|are|not|must|cannot|can|should|may|with|without|flags?|options?|in|on|from|if|as|at|has|have|"
    rb"will|instead|when|the|a|an|via|by)"
)
_FLAG: Final = re.compile(
    rb"((?<![A-Za-z0-9_.-])--?[A-Za-z0-9_-]{1,80}|\brequirepass|\bmasterauth|\bauth-pass)"
    rb"(?:(?<=auth-pass) [A-Za-z0-9_.-]{1,60})?[ \t]{1,4}\Z"
)


def flag(text: bytes, end: int) -> Iterator[Span]:
    """`--password value`."""
    at = end - 1
    match = _FLAG.search(text[max(0, at - _BACK) : at])
    kind = names.kind(match[1].decode()) if match is not None else ""
    if kind:
        start, stop = extents.extent(text, at, whole_line=False, head=b"", stops=_BARE)
        dashed = match is not None and match[1].startswith(b"-")
        help_text = re.search(rb"(?:  |\t)\Z", text[max(0, at - 2) : at]) is not None
        judge = values.is_secret_in_prose if help_text or not dashed else values.is_secret
        value = text[start:stop]
        if judge(value, kind) and not _FUNCTION_WORD.fullmatch(value) and not _NEXT.fullmatch(value):
            yield Span(start, stop, f"flag-{kind}")


def spaced(text: bytes, end: int) -> Iterator[Span]:
    """A name, blanks and a value: a flag's, or a line's."""
    yield from flag(text, end)
    yield from markup.spaced(text, end)
