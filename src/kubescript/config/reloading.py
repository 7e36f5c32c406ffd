"""Which settings count from the start of a server to its end, whatever a reload reads."""

from __future__ import annotations

import operator
from typing import Final

from kubescript import errors
from kubescript.config.settings import Settings

__all__ = ["check_reload"]

_FIXED: Final = (
    "transport", "host", "port", "http", "tls", "auth", "insecure_no_auth", "redaction", "sandbox", "audit",
    "plans.store", "limits.memory_mib", "limits.max_timeout_ms", "language", "log_file", "log_format", "telemetry",
    "processes_pool_size",
)  # fmt: skip
"""All of them are of the process, its workers or its listener, and not of one caller."""


def check_reload(before: Settings, after: Settings) -> None:
    """Raises ConfigError, which names them, when settings have changed that cannot while the server runs."""
    changed = []
    for name in _FIXED:
        read = operator.attrgetter(name)
        if read(before) != read(after):
            changed.append(name)
    if changed:
        raise errors.ConfigError(
            f"these settings cannot change while the server runs: {', '.join(changed)}", remedy="restart the server"
        )
