"""Reads a masked body as an attacker and as a user would: what leaks, what was harmed.

Shares no code with the engine: every encoding is undone here again.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import html
import json
import re
import urllib.parse
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from security_tests.redaction.sheet import LAST_APPLIED, Document, Lookalike, Secret, leaves

__all__ = ["MASK", "Verdict", "judge", "readable", "texts"]

MASK: Final = re.compile("«redacted:([a-z0-9][a-z0-9._-]*):([0-9a-f]{4,})[^»]*»")
_RUN: Final = re.compile(r"[A-Za-z0-9+/_-]{11,}={0,2}")
_DEPTH: Final = 6
_ROOM: Final = 8 << 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of one document."""

    document: Document
    leaked: tuple[Secret, ...]
    harmed: tuple[Lookalike, ...]
    changed: tuple[str, ...]
    """Unlabelled leaves and lines without a secret that are no longer what they were."""
    unlabelled: int
    valid: bool


def texts(body: bytes) -> Iterator[str]:
    """Everything that can be read out of a body, through JSON, base64, gzip and escapes, in any order."""
    yield from readable(body.decode("utf-8", "replace"), 0)


def readable(text: str, depth: int) -> Iterator[str]:
    """The text and whatever is inside it."""
    yield text
    if depth >= _DEPTH:
        return
    for inner in _parsed(text):
        if inner != text:
            yield from readable(inner, depth + 1)
    if "%" in text:
        yield urllib.parse.unquote(text)
    if "&" in text:
        yield html.unescape(text)
    if "\\" in text:
        yield text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")
    for match in _RUN.finditer(text):
        yield from _unpacked(match[0], depth)


def _parsed(text: str) -> Iterator[str]:
    """Keys and leaves of the JSON that this is, whole or line by line."""
    start = text.lstrip()[:1]
    if start not in {"{", "["}:
        return
    for part in (text, *(text.split("\n") if text.count("\n") < 2000 else ())):
        try:
            value = json.loads(part)
        except ValueError:
            continue
        yield from (leaf for _, leaf in leaves(value) if isinstance(leaf, str))
        return_whole = part is text
        if return_whole:
            return


def _unpacked(run: str, depth: int) -> Iterator[str]:
    try:
        data = base64.b64decode(run.replace("-", "+").replace("_", "/") + "=" * (-len(run) % 4))
    except (ValueError, binascii.Error):
        return
    if data[:2] == b"\x1f\x8b" or data[:1] == b"\x78":
        with contextlib.suppress(zlib.error):  # a text may begin like that as well
            data = zlib.decompressobj(47).decompress(data, _ROOM)
    try:
        yield from readable(data.decode(), depth + 1)
    except UnicodeDecodeError:
        return


def judge(document: Document, output: bytes) -> Verdict:
    """Compare what came out with the labels."""
    found = "\n".join(dict.fromkeys(texts(output)))
    written = "\n".join(dict.fromkeys(texts(document.body)))
    leaked = tuple(one for one in document.secrets if any(_is_readable(core, found, written) for core in one.cores))
    before, after = _parts(document, document.body), _parts(document, output)
    valid = after is not None
    after = after or {}
    harmed = tuple(one for one in document.lookalikes if not _survives(one, before or {}, after, found))
    changed, count = _background(document, before or {}, after)
    return Verdict(document, leaked, harmed, tuple(changed), count, valid)


def _is_readable(core: str, found: str, written: str) -> bool:
    """Whether a piece of a secret is left; of one that is a mere word (`orders`), whether it is left as often."""
    is_word = (core.isalpha() and core.islower()) or len(core) < 4
    return core in found and not (is_word and found.count(core) < written.count(core))


def _parts(document: Document, body: bytes) -> dict[tuple[str | int, ...], Any] | None:
    """Leaves by their path; None when the body is no longer what it must be."""
    try:
        if document.form == "text":
            return {(): body.decode()}
        if document.form == "lines":
            return dict(leaves([json.loads(line) for line in body.decode().splitlines()]))
        return dict(leaves(json.loads(body)))
    except ValueError:
        return None


def _survives(one: Lookalike, before: dict[Any, Any], after: dict[Any, Any], found: str) -> bool:
    if one.where is None:
        return one.text in found
    leaf, was = after.get(one.where), before[one.where]
    return isinstance(leaf, str) and leaf.count(one.text) >= 1 and (was != one.text or leaf == was)


def _background(document: Document, before: dict[Any, Any], after: dict[Any, Any]) -> tuple[list[str], int]:
    """Leaves, and lines of long leaves, in which no secret stands, must be the same."""
    changed, count = [], 0
    cores = [*document.either, *(core for secret in document.secrets for core in secret.cores)] + [
        part for secret in document.secrets for part in secret.value.split("\n")
    ]
    for where, was in before.items():
        if LAST_APPLIED in where or (document.path[-1].startswith(("secrets", "sh.helm")) and "data" in where):
            continue
        now = after.get(where)
        if not isinstance(was, str) or "\n" not in was:
            pieces, kept = [was], {now}
        else:
            pieces, kept = was.split("\n"), set(str(now).split("\n"))
        for piece in pieces:
            if isinstance(piece, str) and any(core in text for text in readable(piece, 0) for core in cores if core):
                continue
            count += 1
            if piece not in kept:
                changed.append(f"{'/'.join(map(str, where))}: {str(piece)[:160]}")
    return changed, count
