"""`memoryview` for scripts: a read-only copy of the bytes.

Attack: a script uses a real memoryview to read the memory behind a value (`.obj`), which for a part of a list is the
API server's whole answer, or to write to its source.
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
        """The number of bytes."""
        return len(self)

    def tobytes(self) -> bytes:
        """Returns the content as bytes."""
        return bytes(self)

    def tolist(self) -> list[int]:
        """Returns the bytes as numbers."""
        return list(self)

    def release(self) -> None:
        """Does nothing: it is a copy."""


_MemoryView.__name__ = _MemoryView.__qualname__ = "memoryview"
MemoryView: Final = _MemoryView
