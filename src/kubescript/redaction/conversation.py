"""The host's conversation with one masker (wire/masking.py). What a masker answers is hostile: it reads hostile bytes.

It can say no more than masked bytes and how often it masked which kind; all lengths, numbers and names are bounded, and
one answer is read for each frame sent, so that a masker that has been taken over ends the call and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from kubescript import errors, spawner
from kubescript.redaction import link
from kubescript.wire import masking, protocol

__all__ = ["Found", "Masker", "SourceBrokenError"]

Found = Callable[[str], None]
"""Told the kind of each value that is masked."""
_READY_S: Final = 60.0
"""Seconds until a masker must be ready; the first one of a server waits for the rules to be compiled."""
_AHEAD: Final = 8
"""Chunks that are sent before the answer to the first has been read. A masker then works while the host reads the next
chunk from the cluster."""
_GROWTH: Final = 32
_SLACK: Final = 64 * protocol.KIB
"""A masker answers at most `_GROWTH` bytes for each byte it was sent, and `_SLACK` more: a mask is longer than a short
value."""
_MAX_FOUND: Final = 1_000_000
"""Values that one call can report: more are not counted, because each is a call of a function."""
_MAX_KINDS: Final = 2_000
"""Kinds that one call can report. Fewer than a thousand are shipped, and each rule of the operator's is one."""
_MAX_DETAIL: Final = 80
_MAX_LAYERS_BYTES: Final = 16 * protocol.KIB
_WHY: Final[dict[bytes, str]] = {
    b"part": "the answer has a part of more than 32 MiB, which cannot be redacted as a stream; ask for single objects",
    b"line": "the answer has a line of more than 32 MiB, which cannot be redacted",
    b"memory": "masking the text needs more memory than a masker may have; ask for less of it",
}


class SourceBrokenError(Exception):
    """The chunks of a body broke off; the masker did no wrong."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


class Masker:
    """One masker process, as the host sees it. One thread at a time uses it."""

    def __init__(self, worker: spawner.Worker) -> None:
        self.worker = worker
        self.layers: tuple[protocol.Layer, ...] | None = None
        """What it reported of its lockdown; None until it is ready."""
        self.uses = 0
        self._link = link.Link(worker.socket)
        self._most = 0
        """Bytes that it may still answer."""
        self._waiting = 0
        """Answers that it owes, or that are being read."""
        self._reported = 0
        self._kinds: set[str] = set()

    @property
    def is_fit(self) -> bool:
        """Whether it lives, and has said nothing since its last answer."""
        # Attack: an answer too many, which would be read as the answer to the next text.
        if self.layers is None:
            return not self.worker.has_ended
        return not self._link.has_input

    def greet(self, check: link.Check) -> None:
        """Wait until it is locked down and ready. Raises ProtocolError, StreamClosed and what `check` raises."""
        end = time.monotonic() + _READY_S

        def patience() -> None:
            check()
            if time.monotonic() > end:
                raise errors.RedactionError("the masking process did not start in time")

        answer, notes, size = self._link.head(patience)
        if answer != masking.Answer.READY or size or len(notes) > _MAX_LAYERS_BYTES:
            raise protocol.ProtocolError("the masker did not begin with READY")
        try:
            ready = msgspec.json.decode(notes, type=protocol.Ready)
        except msgspec.MsgspecError:
            raise protocol.ProtocolError("READY is malformed") from None
        self.layers = ready.layers

    def text(self, content: bytes, found: Found, check: link.Check) -> bytes:
        """A text, masked; the same object when there is nothing to mask."""
        self._begin()
        self._send(masking.Order.TEXT, content)
        answer, size = self._answer(found, check, same=True)
        masked = content if answer == masking.Answer.SAME else b"".join(self._link.blocks(size, check))
        self._waiting -= 1
        return masked

    def body(
        self, about: masking.Body, chunks: Iterator[bytes], found: Found, check: link.Check, *, live: bool
    ) -> Iterator[bytes]:
        """A body, masked, in pieces. Of a `live` one, whose next chunk may come much later, nothing is held back.

        Raises SourceBrokenError when `chunks` raises, behind all that came before.
        """
        self._begin()
        self._link.send(masking.Order.OPEN, msgspec.json.encode(about))
        ahead = 0 if live else _AHEAD
        broken: Exception | None = None
        while True:
            try:
                chunk = next(chunks, None)
            except Exception as error:  # what came before it is still passed on
                broken = error
                break
            if chunk is None:
                self._send(masking.Order.END, b"")
                break
            for part in _parts(chunk):
                self._send(masking.Order.CHUNK, part)
                while self._waiting > ahead or (self._waiting and self._link.has_input):
                    yield from self._pieces(found, check)
            check()
        # Read before any of it is passed on: scripts often give up a short answer, and a masker that still has
        # something to say could serve nobody else.
        rest: list[bytes] = []
        while self._waiting:
            rest += self._pieces(found, check)
        yield from rest
        if broken is not None:
            raise SourceBrokenError(broken)

    @property
    def is_at_rest(self) -> bool:
        """Whether all that it was asked has been answered and read."""
        return not self._waiting

    def _begin(self) -> None:
        self.uses += 1
        self._most = _SLACK
        self._reported = 0
        self._kinds.clear()

    def _send(self, order: masking.Order, payload: bytes | memoryview) -> None:
        self._most += len(payload) * _GROWTH
        self._waiting += 1
        self._link.send(order, payload)

    def _pieces(self, found: Found, check: link.Check) -> Iterator[bytes]:
        _, size = self._answer(found, check)
        yield from self._link.blocks(size, check)
        self._waiting -= 1

    def _answer(self, found: Found, check: link.Check, *, same: bool = False) -> tuple[masking.Answer, int]:
        """Read the head of an answer and report what was masked. Raises RedactionError, ProtocolError, StreamClosed."""
        answer, notes, size = self._link.head(check)
        if answer == masking.Answer.FAILED:
            if notes in _WHY:
                raise errors.RedactionError(_WHY[notes])
            about = notes[:_MAX_DETAIL].decode("ascii", "replace")
            raise protocol.ProtocolError(f"it gave up: {about!r}")
        expected = {masking.Answer.MASKED, masking.Answer.SAME} if same else {masking.Answer.MASKED}
        if answer not in expected or (answer == masking.Answer.SAME and size):
            raise protocol.ProtocolError(f"{answer.name} out of turn")
        self._most -= size
        if self._most < 0:
            raise protocol.ProtocolError("more bytes than masking can have made")
        for kind, count in masking.read_kinds(notes).items():
            # Attack: a million kinds, which whoever counts them keeps.
            self._kinds.add(kind)
            if len(self._kinds) > _MAX_KINDS:
                raise protocol.ProtocolError("more kinds of secrets than there are")
            reported = min(count, _MAX_FOUND - self._reported)
            self._reported += reported
            for _ in range(reported):
                found(kind)
        return answer, size


def _parts(chunk: bytes) -> Iterator[bytes | memoryview]:
    if len(chunk) <= masking.MAX_CHUNK:
        if chunk:
            yield chunk
        return
    view = memoryview(chunk)
    for start in range(0, len(chunk), masking.MAX_CHUNK):
        yield view[start : start + masking.MAX_CHUNK]
