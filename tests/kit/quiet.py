"""kubescript's own log, while a test has thousands of requests refused."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

__all__ = ["silence"]


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Logs nothing meanwhile but what is critical."""
    log = logging.getLogger("kubescript")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)
