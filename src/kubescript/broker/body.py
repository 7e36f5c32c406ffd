"""A body on its way from a cluster to a script: masked, counted, and its end told once.

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
from kubescript.broker import summary
from kubescript.request import request

__all__ = ["CLOSED", "Body", "Check", "Found", "Mask", "Redactor"]

log = logging.getLogger(__name__)

Found = Callable[[str], None]
"""Told the kind of each value that was masked."""
Redactor = Callable[[request.Request, Iterator[bytes], Found], Iterator[bytes]]
"""Masks secret values in a body on its way to the script."""
Check = Callable[[], None]
"""Raises KubescriptError when nobody waits for a text any more."""
Mask = Callable[[str, Found, Check], str]
"""Masks secret values in a text that leaves, and tells the kind of each. Raises what the check raises."""
CLOSED: Final = "closed"
"""The reader stopped before the end: its own choice, nothing failed."""
_TAIL: Final = 64
"""Bytes of a chunk's end that are looked at for the closing brace; API servers end with it or a newline."""
_EMPTY_LIST: Final = b'"items":[]'
_SMALL: Final = 512
"""Bytes an empty list may have."""


class Body:
    """Counts a body's bytes as the cluster sends them, and reports once how it ended, whichever way that was."""

    def __init__(
        self, response: types.Response, tally: summary.Summary, finish: Callable[[Body], None], *, json: bool
    ) -> None:
        self._response = response
        self._json = json
        """A whole JSON object is promised; what is none must not pass for an empty list."""
        self._tally = tally
        self._finish = finish
        self.size = 0
        self._start = b""
        self.fault = ""
        self.redacted: dict[str, int] = {}
        self._lock = threading.Lock()
        self._ended = False

    @property
    def is_empty_list(self) -> bool:
        """Whether it was a list without items, and nothing but."""
        return self.size <= _SMALL and _EMPTY_LIST in self._start

    def close(self) -> None:
        """End a pending read. Any thread, any number of times."""
        self._response.close()
        with contextlib.suppress(errors.AuditError):  # the journal knows that it lost a call, and withholds the answer
            self._end(CLOSED)

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
        self.redacted[kind] = self.redacted.get(kind, 0) + 1

    def _counted(self) -> Iterator[bytes]:
        last = b""
        for chunk in self._response.chunks:
            self.size += len(chunk)
            self._start = (self._start + chunk)[:_SMALL] if self.size <= _SMALL else b""
            self._tally.count(size=len(chunk))
            last = chunk[-_TAIL:].rstrip() or last
            yield chunk
        if self._json and not last.endswith(b"}"):
            raise errors.ClusterError("the answer ends before its JSON does", code="cluster.broken")

    def _end(self, fault: str) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self.fault = fault
        self._finish(self)
