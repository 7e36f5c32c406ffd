"""The programs of confined processes, by module name: the host must not import the modules that only they need."""

from __future__ import annotations

import sys
from typing import Final

from kubescript.wire import exchanges, messages
from kubescript_sandbox.host import guests, spawner
from kubescript_sandbox.wire import protocol

__all__ = ["MASKER", "SCRIPTS", "WORKER"]


def _refuse(fault: protocol.ScriptFault) -> exchanges.Reply:
    """Returns the reply that raises this fault in the script."""
    return exchanges.Reply(0, fault=fault)


SCRIPTS: Final = guests.Guest(
    "kubescript.guest.entry",
    exchanges.Call,
    exchanges.BATCH,
    _refuse,
    exchanges.Report,
    frozenset(f"tool.{name}" for name in messages.CATALOGUE),
)
"""The program that runs scripts."""
WORKER: Final = spawner.command(SCRIPTS.module)
"""The command line of that program's fork server."""
MASKER: Final = (sys.executable, "-I", "-m", "kubescript_masking.engine.start", "kubescript.inspection.inspector")
"""The maskers' fork server, which reads their settings from its standard input."""
