"""The masking process's second program: it reads hostile objects for other purposes, in the same confinement.

A fork server loads the program by the name of its module, which defines `PROGRAM`. Masking does not need one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from kubescript_masking.wire import masking
from kubescript_masking.wire.lists import ReasonError

__all__ = ["Ends", "Mask", "Program", "WithheldError", "load"]

Ends = Callable[[], list[int]]
"""Returns which items of the body have ended since the last call: the places after their commas."""


class Mask(Protocol):
    """Masks a document; `echo` says that the document may repeat the script's words."""

    def __call__(self, document: bytes, *, echo: bool) -> bytes:
        """Returns the masked document."""


class WithheldError(ReasonError):
    """A body must not pass."""


class Program(Protocol):
    """Reads the bodies of one server beside the masker."""

    def configure(self, settings: msgspec.Raw) -> None:
        """Takes the server's settings at the start of the process. Raises RuleError."""

    def answer(self, about: masking.Body, chunks: Iterator[bytes], mask: Mask) -> bytes | None:
        """Returns the answer that replaces the body; None: the body is sent. Raises WithheldError."""

    def reduce(self, about: masking.Body, chunks: Iterator[bytes]) -> Iterator[bytes] | None:
        """Returns the permitted part of a body, rewritten, before it is masked; None: all of it. Raises
        WithheldError."""


def load(module: str) -> Program | None:
    """Returns the program of a module; None for an empty name."""
    if not module:
        return None
    program: Program = importlib.import_module(module).PROGRAM
    return program
