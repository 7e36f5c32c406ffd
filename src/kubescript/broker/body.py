"""The body of an answer on its way from a cluster to a script. It is masked and counted, and its end is logged once.

The broker makes one `Body` for each answer. A body that cannot be masked is withheld. A body that breaks off ends with
an error, so that it never looks whole.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from kubescript import errors, types
from kubescript.broker import call_log
from kubescript.request import request

__all__ = ["Body", "Redactor"]

log = logging.getLogger(__name__)

Redactor = Callable[[request.Request, Iterator[bytes], call_log.Found], Iterator[bytes]]
"""Masks secret values in a body on its way to the script, and decompresses it when the request says `gzip`."""
Shape = Callable[[Iterator[bytes]], Iterator[bytes]]
"""Cuts a masked body to what the script asked for."""
# Bytes at the end of a chunk that are searched for the closing brace. API servers end an answer with it or with a
# newline.
_TAIL: Final = 64
_EMPTY_LIST: Final = b'"items":[]'
_SMALL: Final = 512
"""Most bytes that an empty list has."""


class Body:
    """Counts a body's bytes once they are masked, and logs once how the body ended."""

    # What the host reads of a body it reads behind the masker, which decompresses it too.

    def __init__(self, response: types.Response, entry: call_log.CallLog, *, json: bool) -> None:
        self._response = response
        self._entry = entry
        # True when a whole JSON object is promised: an answer that is cut short must not pass for an empty list.
        self._json = json
        self._size = 0
        self._start = b""
        self._redacted: dict[str, int] = {}
        self._lock = threading.Lock()
        self._ended = False

    def close(self) -> None:
        """Ends a pending read. Any thread may call it, any number of times."""
        self._response.close()
        with contextlib.suppress(errors.AuditError):  # the journal knows that it lost a call, and withholds the answer
            self._end(call_log.CLOSED)

    def masked(self, redact: Redactor, parsed: request.Request, shape: Shape = iter) -> Iterator[bytes]:
        """Yields the masked body, as `shape` cuts it. Raises KubescriptError when the body breaks off or cannot be
        masked."""
        parsed = replace(parsed, gzip=self._response.gzip)
        try:
            yield from shape(self._counted(redact(parsed, self._response.chunks, self._found)))
        except errors.KubescriptError as error:
            self._end(error.code)
            raise
        except Exception:
            # Fail closed: a body on which a redactor fails must neither pass unmasked nor look like a short one.
            log.exception("a body could not be redacted", extra={"event": "broker.bug"})
            self._end("redaction.failed")
            raise errors.RedactionError("the answer could not be redacted and was withheld") from None
        else:
            self._end("")
        finally:
            self.close()

    def _found(self, kind: str) -> None:
        self._redacted[kind] = self._redacted.get(kind, 0) + 1

    def _counted(self, masked: Iterator[bytes]) -> Iterator[bytes]:
        last = b""
        for chunk in masked:
            self._size += len(chunk)
            self._start = (self._start + chunk)[:_SMALL] if self._size <= _SMALL else b""
            self._entry.summary.count(size=len(chunk))
            last = chunk[-_TAIL:].rstrip() or last
            yield chunk
        if self._json and not last.endswith(b"}"):
            raise errors.ClusterError("the answer ends in the middle of its JSON", code="cluster.broken")

    def _end(self, fault: str) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        empty = self._size <= _SMALL and _EMPTY_LIST in self._start
        self._entry.ended(self._response.status, fault, self._size, self._redacted, empty=empty)
