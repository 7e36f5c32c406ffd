"""A write that was tried: what a dry run has shown that it would change, and what a dry run must show.

The writer tries each write before it is planned or sent, and again before a plan's requests are sent. No body is read
on the host: a masking process compares them (`redaction.Engine.changes`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kubescript import errors, types
from kubescript.broker import call
from kubescript.changes import requests
from kubescript.changes.rules import effects
from kubescript.output import sanitizing
from kubescript.request import request
from kubescript.wire import inspection

__all__ = [
    "Attempt", "Compare", "Sent", "check_not_made", "find_message", "find_warnings", "hold", "is_same_version",
    "knows_dry_runs", "read_whole",
]  # fmt: skip

Compare = Callable[[request.Request, bytes, bytes, call.Found], inspection.Changes]
"""Says what a write changes, by the object before it and after it; each may be empty."""

_MAX_BODY: Final = 3 * 1024 * 1024
"""Bytes of one object; etcd takes half of it."""
_DRY_RUN: Final = b'"dryRun"'
"""What the description of an API has that knows them: the name of the query parameter."""
_MESSAGE: Final = re.compile(r'"message":"((?:[^"\\]|\\.){1,600})')
"""The message in an API server's error."""
_WARNING: Final = re.compile(r'\b\d{3} [^ ",]{1,200} "((?:[^"\\]|\\.)*)"')
"""One warning of HTTP's: its code, who warns, and the text. A header holds several, with commas between."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the dry run of a write has shown."""

    asked: request.Request
    """The write, in its canonical form."""
    changes: inspection.Changes
    answer: types.Response
    """Of the dry run; its chunks can be read once."""
    notices: tuple[effects.Notice, ...] = ()
    """What rules tell the people who approve it."""
    warnings: tuple[str, ...] = ()
    """What the API server warns of, masked."""

    @property
    def is_idle(self) -> bool:
        """Whether the write leaves its object as it is."""
        changes = self.changes
        return changes.before is not None and changes.after is not None and not changes.rows

    def guard(self) -> request.Request:
        """Returns the write with the precondition that its object is as the dry run has found it, or that there is
        none."""
        before = self.changes.before or inspection.Facts()
        return requests.guard(self.asked, before.uid, before.resource_version)


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of one request of a plan."""

    status: int
    text: str = ""
    """The API server's answer when it refused, masked."""
    fault: errors.KubescriptError | None = None
    """Why the rest of the answer could not be read, or put on record; the status is known nevertheless."""


def is_same_version(changes: inspection.Changes) -> bool:
    """Says whether the dry run was made on the very object that was read before."""
    before, after = changes.before, changes.after
    if before is None or after is None:
        return True
    return (before.uid, before.resource_version) == (after.uid, after.resource_version)


def check_not_made(asked: request.Request, changes: inspection.Changes) -> None:
    """Raises PlanError when the API server has made what it was only to try: an object that it did not store has no
    version."""
    if changes.before is not None or changes.after is None or not changes.after.resource_version:
        return
    what = "the API server has carried out a dry run: the object was created; look at it before you do anything else"
    if asked.method != "POST":  # a POST would be refused where there is one by now
        what = (
            f"{request.describe(asked)}: either somebody created it at this moment, or the API server has carried out "
            "the dry run; look at it before you try again"
        )
    remedy = "if its API group ignores dryRun=All, deny it in [[denied_resources]]"
    raise errors.PlanError(what, code="plan.no_dry_run", remedy=remedy)


def find_message(text: str) -> str:
    """Returns what an API server's error says."""
    found = _MESSAGE.search(text)
    return found[1].replace('\\"', '"') if found else text[:600]


def find_warnings(response: types.Response) -> list[str]:
    """Returns the texts of an answer's warnings, each once, as they can be shown."""
    header = response.headers.get("warning", "")
    texts = [text.replace('\\"', '"') for text in _WARNING.findall(header)] or [header]
    return [text for text in dict.fromkeys(map(sanitizing.clean, texts)) if text]


def read_whole(response: types.Response) -> bytes:
    """Returns the whole body of an answer. Raises ClusterError when it is larger than any object."""
    parts: list[bytes] = []
    size = 0
    try:
        for chunk in response.chunks:
            parts.append(chunk)
            size += len(chunk)
            if size > _MAX_BODY:
                raise errors.ClusterError("the object is larger than 3 MiB", code="cluster.too_large")
    finally:
        response.close()
    return b"".join(parts)


def hold(response: types.Response, content: bytes) -> types.Response:
    """Returns an answer that was read, as one that can be read once more."""
    return replace(response, chunks=iter((content,)), close=_close_nothing)


def knows_dry_runs(response: types.Response) -> bool:
    """Says whether the description of an API names the parameter that asks for a dry run. Closes the response."""
    with contextlib.closing(response):
        return response.status == 200 and _contain(response.chunks, _DRY_RUN)


def _contain(chunks: Iterator[bytes], text: bytes) -> bool:
    """Says whether the text is in the chunks, also across two of them."""
    end = b""
    for chunk in chunks:
        if text in end + chunk:
            return True
        end = chunk[-len(text) :]
    return False


def _close_nothing() -> None:
    pass
