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
from kubescript.wire import masking

__all__ = ["Pages"]

_MAX_OPEN: Final = 100
"""Lists that are remembered as unfinished."""


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
        self._open: dict[str, _Page] = {}
        """Digest of the token of the next page → page."""
        self._lock = threading.Lock()

    def read(self, call: request.Request, what: notes.Note, trailer: masking.Trailer) -> None:
        """Notes what a list says of the page that follows it."""
        query = dict(call.query)
        token = hashlib.sha256(query.get("continue", "").encode()).hexdigest()
        with self._lock:
            before = self._open.pop(token, None)
            if trailer.next and not call.is_look_up and len(self._open) < _MAX_OPEN:
                number = before.number + 1 if before else 1
                self._open[trailer.next] = _Page(what, number, query.get("limit", ""), trailer.remaining)

    def unfinished(self) -> dict[notes.Note, int]:
        """Returns the lists that were not read to their end → how often."""
        with self._lock:
            return dict(Counter(_note(page) for page in self._open.values()))


def _note(page: _Page) -> notes.Note:
    read = "first page" if page.number == 1 else f"{page.number} pages"
    size = f" of {page.limit}" if page.limit else ""
    more = f", {page.remaining} more" if page.remaining else ", there is more"
    return page.what.within("", f" ({read}{size} only{more})")
