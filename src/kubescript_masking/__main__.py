"""Masks secrets in its standard input: `python -m kubescript_masking < FILE`.

The masked text goes to standard output as soon as it is ready, so that a log can be followed; the number of masked
values of each kind goes to standard error. Exit code 1: masking failed, and the missing part was withheld.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kubescript_masking import alone
from kubescript_masking.host import engine
from kubescript_masking.wire import masking
from kubescript_sandbox import errors

__all__ = ["main"]

_PIECE: Final = 64 * 1024
_FAILED: Final = 1


def main() -> int:
    """Masks standard input; returns the exit code."""
    kinds: Counter[str] = Counter()
    report = engine.Findings(lambda kind: kinds.update((kind,)))
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Path(home) / "kubescript" / "scanner"
    # A log may be followed, so nothing is held back for the next piece.
    body = masking.Body(live=True)
    try:
        with alone.open_engine(directory=str(cache)) as opened:
            for piece in opened.mask_body(body, _pieces(), report, lambda: None):
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
    except errors.CodedError as error:
        sys.stderr.write(f"{error.explained}\n")
        return _FAILED
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    sys.stderr.write(f"masked: {counted or 'nothing'}\n")
    return 0


def _pieces() -> Iterator[bytes]:
    """Yields standard input as it arrives."""
    while piece := os.read(sys.stdin.fileno(), _PIECE):
        yield piece


if __name__ == "__main__":
    sys.exit(main())
