"""Masking without a server: the shipped rules and a new random key."""

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
    """Yields an engine that masks. With `strict`, it masks nothing on a machine that lacks a required layer;
    `directory` keeps the compiled rules, which take seconds to compile."""
    settings = masking.Settings(secrets.token_bytes(32), directory=directory)
    with contextlib.closing(engine.Engine(settings, spawner.Spawner(_COMMAND), strict=strict)) as opened:
        yield opened
