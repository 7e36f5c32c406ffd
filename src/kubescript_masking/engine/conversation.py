"""The masker's side of the conversation with the host (wire/masking.py)."""

from __future__ import annotations

import contextlib
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kubescript_masking.engine import bodies, completeness, gzipped
from kubescript_masking.wire import masking
from kubescript_sandbox.wire import protocol

__all__ = ["Conversation"]

_JOINED: Final = 64 * protocol.KIB
"""How many masked bytes are copied behind their notes; more are cheaper to send one by one."""


class Conversation:
    """The masker's end of the socket."""

    def __init__(self, sock: socket.socket, rules: bodies.Rules) -> None:
        self._sock = sock
        self._rules = rules
        self._kinds: Counter[str] = Counter()
        """How many values were masked since the last answer, by kind."""
        self._masked: list[bytes] = []
        self._masked_bytes = 0
        self._check = completeness.Check("text")
        """The check of the current body, or else of the last one."""

    def begin(self, layers: tuple[protocol.Layer, ...]) -> None:
        """Reports that this process is locked down, by these layers."""
        ready = protocol.Ready(protocol.VERSION, layers)
        self._send(masking.Answer.READY, msgspec.json.encode(ready))

    def serve_one(self) -> None:
        """Masks one text or one body. Raises EOFError when the host closes the socket, OSError, and ReasonError for a
        body that must not pass."""
        order, payload = self._receive()
        if order == masking.Order.TEXT:
            self._serve_text(payload)
            return
        about = msgspec.json.decode(payload, type=masking.Body)
        self._check = completeness.Check(about.form)
        chunks = self._chunks()
        if about.gzip:
            chunks = gzipped.decompress(chunks)
        checked = self._check.watch(chunks)
        for piece in self._rules.body(about, checked, self._count, self._check):
            self._masked.append(piece)
            self._masked_bytes += len(piece)
            # An answer of a source is masked after its END: the host passes one part on while the next is masked.
            if self._masked_bytes >= masking.MIN_PART:
                self._answer(masking.Answer.PART)
        self._answer(masking.Answer.MASKED, self._check.trailer())

    def _serve_text(self, text: bytes) -> None:
        """Answers with the masked text, or only says that the text stays the same."""
        masked = self._rules.text(text, self._count)
        if masked is text:
            self._answer(masking.Answer.SAME)
        else:
            self._masked = [masked]
            self._answer(masking.Answer.MASKED)

    def fail(self, reason: str, detail: str = "") -> None:
        """Reports why there will be no answer."""
        words = f"{reason} {detail}".strip()
        with contextlib.suppress(OSError):  # the host has closed the socket
            self._send(masking.Answer.FAILED, words.encode())

    def _send(self, answer: masking.Answer, notes: bytes, masked: Sequence[bytes] = ()) -> None:
        """Sends one frame."""
        size = sum(map(len, masked))
        head = masking.ANSWER.pack(answer, len(notes), size)
        # The system call filter allows `send` without flags, but neither `sendmsg` nor MSG_WAITALL.
        parts = [head + notes, *masked]
        if size <= _JOINED:
            parts = [b"".join(parts)]
        for part in parts:
            self._sock.sendall(part)

    def _chunks(self) -> Iterator[bytes]:
        while True:
            order, payload = self._receive()
            if order == masking.Order.END:
                return
            yield payload
            # The next chunk is requested only when everything that this one completed has been masked.
            self._answer(masking.Answer.MASKED)

    def _count(self, kind: str) -> None:
        """Counts a masked value."""
        self._kinds[kind] += 1

    def _answer(self, answer: masking.Answer, trailer: masking.Trailer | None = None) -> None:
        """Answers one frame with what it completed, and with what was found and read since the last answer."""
        notes = masking.Notes(
            kinds=dict(self._kinds),
            read=self._check.take(),
            error=self._check.error,
            trailer=trailer,
        )
        self._send(answer, msgspec.json.encode(notes), self._masked)
        self._kinds.clear()
        self._masked.clear()
        self._masked_bytes = 0

    def _receive(self) -> tuple[int, bytes]:
        """Waits for the host's next frame. Raises EOFError when the host closes the socket."""
        head = self._read(masking.HEADER.size)
        length, order = masking.HEADER.unpack(head)
        payload = self._read(length)
        return order, payload

    def _read(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            part = self._sock.recv(size)
            if not part:
                raise EOFError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
