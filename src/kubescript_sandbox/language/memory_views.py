"""What a script gets as `memoryview`: read-only bytes of its own.

Attack: a real one shows the memory behind a value (`.obj`), which for a part of a list is the whole answer of the API
server, and writes into what it was made of.
"""

from __future__ import annotations

from typing import Any, Final, Self

__all__ = ["MemoryView"]


class _MemoryView(bytes):
    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        found = bytes.__getitem__(self, index)
        return _MemoryView(found) if isinstance(index, slice) else found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        pass

    @property
    def nbytes(self) -> int:
        """How many bytes it has."""
        return len(self)

    def tobytes(self) -> bytes:
        """The same as bytes."""
        return bytes(self)

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return list(self)

    def release(self) -> None:
        """Does nothing: it is a copy."""


_MemoryView.__name__ = _MemoryView.__qualname__ = "memoryview"
MemoryView: Final = _MemoryView
