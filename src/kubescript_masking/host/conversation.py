"""The host's conversation with one masker (wire/masking.py). A masker reads hostile bytes, so its answers are hostile
too.

A masker can send only masked bytes and a count for each kind; all lengths, numbers and names are bounded, and the host
reads one answer for each frame it sent. So a masker that has been taken over can end its call, but do nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Final, NoReturn, Protocol

import msgspec

from kubescript_masking import errors
from kubescript_masking.host import link
from kubescript_masking.host.link import Check
from kubescript_masking.wire import masking
from kubescript_sandbox.host import spawner
from kubescript_sandbox.wire import protocol

__all__ = ["Check", "Found", "Masker", "Report", "SourceBrokenError"]

Found = Callable[[str], None]
"""Called with the kind of each masked value."""


class Report(Protocol):
    """Receives a masker's reports on a body while the masker reads that body. An exception from `read` ends the
    body."""

    def found(self, kind: str) -> None:
        """Notes that a value was masked."""

    def read(self, size: int) -> None:
        """Notes that this many more bytes were read, counted after decompression."""

    def event_error(self, status: int) -> None:
        """Notes that a watch has ended with this error."""


# Made before there are threads: msgspec 0.22 can crash when two threads decode into a type simultaneously for the first
# time.
_NOTES: Final = msgspec.json.Decoder(masking.Notes)
# A server's first masker waits until the rules are compiled.
_READY_S: Final = 60.0
"""How many seconds a masker may take until it is ready."""
# Sending ahead lets a masker work while the host reads the next chunk from the cluster.
_AHEAD: Final = 8
"""How many chunks are sent before the answer to the first is read."""
_GROWTH: Final = 32
_UNFOLDS: Final = 1032
"""The maximum number of bytes that one byte of gzip can unfold to."""
_MAX_REST: Final = 2 * protocol.MIB
"""How many bytes of the last answers to a body the host holds before it passes them on."""
# A masker answers with at most `_GROWTH` bytes for each byte that it masks, and `_SLACK` more: a mask is longer than a
# short value.
_SLACK: Final = 64 * protocol.KIB
# Values beyond this number are not counted, because each one costs a function call.
_MAX_FOUND: Final = 1_000_000
"""How many values one call can report."""
# Fewer than a thousand kinds are shipped, and each of the operator's rules adds one.
_MAX_KINDS: Final = 2_000
"""How many kinds one call can report."""
_MAX_DETAIL: Final = 80
_MAX_LAYERS_BYTES: Final = 16 * protocol.KIB
_WHY: Final = {
    "part": "the answer has a part of more than 32 MiB, which cannot be redacted as a stream; ask for single objects",
    "answer": (
        "the source's answer has more than 32 MiB, or too many parts, to be masked; ask for less: fewer series (topk, "
        "sum by), a longer step=, fewer lines (limit=)"
    ),
    "line": "the answer has a line of more than 32 MiB, which cannot be redacted",
    "memory": "masking the text needs more memory than a masker may use; ask for less text",
}
"""Why a masker gave up."""
_BROKEN: Final = frozenset(
    {"gzip-bad", "gzip-cut", "gzip-more", "json", "list", "kind", "depth", "event", "count", "streams"}
)
"""Possible flaws of a body."""
_OF_TEXTS: Final = frozenset({masking.Answer.MASKED, masking.Answer.SAME})
"""Answers to a text."""
_OF_BODIES: Final = frozenset({masking.Answer.MASKED, masking.Answer.PART})
"""Answers to a frame of a body."""


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
        """The layers of the masker's lockdown, as it reported them; None until it is ready."""
        self.uses = 0
        self.owner: str | None = None
        """The owner of the bodies and texts that the masker reads; None until it is used."""
        self.idle_since = 0.0
        """When the masker was last given back (time.monotonic()); 0 until it is used."""
        self.waiting = 0
        """How many answers are still to come or are being read; when there are none, the masker can serve the next
        call."""
        self._link = link.Link(worker.socket)
        self._growth = _GROWTH
        """How many bytes the masker may send in answer to each byte that it gets."""
        self._most = 0
        """How many more bytes the masker may send in answer."""
        self._reported = 0
        self._kinds: set[str] = set()
        self._trailer: masking.Trailer | None = None
        """The trailer of the last answer."""

    @property
    def is_fit(self) -> bool:
        """Whether the masker is still running, and has sent nothing since its last answer."""
        # Attack: a masker sends an extra answer, which would be read as the answer to the next text.
        return not (self.worker.has_ended if self.layers is None else self._link.has_input)

    def greet(self, check: Check) -> None:
        """Waits until the masker is locked down and ready. Raises ProtocolError, StreamClosed and what `check`
        raises."""
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
        answer, size, _ = self._answer(found, check, _OF_TEXTS)
        masked = b"".join(self._link.blocks(size, check))
        self.waiting -= 1
        try:
            return text if answer == masking.Answer.SAME else masked.decode("utf-8", form)
        except UnicodeDecodeError:
            raise protocol.ProtocolError("a text that is no UTF-8") from None

    def body(
        self, about: masking.Body, chunks: Iterator[bytes], report: Report, check: Check, most: int | None = None
    ) -> Generator[bytes, None, masking.Trailer | None]:
        """Yields a masked body in pieces, and returns its trailer. `most` bounds the answer of a second program, which
        may be of any size, whatever that of the body.

        Raises SourceBrokenError when `chunks` raises, after everything that came before.
        """
        self._trailer = None
        self._begin(*_bounds(about, most))
        size = masking.MAX_GZIP_CHUNK if about.gzip else masking.MAX_CHUNK
        self._link.send(masking.Order.OPEN, msgspec.json.encode(about))
        # Nothing of a live body is held back, since its next chunk may come much later.
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
        # All of these answers are read before any is passed on: scripts often stop reading a short answer, and a masker
        # with unread output could serve no other call. Attack: 128 KB of gzip, all sent ahead, unfold to 135 MB, which
        # a masker that was taken over answers with 4 GB.
        rest: list[bytes] = []
        held = 0
        while self.waiting:
            for piece in self._pieces(report, check):
                rest.append(piece)
                held += len(piece)
                if held > _MAX_REST:
                    yield from rest
                    rest.clear()
        # Attack: a masker that is lent again still holds the end of a broken-off body, and passes it to the next
        # caller.
        self.waiting = int(is_broken)
        yield from rest

    def _begin(self, growth: int, most: int = _SLACK) -> None:
        self.uses += 1
        self._growth = growth
        self._most = most
        self._reported = 0
        self._kinds.clear()

    def _send(self, order: masking.Order, payload: bytes | memoryview) -> None:
        """Sends a frame that the masker answers."""
        self._most += len(payload) * self._growth
        self.waiting += 1
        self._link.send(order, payload)

    def _pieces(self, report: Report, check: Check) -> Iterator[bytes]:
        """Reads the answer to one frame of a body, and yields its masked bytes."""
        answer = masking.Answer.PART
        while answer == masking.Answer.PART:
            answer, size, notes = self._answer(report.found, check, _OF_BODIES)
            # Attack: a masker sends parts of nothing without end.
            if answer == masking.Answer.PART and size < masking.MIN_PART:
                raise protocol.ProtocolError(f"a part of {size} bytes")
            report.read(notes.read)
            if notes.error:
                report.event_error(notes.error)
            self._trailer = notes.trailer
            yield from self._link.blocks(size, check)
        self.waiting -= 1

    def _answer(
        self, found: Found, check: Check, permitted: frozenset[masking.Answer]
    ) -> tuple[masking.Answer, int, masking.Notes]:
        """Reads an answer's head and reports what was masked. Raises RedactionError, BodyBrokenError, ProtocolError and
        StreamClosed."""
        answer, notes, size = self._link.head(check)
        if answer == masking.Answer.FAILED:
            self._give_up(notes)
        if answer not in permitted or (answer == masking.Answer.SAME and size):
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

    def _give_up(self, notes: bytes) -> NoReturn:
        """Raises the error that corresponds to a masker's reason for giving up."""
        # Only reasons that the host knows are explained: a masker that was taken over chooses its words.
        reason = notes[:_MAX_DETAIL].decode("ascii", "replace")
        if reason in self._why:
            raise errors.RedactionError(self._why[reason])
        if reason in _BROKEN:
            raise errors.BodyBrokenError(reason)
        raise protocol.ProtocolError(f"it gave up: {reason!r}")

    def _report(self, kind: str, count: int, found: Found) -> None:
        """Reports the masked values of one kind."""
        # Attack: a masker reports a million kinds, all of which the audit record would keep.
        self._kinds.add(kind)
        if len(self._kinds) > _MAX_KINDS:
            raise protocol.ProtocolError("more kinds of secrets than there are")
        reported = min(count, _MAX_FOUND - self._reported)
        self._reported += reported
        for _ in range(reported):
            found(kind)


def _bounds(about: masking.Body, most: int | None) -> tuple[int, int]:
    """Returns how many bytes a masker may send in answer to each byte of a body, and how many in addition."""
    if most is not None:
        return 0, most
    growth = _GROWTH
    if about.gzip:
        growth *= _UNFOLDS
    return growth, _SLACK


def _encode(text: str) -> tuple[bytes, str]:
    """Returns a text as bytes for a masker, and the error handler for decoding the answer."""
    # Attack: a masker that was taken over answers with half a surrogate pair, which no message to a worker can carry.
    try:
        return text.encode(), "strict"
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass"), "surrogatepass"
