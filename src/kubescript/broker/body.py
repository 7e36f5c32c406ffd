"""A body on its way from a cluster to a script: masked and counted, its end logged once.

The broker makes one for each answer. A body that cannot be masked is withheld, and one that breaks off never looks
whole.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Final

from kubescript import errors, types
from kubescript.broker import call_log
from kubescript.request import request

__all__ = ["Body", "Redactor"]

log = logging.getLogger(__name__)

Redactor = Callable[[request.Request, Iterator[bytes], call_log.Found], Iterator[bytes]]
"""Masks secret values in a body on its way to the script."""
_TAIL: Final = 64
"""Bytes of a chunk's end that are looked at for the closing brace; API servers end with it or a newline."""
_EMPTY_LIST: Final = b'"items":[]'
_SMALL: Final = 512
"""Bytes an empty list may have."""


class Body:
    """Counts a body's bytes as the cluster sends them, and logs once how it ended, whichever way that was."""

    def __init__(self, response: types.Response, entry: call_log.CallLog, *, json: bool) -> None:
        self._response = response
        self._entry = entry
        self._json = json
        """A whole JSON object is promised: what is none must not pass for an empty list."""
        self._size = 0
        self._start = b""
        self._redacted: dict[str, int] = {}
        self._lock = threading.Lock()
        self._ended = False

    def close(self) -> None:
        """End a pending read. Any thread, any number of times."""
        self._response.close()
        with contextlib.suppress(errors.AuditError):  # the journal knows that it lost a call, and withholds the answer
            self._end(call_log.CLOSED)

    def masked(self, redact: Redactor, parsed: request.Request) -> Iterator[bytes]:
        """The body, masked. Raises KubescriptError when it breaks off or cannot be masked."""
        try:
            yield from redact(parsed, self._counted(), self._found)
        except errors.KubescriptError as error:
            self._end(error.code)
            raise
        except Exception:
            # fail closed: whatever a redactor trips over must not pass unmasked, nor look like the end of the body
            log.exception("a body could not be redacted", extra={"event": "broker.bug"})
            self._end("redaction.failed")
            raise errors.KubescriptError(
                "the answer could not be redacted and was withheld", code="redaction.failed"
            ) from None
        else:
            self._end("")
        finally:
            self.close()

    def _found(self, kind: str) -> None:
        self._redacted[kind] = self._redacted.get(kind, 0) + 1

    def _counted(self) -> Iterator[bytes]:
        last = b""
        for chunk in self._response.chunks:
            self._size += len(chunk)
            self._start = (self._start + chunk)[:_SMALL] if self._size <= _SMALL else b""
            self._entry.summary.count(size=len(chunk))
            last = chunk[-_TAIL:].rstrip() or last
            yield chunk
        if self._json and not last.endswith(b"}"):
            raise errors.ClusterError("the answer ends before its JSON does", code="cluster.broken")

    def _end(self, fault: str) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        empty = self._size <= _SMALL and _EMPTY_LIST in self._start
        self._entry.ended(self._response.status, fault, self._size, self._redacted, empty=empty)
