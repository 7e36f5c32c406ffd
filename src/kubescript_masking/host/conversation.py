"""The host's conversation with one masker (wire/masking.py). A masker reads hostile bytes, so its answers are hostile
too.

A masker can send only masked bytes and a count for each kind; all lengths, numbers and names are bounded, and the host
reads one answer for each frame it sent. So a masker that has been taken over can end its call, but do nothing else.
"""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Final, Protocol

import msgspec

from kubescript_masking import errors
from kubescript_masking.wire import masking
from kubescript_sandbox.host import spawner
from kubescript_sandbox.wire import protocol

__all__ = ["Check", "Found", "Masker", "Report", "SourceBrokenError"]

Found = Callable[[str], None]
"""Called with the kind of each masked value."""


class Report(Protocol):
    """Receives a masker's reports on a body while it reads it. An exception from `read` ends the body."""

    def found(self, kind: str) -> None:
        """Notes that a value was masked."""

    def read(self, size: int) -> None:
        """Notes that this many more bytes were read, counted after decompression."""

    def event_error(self, status: int) -> None:
        """Notes that a watch has ended with this error."""


Check = Callable[[], None]
"""Called repeatedly while a masker works; raises when no caller waits for its answer any more."""
# Made before there are threads: msgspec 0.22 can crash when two threads decode into a type for the first time at once.
_NOTES: Final = msgspec.json.Decoder(masking.Notes)
_CHECK_MS: Final = 20
"""Milliseconds between two checks."""
_BLOCK: Final = 256 * protocol.KIB
"""Bytes that are read at once, whatever length a masker announces."""
_READY_S: Final = 60.0
"""Seconds until a masker must be ready; a server's first one waits until the rules are compiled."""
_AHEAD: Final = 8
"""Chunks that are sent before the answer to the first is read, so that a masker works while the host reads the next
chunk from the cluster."""
_GROWTH: Final = 32
_UNFOLDS: Final = 1032
"""Most bytes that one byte of gzip can unfold to."""
_MAX_REST: Final = 16 * protocol.MIB
"""Bytes of a body's last answers that are held."""
_SLACK: Final = 64 * protocol.KIB
"""A masker answers at most `_GROWTH` bytes for each byte that it masks, and `_SLACK` more: a mask is longer than a
short value."""
_MAX_FOUND: Final = 1_000_000
"""Values that one call can report: more are not counted, because each one costs a function call."""
_MAX_KINDS: Final = 2_000
"""Kinds that one call can report. Fewer than a thousand are shipped, and each operator's rule adds one."""
_MAX_DETAIL: Final = 80
_MAX_LAYERS_BYTES: Final = 16 * protocol.KIB
_WHY: Final = {
    "part": "the answer has a part of more than 32 MiB, which cannot be redacted as a stream; ask for single objects",
    "line": "the answer has a line of more than 32 MiB, which cannot be redacted",
    "memory": "masking the text needs more memory than a masker may use; ask for less text",
}
"""Why a masker gave up."""
_BROKEN: Final = frozenset({"gzip-bad", "gzip-cut", "gzip-more", "json", "list", "kind", "depth", "event"})
"""Possible flaws of a body."""


class SourceBrokenError(Exception):
    """A body's chunks broke off; the masker is not at fault."""

    def __init__(self, cause: Exception) -> None:
        super().__init__()
        self.cause = cause


class Masker:
    """The host's handle to one masker process. Only one thread at a time may use it."""

    def __init__(self, worker: spawner.Worker, why: Mapping[str, str]) -> None:
        """`why` maps the reasons of the masker's second program to their explanations."""
        self.worker = worker
        self._why = {**_WHY, **why}
        self.layers: tuple[protocol.Layer, ...] | None = None
        """The layers of its lockdown, as it reported them; None until it is ready."""
        self.uses = 0
        self.owner: str | None = None
        """The owner of the bodies and texts that it reads; None until it is used."""
        self.waiting = 0
        """Answers that are still to come or are being read; when there are none, it can serve the next call."""
        self._link = _Link(worker.socket)
        self._growth = _GROWTH
        """Bytes that it may answer for each byte that it is sent."""
        self._most = 0
        """Bytes that it may still answer."""
        self._reported = 0
        self._kinds: set[str] = set()
        self._trailer: masking.Trailer | None = None
        """The trailer of the last answer."""

    @property
    def is_fit(self) -> bool:
        """Whether it lives, and has sent nothing since its last answer."""
        # Attack: a masker sends an extra answer, which would be read as the answer to the next text.
        return not (self.worker.has_ended if self.layers is None else self._link.has_input)

    def greet(self, check: Check) -> None:
        """Waits until it is locked down and ready. Raises ProtocolError, StreamClosed and what `check` raises."""
        end = time.monotonic() + _READY_S

        def patience() -> None:
            check()
            if time.monotonic() > end:
                raise errors.RedactionError("the masking process did not start in time")

        answer, notes, size = self._link.head(patience)
        if answer != masking.Answer.READY or size or len(notes) > _MAX_LAYERS_BYTES:
            raise protocol.ProtocolError("the masker did not begin with READY")
        try:
            self.layers = msgspec.json.decode(notes, type=protocol.Ready).layers
        except msgspec.MsgspecError:
            raise protocol.ProtocolError("READY is malformed") from None

    def text(self, text: str, found: Found, check: Check) -> str:
        """Returns a text, masked; the same object when there is nothing to mask."""
        content, form = _encode(text)
        self._begin(_GROWTH)
        self._send(masking.Order.TEXT, content)
        answer, size, _ = self._answer(found, check, same=True)
        masked = b"".join(self._link.blocks(size, check))
        self.waiting -= 1
        try:
            return text if answer == masking.Answer.SAME else masked.decode("utf-8", form)
        except UnicodeDecodeError:
            raise protocol.ProtocolError("a text that is no UTF-8") from None

    def body(
        self, about: masking.Body, chunks: Iterator[bytes], report: Report, check: Check, most: int | None = None
    ) -> Generator[bytes, None, masking.Trailer | None]:
        """Yields a masked body in pieces, and returns its trailer. Nothing of a live body is held back, since its next
        chunk may come much later. `most` bounds the answer of a second program, whose size is not in proportion to the
        body's.

        Raises SourceBrokenError when `chunks` raises, after everything that came before.
        """
        self._trailer = None
        self._begin(*_bounds(about, most))
        size = masking.MAX_GZIP_CHUNK if about.gzip else masking.MAX_CHUNK
        self._link.send(masking.Order.OPEN, msgspec.json.encode(about))
        ahead = 0 if about.live else _AHEAD
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
            for at in range(0, len(chunk), size):
                self._send(masking.Order.CHUNK, memoryview(chunk)[at : at + size])
                while self.waiting > ahead or (self.waiting and self._link.has_input):
                    yield from self._pieces(report, check)
            check()
        yield from self._rest(report, check, is_broken=broken is not None)
        if broken is not None:
            raise SourceBrokenError(broken)
        return self._trailer

    def _rest(self, report: Report, check: Check, *, is_broken: bool) -> Iterator[bytes]:
        """Yields the remaining answers to a body."""
        # All are read before any is passed on: scripts often stop reading a short answer, and a masker with unread
        # output could serve no other call. Attack: 128 KB of gzip, all sent ahead, unfold to 135 MB, which a masker
        # that was taken over answers with 4 GB.
        rest: list[bytes] = []
        held = 0
        while self.waiting:
            for piece in self._pieces(report, check):
                rest.append(piece)
                held += len(piece)
                if held > _MAX_REST:
                    yield from rest
                    rest.clear()
        # Attack: a masker that is lent again still holds the end of a broken-off body, and hands it to the next caller.
        self.waiting = int(is_broken)
        yield from rest

    def _begin(self, growth: int, most: int = _SLACK) -> None:
        self.uses += 1
        self._growth = growth
        self._most = most
        self._reported = 0
        self._kinds.clear()

    def _send(self, order: masking.Order, payload: bytes | memoryview) -> None:
        self._most += len(payload) * self._growth
        self.waiting += 1
        self._link.send(order, payload)

    def _pieces(self, report: Report, check: Check) -> Iterator[bytes]:
        _, size, notes = self._answer(report.found, check)
        report.read(notes.read)
        if notes.error:
            report.event_error(notes.error)
        self._trailer = notes.trailer
        yield from self._link.blocks(size, check)
        self.waiting -= 1

    def _answer(self, found: Found, check: Check, *, same: bool = False) -> tuple[masking.Answer, int, masking.Notes]:
        """Reads an answer's head and reports what was masked. Raises RedactionError, BodyBrokenError, ProtocolError and
        StreamClosed."""
        answer, notes, size = self._link.head(check)
        if answer == masking.Answer.FAILED:
            about = notes[:_MAX_DETAIL].decode("ascii", "replace")
            if about in self._why:
                raise errors.RedactionError(self._why[about])
            if about in _BROKEN:
                raise errors.BodyBrokenError(about)
            raise protocol.ProtocolError(f"it gave up: {about!r}")
        is_same = same and answer == masking.Answer.SAME and not size
        if not is_same and answer != masking.Answer.MASKED:
            raise protocol.ProtocolError(f"{answer.name} out of turn")
        self._most -= size
        if self._most < 0:
            raise protocol.ProtocolError("more bytes than masking can have made")
        try:
            said = _NOTES.decode(notes)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            raise protocol.ProtocolError("notes that are none") from None
        for kind, count in said.kinds.items():
            self._report(kind, count, found)
        return answer, size, said

    def _report(self, kind: str, count: int, found: Found) -> None:
        # Attack: a masker reports a million kinds, all of which the audit record would keep.
        self._kinds.add(kind)
        if len(self._kinds) > _MAX_KINDS:
            raise protocol.ProtocolError("more kinds of secrets than there are")
        reported = min(count, _MAX_FOUND - self._reported)
        self._reported += reported
        for _ in range(reported):
            found(kind)


class _Link:
    """The host's end of the socket. It never blocks beyond a check, and reads no more than was asked for."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        sock.setblocking(False)
        self._unsent: deque[memoryview] = deque()
        self._held = b""
        """Bytes that were read but not asked for yet."""
        self._poller = select.poll()

    def send(self, order: masking.Order, payload: bytes | memoryview) -> None:
        """Queues one frame, and sends as much of the queue as the socket takes now. Raises OSError."""
        self._unsent.append(memoryview(b"".join((masking.HEADER.pack(len(payload), order), payload))))
        self._flush()

    @property
    def has_input(self) -> bool:
        """Whether something can be read now."""
        return bool(self._held or self._poll(select.POLLIN, 0))

    def head(self, check: Check) -> tuple[masking.Answer, bytes, int]:
        """Reads the next answer's type and notes, and how many bytes follow. Raises ProtocolError, StreamClosed and
        what `check` raises."""
        number, notes, size = masking.ANSWER.unpack(self._exactly(masking.ANSWER.size, check))
        try:
            answer = masking.Answer(number)
        except ValueError:
            raise protocol.ProtocolError(f"unknown answer {number}") from None
        # Attack: a masker announces a length of 4 GiB, which the host would allocate.
        if notes > masking.MAX_NOTES:
            raise protocol.ProtocolError(f"notes of {notes} bytes")
        return answer, self._exactly(notes, check), size

    def blocks(self, size: int, check: Check) -> Iterator[bytes]:
        """Yields the next `size` bytes as they arrive. Raises StreamClosed and what `check` raises."""
        while size:
            block = self._held or self._receive(check)
            block, self._held = block[:size], block[size:]
            size -= len(block)
            yield block

    def _exactly(self, size: int, check: Check) -> bytes:
        while len(self._held) < size:
            self._held += self._receive(check)
        data, self._held = self._held[:size], self._held[size:]
        return data

    def _receive(self, check: Check) -> bytes:
        """Waits until there is something to read, and sends the queue while waiting."""
        while True:
            check()
            events = self._poll(select.POLLIN | (select.POLLOUT if self._unsent else 0), _CHECK_MS)
            if events & select.POLLOUT:
                self._flush()
            if events & ~select.POLLOUT:
                try:
                    data = self._sock.recv(_BLOCK)
                except BlockingIOError:  # readable, but nothing to read
                    continue
                if not data:
                    raise protocol.StreamClosed("the masker has ended")
                return data

    def _poll(self, wanted: int, timeout_ms: int) -> int:
        """Returns the poll events that occur within the timeout."""
        self._poller.register(self._sock, wanted)
        return sum(event for _, event in self._poller.poll(timeout_ms))

    def _flush(self) -> None:
        while self._unsent:
            try:
                sent = self._sock.send(self._unsent[0])
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):  # its reason for ending can still be read
                self._unsent.clear()
                return
            left = self._unsent.popleft()[sent:]
            if left:
                self._unsent.appendleft(left)


def _bounds(about: masking.Body, most: int | None) -> tuple[int, int]:
    """Returns how many bytes a masker may answer for each byte of a body, and how many in addition."""
    if most is not None:
        return 0, most
    return (_GROWTH * _UNFOLDS if about.gzip else _GROWTH), _SLACK


def _encode(text: str) -> tuple[bytes, str]:
    """Returns a text's bytes for a masker, and the error handler for decoding the answer."""
    # Attack: a masker that was taken over answers with half a surrogate pair, which no message to a worker can carry.
    try:
        return text.encode(), "strict"
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass"), "surrogatepass"
