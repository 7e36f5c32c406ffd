"""The engine as the broker calls it, on a document of the corpus."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

from kubescript import redaction
from kubescript.request import request
from kubescript.wire import protocol
from security_tests.redaction.sheet import Document

__all__ = ["call", "chunked", "fresh", "masked"]


def fresh(key: bytes | None = b"corpus") -> redaction.Engine:
    """An engine with default settings."""
    return redaction.Engine(redaction.Settings(), key=key)


def call(document: Document) -> request.Request:
    """The request that this document answers."""
    accept: protocol.Accept = "text" if document.accept == "text" else "json"
    return request.parse(protocol.Call("GET", document.path, document.query, accept=accept))


def masked(engine: redaction.Engine, document: Document, seed: str = "", found: Counter[str] | None = None) -> bytes:
    """The body as a script would get it; with a seed, fed in random pieces."""
    counts: Counter[str] = Counter() if found is None else found

    def note(kind: str) -> None:
        counts[kind] += 1

    pieces = chunked(document.body, seed) if seed else iter((document.body,))
    return b"".join(engine.body(call(document), pieces, note))


def chunked(body: bytes, seed: str) -> Iterator[bytes]:
    """The body in pieces of random sizes, single bytes among them."""
    sizes = random.Random(seed)
    at = 0
    while at < len(body):
        size = sizes.choice((1, 2, 7, 40, 300, 4096))
        yield body[at : at + size]
        at += size
