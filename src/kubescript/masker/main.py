"""One masker: a locked-down process that masks bodies and texts for the host, one after the other, until it is killed.

It holds the rules and the key of the placeholders, and nothing else: no credential, no file, no network. It reads
hostile bytes, so the host treats what it answers as hostile.
"""

from __future__ import annotations

import gc
import os
import socket
from collections import Counter
from collections.abc import Iterator
from typing import Final, NoReturn

import msgspec

from kubescript.confinement import lockdown
from kubescript.masker import bodies
from kubescript.masker.chunks import TooLargeError
from kubescript.wire import masking, protocol

__all__ = ["main"]


def main(
    descriptor: int,
    confinement: lockdown.Confinement,
    inherited: tuple[protocol.Layer, ...],
    *,
    rules: bodies.Rules,
) -> NoReturn:
    """Lock this process down and serve the host. Ends when the host closes the socket, and after any failure."""
    sock = lockdown.adopt_socket(descriptor)
    layers = inherited + lockdown.apply(lockdown.WORKER_STEPS, confinement)
    gc.enable()
    conversation = _Conversation(sock, rules)
    reserve = [bytes(1 << 20)]  # freed when memory runs out, so that there is room for the report
    try:
        conversation.ready(layers)
        while True:
            conversation.serve_one()
    except MemoryError:
        reserve.clear()
        conversation.fail("memory")
    except TooLargeError as error:
        conversation.fail(error.reason)
    except (OSError, EOFError):  # the host closed the socket
        pass
    except Exception as error:  # its text may quote what was to be masked, so only its type is told
        conversation.fail("bug", type(error).__name__)
    os._exit(1)


_JOINED: Final = 64 * protocol.KIB
"""Bytes of an answer up to which it is copied behind its head, to be sent at once."""


class _Conversation:
    """The masker's end."""

    def __init__(self, sock: socket.socket, rules: bodies.Rules) -> None:
        self._sock = sock
        self._rules = rules
        self._kinds: Counter[str] = Counter()
        self._masked: list[bytes] = []

    def ready(self, layers: tuple[protocol.Layer, ...]) -> None:
        """Report which layers hold."""
        ready = protocol.Ready(protocol.VERSION, layers)
        self._send(masking.Answer.READY, msgspec.json.encode(ready), b"")

    def serve_one(self) -> None:
        """Mask one text or one body."""
        order, payload = self._receive()
        if order == masking.Order.TEXT:
            masked = self._rules.text(payload, self._found)
            if masked is payload:
                self._answer(masking.Answer.SAME)
            else:
                self._masked.append(masked)
                self._answer(masking.Answer.MASKED)
            return
        about = msgspec.json.decode(payload, type=masking.Body)
        for piece in self._rules.body(about, self._chunks(), self._found):
            self._masked.append(piece)
        self._answer(masking.Answer.MASKED)

    def fail(self, reason: masking.Reason, detail: str = "") -> None:
        """Say why there will be no answer."""
        notes = f"{reason} {detail}".strip().encode()
        try:
            self._send(masking.Answer.FAILED, notes, b"")
        except OSError:  # the host has closed the socket
            return

    def _chunks(self) -> Iterator[bytes]:
        while True:
            order, payload = self._receive()
            if order == masking.Order.END:
                return
            yield payload
            # The next chunk is asked for when all that this one made complete has been masked.
            self._answer(masking.Answer.MASKED)

    def _found(self, kind: str) -> None:
        self._kinds[kind] += 1

    def _answer(self, answer: masking.Answer) -> None:
        notes = masking.write_kinds(self._kinds)
        masked = self._masked[0] if len(self._masked) == 1 else b"".join(self._masked)
        self._kinds.clear()
        self._masked.clear()
        self._send(answer, notes, masked)

    def _send(self, answer: masking.Answer, notes: bytes, masked: bytes) -> None:
        # The filter of system calls allows `send` without flags, and neither `sendmsg` nor MSG_WAITALL.
        head = masking.ANSWER.pack(answer, len(notes), len(masked)) + notes
        if len(masked) <= _JOINED:
            self._sock.sendall(head + masked)
        else:
            self._sock.sendall(head)
            self._sock.sendall(masked)

    def _receive(self) -> tuple[int, bytes]:
        length, order = masking.HEADER.unpack(self._read(masking.HEADER.size))
        return order, self._read(length)

    def _read(self, size: int) -> bytes:
        data = self._sock.recv(size) if size else b""
        if len(data) == size:
            return data
        parts, missing = [data], size - len(data)
        while missing:
            if not parts[-1]:
                raise EOFError
            parts.append(self._sock.recv(missing))
            missing -= len(parts[-1])
        return b"".join(parts)
