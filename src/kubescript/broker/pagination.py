"""Lists that a script reads page by page, and whether the script read the last page. Called by the broker.

A script that asks for `limit=500` and never asks for the next page has seen a part, and may take it for the whole. The
API server says in the list's metadata that there is more: before the items or, for custom resources, after them. Only
those two places are searched, and only in answers to requests with a limit.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from kubescript import types
from kubescript.request import request

__all__ = ["Pages"]

_LOOKED_AT: Final = 16 * 1024
"""Bytes at either end of an answer that are searched."""
_MAX_OPEN: Final = 100
"""Lists that are remembered as unfinished."""
_METADATA: Final = b'"metadata":'
_CONTENT: Final = (b'"items":', b'"rows":', b'"columnDefinitions":')
_NAMES_ONLY: Final = "as=PartialObjectMetadata"
"""The representation that the script SDK itself asks for, so that an error can say which names exist."""
_decode: Final = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class _Page:
    """The page of a list that was read last, when more pages follow it."""

    what: str
    number: int
    limit: str
    remaining: int | None


class Pages:
    """The unfinished lists of one script. The threads that answer its calls share it."""

    def __init__(self) -> None:
        self._open: dict[str, _Page] = {}
        """Continue token → page."""
        self._lock = threading.Lock()

    def followed(self, call: request.Request, what: str, response: types.Response) -> types.Response:
        """Returns the same answer; when it is a page, notes what it says of the next one while the bytes pass."""
        query = dict(call.query)
        names_only = _NAMES_ONLY in call.accept and not call.metadata_rule
        if call.verb != "list" or not query.get("limit") or names_only:
            return response
        with self._lock:
            before = self._open.pop(query.get("continue", ""), None)
        page = _Page(what, before.number + 1 if before else 1, query["limit"], None)
        return replace(response, chunks=self._observed(page, response.chunks))

    def notes(self) -> dict[str, int]:
        """Returns the lists that were not read to their end → how often."""
        with self._lock:
            texts = [_text(page) for page in self._open.values()]
        return {text: texts.count(text) for text in texts}

    def _observed(self, page: _Page, chunks: Iterator[bytes]) -> Iterator[bytes]:
        head = tail = b""
        looked = False
        for chunk in chunks:
            if not looked:
                head += chunk[:_LOOKED_AT]
                if looked := len(head) >= _LOOKED_AT or any(name in head for name in _CONTENT):
                    self._note(page, _metadata_before_items(head))
            tail = chunk[-_LOOKED_AT:] if len(chunk) >= _LOOKED_AT else (tail + chunk)[-_LOOKED_AT:]
            yield chunk
        self._note(page, _metadata_after_items(tail))

    def _note(self, page: _Page, metadata: dict[str, Any]) -> None:
        token, remaining = metadata.get("continue"), metadata.get("remainingItemCount")
        if not isinstance(token, str) or not token:
            return
        with self._lock:
            if len(self._open) < _MAX_OPEN:
                self._open[token] = replace(page, remaining=remaining if isinstance(remaining, int) else None)


def _metadata_before_items(head: bytes) -> dict[str, Any]:
    at = head.find(_METADATA)
    content = [place for name in _CONTENT if (place := head.find(name)) >= 0]
    if at < 0 or (content and min(content) < at):
        return {}
    return _object(head[at + len(_METADATA) :])[0]


def _metadata_after_items(tail: bytes) -> dict[str, Any]:
    """Returns the list's own metadata from the end of an answer; empty when there is none."""
    # An item has a field `metadata` too. Only the list's own is followed by nothing but the closing brace.
    at = tail.rfind(_METADATA)
    found, rest = _object(tail[at + len(_METADATA) :]) if at >= 0 else ({}, "")
    return found if rest.strip() == "}" else {}


def _object(text: bytes) -> tuple[dict[str, Any], str]:
    """Returns the JSON object that `text` begins with, and the text that follows it."""
    decoded = text.decode("utf-8", "replace").lstrip()
    try:
        found, end = _decode(decoded)
    except (ValueError, RecursionError):
        return {}, ""
    return (found if isinstance(found, dict) else {}), decoded[end:]


def _text(page: _Page) -> str:
    read = "first page" if page.number == 1 else f"{page.number} pages"
    more = f", {page.remaining} more" if page.remaining else ", there is more"
    return f"{page.what} ({read} of {page.limit} only{more})"
