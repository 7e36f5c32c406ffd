"""Finds the microversion for commands whose line does not name one: for each service, the greatest that the cloud
supports."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

__all__ = ["COMMAND", "PATIENCE_S", "Known", "parse"]

COMMAND: Final = ("versions", "show", "--format", "json")
"""The command that the host runs once per cloud; its answer goes to `parse`."""

# Identity and key-manager report microversions that their clients do not accept as a version, and services that are not
# listed here have none.
_OPTIONS: Final = {
    "accelerator": "os_accelerator_api_version",
    "baremetal": "os_baremetal_api_version",
    "block-storage": "os_volume_api_version",
    "compute": "os_compute_api_version",
    "placement": "os_placement_api_version",
    "shared-file-system": "os_share_api_version",
    "volumev3": "os_volume_api_version",
}
"""The destination of the option for each type of service."""
_VERSION: Final = re.compile(r"(\d{1,4})\.(\d{1,4})", re.ASCII)


_LASTS_S: Final = 3_600.0
"""For how many seconds a cloud's answer is valid."""
_SILENCE_S: Final = 30.0
"""For how many seconds a cloud that has not answered is not asked again."""
_MAX_CLOUDS: Final = 256
PATIENCE_S: Final = 5.0
"""How many seconds a command line waits for microversions."""


@dataclass(slots=True)
class _Cloud:
    """The known microversions of one cloud."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while the cloud is being asked; other threads wait for the answer."""
    versions: dict[str, str] = field(default_factory=dict)
    until: float = 0.0


class Known:
    """The microversions of each cloud, which is asked once an hour. Safe for use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clouds: dict[str, _Cloud] = {}

    def of(self, name: str, ask: Callable[[], dict[str, str] | None]) -> dict[str, str]:
        """Returns the microversions of a cloud, under any name that identifies it; no versions while they are unknown.
        `ask` returns None for an answer that must not be kept."""
        cloud = self._find(name)
        if not cloud.lock.acquire(timeout=PATIENCE_S):
            return cloud.versions
        try:
            if time.monotonic() >= cloud.until:
                found = ask()
                cloud.versions = found or {}
                kept_s = _LASTS_S if found else _SILENCE_S
                cloud.until = 0 if found is None else time.monotonic() + kept_s
            return cloud.versions
        finally:
            cloud.lock.release()

    def _find(self, name: str) -> _Cloud:
        with self._lock:
            # Attack: a caller names more and more projects.
            if name not in self._clouds and len(self._clouds) >= _MAX_CLOUDS:
                self._clouds.clear()
            return self._clouds.setdefault(name, _Cloud())


def parse(answer: str) -> dict[str, str]:
    """Returns the microversions in the answer of COMMAND, by destination of the option. Raises ValueError for a
    malformed answer."""
    found: dict[str, tuple[int, int]] = {}
    for row in _rows(answer):
        service = str(row.get("Service Type"))
        version = str(row.get("Max Microversion"))
        option = _OPTIONS.get(service)
        parts = _VERSION.fullmatch(version)
        if option is None or parts is None or row.get("Status") != "CURRENT":
            continue
        number = (int(parts[1]), int(parts[2]))
        # If regions differ, the lowest version is the one that all of them support.
        found[option] = min(number, found.get(option, number))
    return {option: f"{major}.{minor}" for option, (major, minor) in found.items()}


def _rows(answer: str) -> list[dict[str, Any]]:
    """Returns the rows of the client's table. Raises ValueError."""
    try:
        return msgspec.json.decode(answer, type=list[dict[str, Any]])
    except msgspec.MsgspecError as error:
        raise ValueError(f"`openstack versions show` answered with what is no table: {error}") from error
