"""The body of an answer on its way from a cluster to a script. It is masked and counted, and its end is logged once.

The broker makes one `Body` for each answer. A body that cannot be masked is withheld. A body that breaks off, or of
which the masking process does not say that it is whole, ends with an error.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

from kubescript import errors, redaction, types
from kubescript.broker import call_log
from kubescript.request import request
from kubescript_masking.wire import masking

__all__ = ["Body", "Masked", "Redactor"]

log = logging.getLogger(__name__)

Masked = Generator[bytes, None, masking.Trailer | None]
Redactor = Callable[[request.Request, Iterator[bytes], redaction.Report], Masked]
"""Masks secret values in a body on its way to the script, decompresses it when the request says `gzip`, and returns
what a process without credentials has found the body to be."""
Shape = Callable[[Iterator[bytes]], Iterator[bytes]]
"""Cuts a masked body to what the script asked for."""


class Body:
    """Counts a body's bytes as they come, and logs once how the body ended."""

    def __init__(self, response: types.Response, entry: call_log.CallLog, form: masking.Form) -> None:
        self._response = response
        self._entry = entry
        self._form: masking.Form = form
        self._received = 0
        self._unpacked = 0
        """Bytes by the masking process's account, which alone decompresses."""
        self._size = 0
        """Bytes that are counted: the larger one of both."""
        self._redacted: dict[str, int] = {}
        self._has_error = False
        self._trailer: masking.Trailer | None = None
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
        parsed = replace(parsed, gzip=self._response.gzip, form=self._form)
        try:
            yield from shape(self._checked(redact(parsed, self._chunks(), self)))
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

    def found(self, kind: str) -> None:
        """Counts a value that was masked."""
        self._redacted[kind] = self._redacted.get(kind, 0) + 1

    def read(self, size: int) -> None:
        """Counts bytes that the masking process has read. Raises LimitExceeded."""
        self._unpacked += size
        self._count()

    def event_error(self, status: int) -> None:
        """Notes once that a watch has ended with an error, which a script may swallow."""
        if not self._has_error:
            self._has_error = True
            self._entry.event_error(status)

    def _chunks(self) -> Iterator[bytes]:
        """Yields the body as it comes from the cluster."""
        for chunk in self._response.chunks:
            self._received += len(chunk)
            self._count()
            yield chunk

    def _count(self) -> None:
        # Attack: a list of 700 MB of which masking, metadata or the end of a log leave a few bytes, again and again.
        size = max(self._received, self._unpacked)
        more, self._size = size - self._size, size
        self._entry.summary.take(more)

    def _checked(self, masked: Masked) -> Iterator[bytes]:
        self._trailer = yield from masked
        if self._trailer is None:  # Attack: nothing has read the body to its end, and it passes for a whole one
            raise errors.ClusterError("nothing has checked whether the answer is whole", code="cluster.broken")

    def _end(self, fault: str) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        self._entry.ended(self._response.status, fault, self._size, self._redacted, self._trailer)
