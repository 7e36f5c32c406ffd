"""The engine as the broker calls it, on a document of the corpus."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kubescript import errors, redaction
from kubescript.inspection import inspector
from kubescript.redaction import redactor
from kubescript.request import request
from kubescript.wire import exchanges
from kubescript_masking.engine import bodies, completeness, warmup
from kubescript_masking.host import engine as host
from kubescript_masking.host.conversation import Found, Report
from kubescript_masking.wire import lists, masking
from kubescript_masking.wire.lists import TooLargeError
from kubescript_sandbox.wire import protocol
from security_tests.redaction.sheet import Document
from tests.kit import reading

__all__ = ["DIRECTORY", "InProcess", "call", "chunked", "fresh", "masked", "pooled", "rules"]


DIRECTORY: Final = Path(redactor._cache_directory())
"""Where the product keeps compiled rules."""


class InProcess(redaction.Engine):
    """The engine without processes of its own: the tests measure what masking costs, and fill every corner of it."""

    def __init__(self, key: bytes | None = None) -> None:
        super().__init__(redaction.Settings(), key)
        self._rules = rules(key if key is not None else random.randbytes(32))

    def prepare(self) -> tuple[protocol.Layer, ...]:
        """Mask a little of everything."""
        warmup.rehearse(self._rules)
        return ()

    def text(self, text: str, found: Found, check: Callable[[], None] | None = None) -> str:
        """Any text, masked; nobody checks the time."""
        return self._rules.text(text.encode("utf-8", "surrogatepass"), found).decode("utf-8", "surrogatepass")

    def _mask(self, call: request.Request, chunks: Iterator[bytes], report: Report, *, echo: bool) -> host.Masked:
        about = redactor.describe(call, echo=echo)
        check = completeness.Check(about.form)
        try:
            yield from self._rules.body(about, _watched(check, chunks), report.found, check)
        except TooLargeError as error:
            raise errors.RedactionError(str(error)) from None
        return masking.Trailer()


def _watched(check: completeness.Check, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks, also of a body that is not what it must be: it is masked all the same."""
    with contextlib.suppress(lists.FlawError):
        yield from check.watch(chunks)


def rules(key: bytes, *own: masking.Rule) -> bodies.Rules:
    """The rules of a masker, compiled once on a machine."""
    return bodies.Rules(masking.Settings(key=key, rules=own, directory=str(DIRECTORY)), inspector.PROGRAM)


def fresh(key: bytes | None = b"corpus") -> redaction.Engine:
    """An engine with default settings, in this process."""
    return InProcess(key)


def pooled() -> redaction.Engine:
    """An engine with default settings as the server has it."""
    return redaction.Engine(redaction.Settings(), key=b"corpus")


def call(document: Document) -> request.Request:
    """The request that this document answers."""
    accept: exchanges.Accept = "text" if document.accept == "text" else "json"
    return reading.formed(request.parse(exchanges.Call("GET", document.path, document.query, accept=accept)))


def masked(engine: redaction.Engine, document: Document, seed: str = "", found: Counter[str] | None = None) -> bytes:
    """The body as a script would get it; with a seed, fed in random pieces."""
    counts: Counter[str] = Counter() if found is None else found

    def note(kind: str) -> None:
        counts[kind] += 1

    pieces = chunked(document.body, seed) if seed else iter((document.body,))
    return b"".join(engine.body(call(document), pieces, reading.Report(note)))


def chunked(body: bytes, seed: str) -> Iterator[bytes]:
    """The body in pieces of random sizes, single bytes among them."""
    sizes = random.Random(seed)
    at = 0
    while at < len(body):
        size = sizes.choice((1, 2, 7, 40, 300, 4096))
        yield body[at : at + size]
        at += size
