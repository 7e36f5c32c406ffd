"""The second program of the masking process: it reads hostile objects for more than secrets, in the same confinement.

A fork server loads one by the name of its module, which has a `PROGRAM`. Masking needs none.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from kubescript_masking.wire import masking

__all__ = ["Ends", "Mask", "NoProgram", "Program", "WithheldError", "load"]

Ends = Callable[[], list[int]]
"""Which items of the body have ended since it was asked last: the places behind their commas."""


class Mask(Protocol):
    """Masks a document; `echo` says that it may repeat words of the script."""

    def __call__(self, document: bytes, *, echo: bool) -> bytes:
        """Returns the document, masked."""


class WithheldError(ValueError):
    """A body cannot pass: the reason is a word that the host knows."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Program(Protocol):
    """Reads the bodies of one server beside the masker."""

    def configure(self, settings: msgspec.Raw) -> None:
        """Takes what the server says at the start of the process. Raises RuleError."""

    def answer(self, about: masking.Body, chunks: Iterator[bytes], mask: Mask) -> bytes | None:
        """Returns what is answered in the place of the body; None: the body itself is. Raises WithheldError."""

    def reduce(self, about: masking.Body, chunks: Iterator[bytes]) -> Iterator[bytes] | None:
        """Returns what may pass of a body, written anew, before it is masked; None: all of it. Raises
        WithheldError."""


class NoProgram:
    """No program."""

    def configure(self, settings: msgspec.Raw) -> None:
        """Does nothing."""

    def answer(self, about: masking.Body, chunks: Iterator[bytes], mask: Mask) -> None:
        """Answers nothing."""

    def reduce(self, about: masking.Body, chunks: Iterator[bytes]) -> None:
        """Lets all pass."""


def load(module: str) -> Program:
    """Returns the program of a module; none for an empty name."""
    if not module:
        return NoProgram()
    program: Program = importlib.import_module(module).PROGRAM
    return program
