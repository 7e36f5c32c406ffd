"""What a script listed: whether it read the last page of each list, and empty namespaces that may not exist.

A script that asks for `limit=500` and never asks for the next page has seen only a part, and may take it for the whole.
An API server may also page its answer unasked. And it answers a list in a nonexistent namespace like one in an empty
namespace, so a misspelt name would look like a healthy cluster. After each script, up to three of the namespaces in
which the script saw nothing are looked up, through the same broker, so that policy and audit treat these calls like the
script's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from kubescript import types
from kubescript.output import notes
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_masking.wire import masking

__all__ = ["Handle", "Namespaces", "Pages"]

Handle = Callable[[exchanges.Call, float], tuple[exchanges.Reply, types.Response | None]]
_MAX_OPEN: Final = 100
"""How many unfinished lists are remembered."""
_OTHERS: Final = notes.Note("others")
_MAX_ASKED: Final = 3
_MAX_REMEMBERED: Final = 1_000
_TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class _Page:
    """The last page read of a list, when more pages follow it."""

    what: notes.Note
    number: int
    limit: str
    remaining: int


class Pages:
    """The unfinished lists of one script. Safe for use from the threads that answer its calls."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, ...], _Page] = {}
        """Location of a list, and the digest of its next page's token → page."""
        self._has_others = False
        """Whether there were more unfinished lists than are remembered."""
        self._lock = threading.Lock()

    def read(self, call: request.Request, context: str, what: notes.Note, trailer: masking.Trailer) -> None:
        """Notes whether another page of a cluster's list follows."""
        query = dict(call.query)
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        # Two lists may share a token: kube-apiserver derives it from a revision and the last object's name alone.
        place = (context, call.path, labels, fields)
        # The masking process gives the host no more of a token than its digest.
        token = query.get("continue", "").encode()
        digest = hashlib.sha256(token).hexdigest()
        with self._lock:
            before = self._open.pop((*place, digest), None)
            if not trailer.next or call.is_look_up:
                return
            if len(self._open) >= _MAX_OPEN:
                self._has_others = True
                return
            number = before.number + 1 if before else 1
            page = _Page(what, number, query.get("limit", ""), trailer.remaining)
            self._open[(*place, trailer.next)] = page

    def list_unfinished(self) -> dict[notes.Note, int]:
        """Returns the lists that were not read to their end, with their counts."""
        with self._lock:
            found = Counter(map(_describe, self._open.values()))
            if self._has_others:
                found[_OTHERS] = 1
            return found


def _describe(page: _Page) -> notes.Note:
    """Returns the note of a list that was read up to this page."""
    read = "first page" if page.number == 1 else f"{page.number} pages"
    if page.limit:
        read += f" of {page.limit}"
    # An API server may leave out the number of objects that remain.
    more = f", {page.remaining} more" if page.remaining else ", there is more"
    return page.what.within("", f" ({read} only{more})")


class Namespaces:
    """The namespaces that one script listed. Safe for use from the threads that answer its calls."""

    def __init__(self) -> None:
        self._has_content: dict[tuple[str, str], bool] = {}
        """(cluster, namespace) → whether any list in it had an object."""
        self._lock = threading.Lock()

    def note(self, context: str, namespace: str, *, empty: bool) -> None:
        """Notes that a list in a namespace was answered."""
        key = context, namespace
        with self._lock:
            has_room = len(self._has_content) < _MAX_REMEMBERED
            if key in self._has_content or has_room:
                had_content = self._has_content.get(key, False)
                self._has_content[key] = had_content or not empty

    def doubtful(self, handle: Handle) -> list[tuple[str, str, bool]]:
        """Looks up the namespaces in which nothing was seen. Returns cluster and name of each whose existence is not
        confirmed, and whether it certainly does not exist."""
        with self._lock:
            empty = [key for key, has_content in self._has_content.items() if not has_content]
        doubtful = []
        # Each look-up may take two seconds, during which the answer waits.
        for context, name in sorted(empty[:_MAX_ASKED]):
            exists = _exists(context, name, handle)
            if not exists:
                doubtful.append((context, name, exists is False))
        return doubtful


def _exists(context: str, namespace: str, handle: Handle) -> bool | None:
    """Says whether the cluster has such a namespace; None when the policy, RBAC or a fault prevents the answer."""
    call = exchanges.Call("GET", ("api", "v1", "namespaces", namespace), accept="metadata", context=context)
    _, response = handle(call, _TIMEOUT_S)
    if response is None:
        return None
    with contextlib.closing(response):
        return {200: True, 404: False}.get(response.status)
