"""The times at which an application looks whether something is so by now."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

__all__ = ["looks"]

_FIRST_S: Final = 0.05
_LOOK_S: Final = 2.0
"""The longest time between two looks in seconds."""


def looks(wait_s: float) -> Iterator[None]:
    """Yields at once, and then whenever it is time to look again, for this many seconds."""
    deadline = time.monotonic() + wait_s
    pause = _FIRST_S
    while time.monotonic() < deadline:
        yield
        time.sleep(pause)
        pause = min(_LOOK_S, 2 * pause)
