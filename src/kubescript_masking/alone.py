"""Masking by itself: the shipped rules, and a key that is drawn anew."""

from __future__ import annotations

import contextlib
import secrets
import sys
from collections.abc import Iterator
from typing import Final

from kubescript_masking.host import engine
from kubescript_masking.wire import masking
from kubescript_sandbox.host import spawner

__all__ = ["open_engine"]

_COMMAND: Final = (sys.executable, "-I", "-m", "kubescript_masking.engine.start")


@contextlib.contextmanager
def open_engine(*, strict: bool = False, directory: str = "") -> Iterator[engine.Engine]:
    """Yields what masks. With `strict`, a machine that lacks a required layer masks nothing; in `directory` the rules
    are saved once they are compiled, which takes seconds."""
    settings = masking.Settings(secrets.token_bytes(32), directory=directory)
    with contextlib.closing(engine.Engine(settings, spawner.Spawner(_COMMAND), strict=strict)) as opened:
        yield opened
