"""Lists that a script reads page by page, and whether the script read the last page. Called by the broker.

A script that asks for `limit=500` and never asks for the next page has seen a part, and may take it for the whole. An
API server may also send a page to a script that has asked for none.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Final

from kubescript.output import notes
from kubescript.request import request
from kubescript_masking.wire import masking

__all__ = ["Pages"]

_MAX_OPEN: Final = 100
"""Lists that are remembered as unfinished."""
_OTHERS: Final = notes.Note("others")


@dataclass(frozen=True, slots=True)
class _Page:
    """The page of a list that was read last, when more pages follow it."""

    what: notes.Note
    number: int
    limit: str
    remaining: int


class Pages:
    """The unfinished lists of one script. The threads that answer its calls share it."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, ...], _Page] = {}
        """Where a list was read, and the digest of the token of its next page → page."""
        self._has_others = False
        """Whether there were more than are remembered."""
        self._lock = threading.Lock()

    def read(self, call: request.Request, context: str, what: notes.Note, trailer: masking.Trailer) -> None:
        """Notes what a list of a cluster says of the page that follows it."""
        query = dict(call.query)
        # Two lists may have one token: kube-apiserver makes it of a revision and the last object's name alone.
        place = (context, call.path, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        token = hashlib.sha256(query.get("continue", "").encode()).hexdigest()
        with self._lock:
            before = self._open.pop((*place, token), None)
            if not trailer.next or call.is_look_up:
                return
            if len(self._open) >= _MAX_OPEN:
                self._has_others = True
                return
            number = before.number + 1 if before else 1
            self._open[(*place, trailer.next)] = _Page(what, number, query.get("limit", ""), trailer.remaining)

    def unfinished(self) -> dict[notes.Note, int]:
        """Returns the lists that were not read to their end → how often."""
        with self._lock:
            found = Counter(_note(page) for page in self._open.values())
            return {**found, _OTHERS: 1} if self._has_others else found


def _note(page: _Page) -> notes.Note:
    read = "first page" if page.number == 1 else f"{page.number} pages"
    size = f" of {page.limit}" if page.limit else ""
    more = f", {page.remaining} more" if page.remaining else ", there is more"
    return page.what.within("", f" ({read}{size} only{more})")
