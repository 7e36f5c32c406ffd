"""The masking process: the fork server, each masker that it forks, and the check of an operator's rules.

`python -m kubescript_masking.engine.start [PROGRAM] DESCRIPTOR` compiles the rules and serves; `... check` prints
errors in the settings. The host starts both with an empty environment, and they read the settings (wire/masking.py)
from standard input; neither learns anything about a cluster. A masker holds only the rules and the key of its masks: no
credentials, files or network. It reads hostile bytes, so the host treats its answers as hostile.
"""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NoReturn

import msgspec

from kubescript_masking.engine import bodies, completeness, gzipped, program
from kubescript_masking.rules.probes import RuleError
from kubescript_masking.wire import masking
from kubescript_masking.wire.lists import ReasonError
from kubescript_sandbox.confinement import forkserver, lockdown
from kubescript_sandbox.wire import protocol

__all__ = ["main"]


def main() -> None:
    """Runs the command line."""
    given = sys.stdin.buffer.read()
    if not given:  # the host has ended, or needs no masker: it starts this process before it reads the settings
        return
    settings = msgspec.json.decode(given, type=masking.Settings)
    *named, last = sys.argv[1:]
    second = program.load("".join(named))
    if last == "check":
        try:
            bodies.Rules(settings, second).check()
        except RuleError as error:
            sys.stdout.write(str(error))
        return
    rules = bodies.Rules(settings, second)
    # The rules are warmed up before the forks, so that all maskers share the compiled rules.
    rules.warm()

    def serve(descriptor: int, confinement: lockdown.Confinement, inherited: tuple[protocol.Layer, ...]) -> NoReturn:
        sock = lockdown.adopt_socket(descriptor)
        layers = inherited + lockdown.apply(lockdown.WORKER_STEPS, confinement)
        _serve(_Conversation(sock, rules), layers)

    forkserver.serve(int(last), serve)


def _serve(conversation: _Conversation, layers: tuple[protocol.Layer, ...]) -> NoReturn:
    """Masks one body or text after another in this process, which is locked down. Exits when the host closes the
    socket, and after any failure."""
    gc.enable()
    reserve = [bytes(1 << 20)]  # freed when memory runs out, so that there is room for the report
    try:
        ready = protocol.Ready(protocol.VERSION, layers)
        conversation.send(masking.Answer.READY, msgspec.json.encode(ready))
        while True:
            conversation.serve_one()
    except MemoryError:
        reserve.clear()
        conversation.fail("memory")
    except ReasonError as error:
        conversation.fail(error.reason)
    except (OSError, EOFError):  # the host closed the socket
        pass
    except Exception as error:  # the message may quote a secret, so only the type is reported
        conversation.fail("bug", type(error).__name__)
    os._exit(1)


class _Conversation:
    """The masker's end of the socket."""

    def __init__(self, sock: socket.socket, rules: bodies.Rules) -> None:
        self._sock = sock
        self._rules = rules
        self._kinds: Counter[str] = Counter()
        """How many values were masked since the last answer, by kind."""
        self._masked: list[bytes] = []
        self._check = completeness.Check("text")
        """The check of the current body, or else of the last one."""

    def serve_one(self) -> None:
        """Masks one text or one body."""
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
        for piece in self._rules.body(about, checked, self._count, self._check.ends):
            self._masked.append(piece)
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
            self.send(masking.Answer.FAILED, words.encode())

    def send(self, answer: masking.Answer, notes: bytes, masked: Sequence[bytes] = ()) -> None:
        """Sends one frame."""
        # The system call filter allows `send` without flags, but neither `sendmsg` nor MSG_WAITALL.
        size = sum(map(len, masked))
        head = masking.ANSWER.pack(answer, len(notes), size)
        frame = b"".join((head, notes, *masked))
        self._sock.sendall(frame)

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
        self.send(answer, msgspec.json.encode(notes), self._masked)
        self._kinds.clear()
        self._masked.clear()

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
