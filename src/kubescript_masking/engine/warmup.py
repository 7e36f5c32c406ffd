"""A fork server's warm-up: a host's frames, of bytes of our own, on a socket without a host.

With compiled rules and specialized bytecode, each masker copies an eighth fewer pages.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Final

import msgspec

from kubescript_masking.engine import bodies, conversation
from kubescript_masking.wire import masking

__all__ = ["rehearse"]

# After 8 runs, CPython 3.11 and later have specialized a function's bytecode.
_RUNS: Final = 8
_BODIES: Final = (
    (masking.Body(form="log"), b"level=info password=hunter22\nok\n"),
    (masking.Body(), b'{"kind":"Pod","metadata":{},"env":[{"name":"DB_PASSWORD","value":"hunter22"}]}'),
    (
        masking.Body(form="list"),
        b'{"kind":"PodList","metadata":{},"items":[{"metadata":{},"env":[{"name":"DB_PASSWORD","value":"hunter22"}]}]}',
    ),
)
_TEXTS: Final = (b"password=hunter22 and postgres://app:Tr0ub4dor@db/app", b"[true,1]")


def rehearse(rules: bodies.Rules) -> None:
    """Masks a little of everything. Raises RuleError."""
    frames = b"".join(_frames())
    for _ in range(_RUNS):
        masker_end, host_end = socket.socketpair()
        with masker_end, host_end:
            host_end.sendall(frames)
            talk = conversation.Conversation(masker_end, rules)
            talk.begin(())
            for _ in (*_BODIES, *_TEXTS):
                talk.serve_one()


def _frames() -> Iterator[bytes]:
    """Yields what a host sends for all bodies and texts."""
    for about, body in _BODIES:
        yield _frame(masking.Order.OPEN, msgspec.json.encode(about))
        yield _frame(masking.Order.CHUNK, body)
        yield _frame(masking.Order.END, b"")
    for text in _TEXTS:
        yield _frame(masking.Order.TEXT, text)


def _frame(order: masking.Order, payload: bytes) -> bytes:
    return masking.HEADER.pack(len(payload), order) + payload
