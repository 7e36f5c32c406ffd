"""The code that reads hostile objects in the masking process. It determines which part of an object may pass, and what
a write changes.

It is that process's second program (`program`), under the same confinement.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from kubescript.inspection import differences, expressions, metadata_bodies, namespace_bodies, release_contents
from kubescript.wire import inspection
from kubescript_masking.engine import pieces, program
from kubescript_masking.wire import masking

__all__ = ["PROGRAM"]


class Inspector:
    """The inspection program of one server."""

    def __init__(self) -> None:
        self._expressions = expressions.Expressions(())

    def configure(self, settings: msgspec.Raw) -> None:
        """Compiles the operator's rules about changes. Raises RuleError."""
        rules: tuple[inspection.Expression, ...] = ()
        if settings != masking.NOTHING:
            rules = msgspec.json.decode(settings, type=inspection.Settings).expressions
        self._expressions = expressions.Expressions(rules)

    def answer(self, about: masking.Body, chunks: Iterator[bytes], mask: program.Mask) -> bytes | None:
        """Returns what a write changes, if the body holds documents to compare. Raises ComparisonError."""
        order = _read(about)
        if order.comparison is None:
            return None
        return differences.write_changes(order.comparison, chunks, mask, self._expressions)

    def reduce(self, about: masking.Body, chunks: Iterator[bytes]) -> Iterator[bytes] | None:
        """Returns the permitted part of a body's objects or of a release, if no more may pass. Raises ShapeError,
        TooLargeError and ReleaseError."""
        order = _read(about)
        if order.release and not about.echo:
            return release_contents.write(chunks, brief=order.release == "brief")
        if order.namespaces and not about.echo:
            chunks = _permit(about, order.namespaces, chunks)
        elif order.metadata is None:
            return None
        return chunks if order.metadata is None else _reduce(about, order.metadata, chunks)


def _read(about: masking.Body) -> inspection.Order:
    """Returns the host's order to this program, which the masker passes on unread."""
    return msgspec.json.decode(about.program, type=inspection.Order)


def _permit(about: masking.Body, served: inspection.Namespaces, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the Namespaces that may pass. Raises ShapeError or TooLargeError."""
    if about.form == "watch":
        return namespace_bodies.events(served, pieces.events(chunks))
    return namespace_bodies.of_list(served, chunks)


def _reduce(about: masking.Body, served: inspection.Metadata, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yields the permitted part of a body's objects."""
    if about.echo:
        return metadata_bodies.of_error(chunks)
    if about.form == "watch":
        return metadata_bodies.events(served, pieces.events(chunks))
    if about.form in {"list", "table"}:
        return metadata_bodies.of_list(served, chunks)
    return metadata_bodies.of_object(served, chunks)


PROGRAM: Final = Inspector()
