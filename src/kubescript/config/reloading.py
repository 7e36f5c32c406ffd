"""Which settings cannot change while the server runs."""

from __future__ import annotations

import operator
from typing import Final

from kubescript import errors
from kubescript.config.settings import Settings

__all__ = ["check_reload"]

_FIXED: Final = (
    "transport", "host", "port", "http", "tls", "auth", "insecure_no_auth", "redaction", "sandbox", "audit",
    "plans.store", "plans.page", "plans.login", "plans.notify", "replicas", "limits.memory_mib",
    "limits.max_timeout_ms", "language", "log_file", "log_format", "telemetry",
    "processes_pool_size", "fleet.source", "fleet.folder", "fleet.kubeconfig", "fleet.context", "fleet.namespace",
    "fleet.label_selector", "fleet.managed_service_account", "fleet.max_clusters",
)  # fmt: skip
"""Settings of the process, its workers or its listener, not of one caller; only a restart changes them."""


def check_reload(before: Settings, after: Settings) -> None:
    """Raises ConfigError, naming the settings, when settings have changed that only a restart can change."""
    # What was built from these settings at the start is shared by all callers: processes, the listener, the stores.
    changed = []
    for name in _FIXED:
        read = operator.attrgetter(name)
        if read(before) != read(after):
            changed.append(name)
    if changed:
        raise errors.ConfigError(
            f"these settings cannot change while the server runs: {', '.join(changed)}", remedy="restart the server"
        )
