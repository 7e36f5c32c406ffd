"""A write that was tried: the changes that a dry run has shown, and the checks of dry runs.

The writer tries each write before it is planned or sent, and again before a plan's requests are sent. The host does not
read bodies: a masking process compares them (`redaction.Engine.changes`).
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Protocol

from kubescript import errors, types
from kubescript.broker import call
from kubescript.changes import requests
from kubescript.changes.rules import effects
from kubescript.output import sanitizing
from kubescript.request import request
from kubescript.wire import inspection

__all__ = [
    "Attempt", "Compare", "Sent", "check_not_made", "find_message", "find_warnings", "hold", "is_same_version",
    "is_taken", "knows_dry_runs", "read_whole", "rename",
]  # fmt: skip


class Compare(Protocol):
    """A comparison of an object before and after a write."""

    def __call__(
        self, asked: request.Request, before: bytes, after: bytes, found: call.Found, /, scale: bytes = b""
    ) -> inspection.Changes:
        """Returns what a write changes, given the object before and after; each may be empty. Of a scaling of
        a custom resource, `scale` is the Scale before it."""


# etcd accepts only half of this.
_MAX_BODY: Final = 3 * 1024 * 1024
"""The maximum size of one object in bytes."""
_DRY_RUN: Final = b'"dryRun"'
"""The query parameter's name in the description of an API that supports dry runs."""
_TAKEN: Final = b'"reason":"AlreadyExists"'
"""The reason in an API server's answer to the creation of an object that exists."""
_MESSAGE: Final = re.compile(r'"message":"((?:[^"\\]|\\.){1,600})')
"""The message in an API server's error."""
# A header may contain several warnings, separated by commas.
_WARNING: Final = re.compile(r'\b\d{3} [^ ",]{1,200} "((?:[^"\\]|\\.)*)"')
"""One HTTP warning: its code, its agent, and the text."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of a write's dry run."""

    asked: request.Request
    """The write, in its canonical form."""
    changes: inspection.Changes
    answer: types.Response
    """The answer to the dry run; its chunks can be read only once."""
    notices: tuple[effects.Notice, ...] = ()
    """Notices from the rules for the approvers."""
    warnings: tuple[str, ...] = ()
    """Warnings from the API server, masked."""
    is_beside: bool = False
    """Whether the write was tried under a name that stands in for the real one, which is taken."""

    @property
    def is_idle(self) -> bool:
        """Whether the write leaves its object unchanged."""
        changes = self.changes
        if changes.before is None or changes.after is None:
            return False
        return not changes.rows

    def guard(self) -> request.Request:
        """Returns the write with the precondition that its object is unchanged since the dry run, or still does not
        exist."""
        before = self.changes.before or inspection.Facts()
        return requests.guard(self.asked, before.uid, before.resource_version)


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of one request of a plan."""

    status: int
    text: str = ""
    """The API server's answer if it refused the request, masked."""
    uid: str = ""
    """The uid of the object that the request has created."""
    fault: errors.KubescriptError | None = None
    """Why the rest of the answer could not be read or recorded; the status is known nevertheless."""


def is_same_version(changes: inspection.Changes) -> bool:
    """Says whether the dry run saw the same object that was read before."""
    before, after = changes.before, changes.after
    if before is None or after is None:
        return True
    if before.uid != after.uid:
        return False
    return before.resource_version == after.resource_version


def check_not_made(asked: request.Request, changes: inspection.Changes) -> None:
    """Raises PlanError when the API server carried out a dry run: an object that was not stored has no version."""
    if changes.before is not None or changes.after is None or not changes.after.resource_version:
        return
    what = "the API server has carried out a dry run: the object was created; look at it before you do anything else"
    # A POST would be refused if the object existed by now; any other method may have found another client's object.
    if asked.method != "POST":
        what = (
            f"{request.describe(asked)}: either somebody created it at this moment, or the API server has carried out "
            "the dry run; look at it before you try again"
        )
    remedy = "if its API group ignores dryRun=All, deny it in [[denied_resources]]"
    raise errors.PlanError(what, code="plan.no_dry_run", remedy=remedy)


def find_message(text: str) -> str:
    """Returns the message in an API server's error."""
    found = _MESSAGE.search(text)
    if found is None:
        return text[:600]
    return found[1].replace('\\"', '"')


def find_warnings(response: types.Response) -> list[str]:
    """Returns an answer's warnings, without duplicates and cleaned for display."""
    header = response.headers.get("warning", "")
    texts = [text.replace('\\"', '"') for text in _WARNING.findall(header)]
    if not texts:
        texts = [header]
    clean = map(sanitizing.clean, texts)
    unique = dict.fromkeys(clean)
    return [text for text in unique if text]


def read_whole(response: types.Response) -> bytes:
    """Returns an answer's whole body. Raises ClusterError when it is larger than any object."""
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
    """Returns an answer that was already read in a form that can be read once more."""
    return replace(response, chunks=iter((content,)), close=_close_nothing)


def is_taken(status: int, content: bytes) -> bool:
    """Says whether the API server refuses a creation only because there is an object of its name: it looks for one when
    it has defaulted, admitted and validated everything."""
    return status == 409 and _TAKEN in content


def rename(response: types.Response, name: str, real_name: str) -> types.Response:
    """Returns an answer about an object as if the object had its real name. Raises ClusterError."""
    # The API server may have put the name elsewhere too, such as into a label of a Job's pods.
    content = read_whole(response).replace(name.encode(), real_name.encode())
    headers = {key: value.replace(name, real_name) for key, value in response.headers.items()}
    return hold(replace(response, headers=headers), content)


def knows_dry_runs(response: types.Response) -> bool:
    """Says whether an API's description names the parameter for dry runs. Closes the response."""
    with contextlib.closing(response):
        if response.status != 200:
            return False
        return _contain(response.chunks, _DRY_RUN)


def _contain(chunks: Iterator[bytes], text: bytes) -> bool:
    """Says whether the chunks contain these bytes, even if split between two of them."""
    end = b""
    for chunk in chunks:
        if text in end + chunk:
            return True
        end = chunk[-len(text) :]
    return False


def _close_nothing() -> None:
    pass
