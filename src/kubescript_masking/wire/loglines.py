"""Log lines between the host and the masker; each begins with the timestamp that a kubelet writes.

The host always requests timestamps, and cuts a log down to what was requested once the log is masked. A line that
masking removed (within a private key) remains as an empty line without a timestamp, so that the host still counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

__all__ = ["REMOVED", "stamp", "whole"]

REMOVED: Final = b"\n"
"""What remains of a line with a timestamp that masking removed."""
_FIRST: Final = len("2026-01-31T12:00:00Z")
"""The place of the blank after the shortest timestamp."""
_LAST: Final = len("2026-01-31T12:00:00.123456789+01:00")
_DIGITS: Final = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else byte for byte in range(256))
_FRACTIONS: Final = ["", *("." + "0" * digits for digits in range(1, 10))]
_FORMS: Final = frozenset(
    f"0000-00-00T00:00:00{fraction}{zone} ".encode() for fraction in _FRACTIONS for zone in ("Z", "+00:00", "-00:00")
)
"""Every form of a timestamp (RFC 3339, as kubelets write it), with zeros for its digits."""


def stamp(line: bytes) -> int:
    """Returns the length of the timestamp at a line's beginning, including the blank after it; 0 for none."""
    end = line.find(b" ", _FIRST, _LAST + 1) + 1
    if not end:
        return 0
    form = line[:end].translate(_DIGITS)
    return end if form in _FORMS else 0


def whole(chunks: Iterator[bytes], most: int, too_long: Callable[[], Exception]) -> Iterator[bytes]:
    """Yields whole lines, several at a time, as soon as they are complete; the last may lack its line feed. Raises the
    exception from `too_long` when more than `most` bytes of a line would be held."""
    begun: list[bytes] = []
    held = 0
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end:
            yield b"".join([*begun, chunk[:end]])
            begun, held = [], 0
        if end < len(chunk):
            begun.append(chunk[end:])
            held += len(chunk) - end
        if held > most:
            raise too_long()
    if begun:
        yield b"".join(begun)
