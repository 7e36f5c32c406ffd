"""Tries writes before they are made: what an object is, what the API server would make of it, and what that changes.

The broker calls it for each write, and `plans` again before a plan's requests are sent. No body is read on the host: a
masking process compares them (`redaction.Engine.changes`).
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kubescript import errors, types
from kubescript.broker import call_log
from kubescript.changes import requests
from kubescript.changes.rules import effects as policy_changes
from kubescript.kube import kinds
from kubescript.request import request
from kubescript.wire import inspection
from kubescript_sandbox.host import cancellation

__all__ = ["Attempt", "Attempts", "Compare", "Perform", "message", "whole"]

Compare = Callable[[request.Request, bytes, bytes, call_log.Found], inspection.Changes]
"""Says what a write changes, by the object before it and after it; each may be empty."""

Perform = Callable[[request.Request, cancellation.Cancellation], types.Response]
"""Sends a request and puts it on record. Raises KubescriptError."""

_MAX_BODY: Final = 3 * 1024 * 1024
"""Bytes of one object; etcd takes half of it."""
_TRIES: Final = 4
"""How often a write is tried on an object that somebody else changes at the same time."""
_KNOWN_S: Final = 600.0
"""Seconds for which it is remembered that an API group knows dry runs."""
_DRY_RUN: Final = b'"dryRun"'
"""What the description of an API has that knows them: the name of the query parameter."""
_MESSAGE: Final = re.compile(r'"message":"((?:[^"\\]|\\.){1,600})')
"""The message in an API server's error."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the dry run of a write has shown."""

    call: request.Request
    """The write, in its canonical form."""
    changes: inspection.Changes
    answer: types.Response
    """Of the dry run; its chunks can be read once."""
    notices: tuple[policy_changes.Notice, ...] = ()
    """What rules tell the people who approve it."""
    warnings: tuple[str, ...] = ()
    """What the API server warns of, masked."""


class Attempts:
    """Tries the writes to one cluster. Many threads use it at once."""

    def __init__(self, compare: Compare) -> None:
        self._compare = compare
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], float] = {}
        """API groups and versions that know dry runs, and when that was seen."""

    def attempt(
        self,
        call: request.Request,
        read: Perform,
        send: Perform,
        found: call_log.Found,
        cancel: cancellation.Cancellation,
    ) -> Attempt | types.Response:
        """Tries a canonical write. Returns the API server's answer alone when it refuses it. Raises KubescriptError."""
        self.check_dry_run(call, read, cancel)
        for _ in range(_TRIES):
            before = self._before(call, read, cancel)
            answer = send(requests.dry_run(call), cancel)
            if answer.status >= 300:
                return answer
            content = whole(answer)
            after = b"" if _is_removal(call) else content
            changes = self._compare(call, before, after, found)
            _check_not_made(call, changes)
            if _is_same_version(changes):
                return Attempt(call, changes, replace(answer, chunks=iter((content,)), close=_nothing))
        raise errors.PlanError("the object changes faster than it can be read; try again", code="plan.changed")

    def facts(
        self, call: request.Request, read: Perform, found: call_log.Found, cancel: cancellation.Cancellation
    ) -> inspection.Facts | None:
        """Returns what the object of a write is now; None when there is none. Raises KubescriptError."""
        before = self._before(call, read, cancel)
        return self._compare(call, before, b"", found).before if before else None

    def made(
        self,
        call: request.Request,
        name: str,
        read: Perform,
        found: call_log.Found,
        cancel: cancellation.Cancellation,
    ) -> inspection.Changes | None:
        """Compares what is there with what a creation would make; None when nothing is. Raises KubescriptError."""
        named = call if call.name else replace(call, name=name, path=f"{call.path}/{name}")
        there = self._before(named, read, cancel)
        return self._compare(call, b"", there, found) if there else None

    def _before(self, call: request.Request, read: Perform, cancel: cancellation.Cancellation) -> bytes:
        """Returns the object that the write is for; empty when there is none. Raises PlanError if unreadable."""
        target = requests.target(call)
        if target is None:
            return b""
        answer = read(target, cancel)
        content = whole(answer)
        if answer.status == 404:
            return b""
        if answer.status == 429 or answer.status >= 500:
            raise errors.ClusterError(
                f"{request.describe(target)}: the API server answers {answer.status}; try again", code="cluster.broken"
            )
        if answer.status != 200:
            raise errors.PlanError(
                f"{request.describe(call)}: what it would change cannot be read ({answer.status} to "
                f"{request.describe(target)}), so it cannot be shown to anybody",
                code="plan.unreadable",
                remedy=f"permit `{request.describe(target)}` to the server's user",
            )
        return content

    def check_dry_run(self, call: request.Request, read: Perform, cancel: cancellation.Cancellation) -> None:
        """Raises PlanError for an API whose server is not known to honour dry runs."""
        # A server behind the aggregation layer may not know the parameter, and would carry out what was to be tried.
        key = call.group, call.version
        if call.group in kinds.BUILT_IN or self._is_known(key):
            return
        path = f"/openapi/v3/apis/{call.group}/{call.version}"
        document = replace(
            call, method="GET", path=path, query=(), verb="get", is_resource=False, body=None, accept="application/json"
        )
        answer = read(document, cancel)
        with contextlib.closing(answer):
            knows = answer.status == 200 and _holds(answer.chunks, _DRY_RUN)
        if not knows:
            raise errors.PlanError(
                f"{request.describe(call)}: {call.group}/{call.version} does not say that it knows dry runs, so this "
                "write cannot be tried first; return the kubectl command instead",
                code="plan.no_dry_run",
            )
        with self._lock:
            self._known[key] = time.monotonic()

    def _is_known(self, key: tuple[str, str]) -> bool:
        with self._lock:
            return time.monotonic() - self._known.get(key, float("-inf")) < _KNOWN_S


def message(text: str) -> str:
    """Returns what an API server's error says."""
    found = _MESSAGE.search(text)
    return found[1].replace('\\"', '"') if found else text[:600]


def whole(response: types.Response) -> bytes:
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


def _holds(chunks: Iterator[bytes], text: bytes) -> bool:
    """Says whether the text is in the chunks, also across two of them."""
    end = b""
    for chunk in chunks:
        if text in end + chunk:
            return True
        end = chunk[-len(text) :]
    return False


def _is_removal(call: request.Request) -> bool:
    """Says whether the write removes its object; the answer is then no later state of it."""
    return call.verb == "delete" or call.subresource == "eviction"


def _is_same_version(changes: inspection.Changes) -> bool:
    """Says whether the dry run was made on the very object that was read before."""
    before, after = changes.before, changes.after
    if before is None or after is None:
        return True
    return (before.uid, before.resource_version) == (after.uid, after.resource_version)


def _check_not_made(call: request.Request, changes: inspection.Changes) -> None:
    """Raises PlanError when the API server has made what it was only to try: an object that it did not store has no
    version."""
    if changes.before is not None or changes.after is None or not changes.after.resource_version:
        return
    what = "the API server has carried out a dry run: the object was created; look at it before you do anything else"
    if call.method != "POST":  # a POST would be refused where there is one by now
        what = (
            f"{request.describe(call)}: either somebody created it at this moment, or the API server has carried out "
            "the dry run; look at it before you try again"
        )
    remedy = "if its API group ignores dryRun=All, deny it in [[denied_resources]]"
    raise errors.PlanError(what, code="plan.no_dry_run", remedy=remedy)


def _nothing() -> None:
    pass
