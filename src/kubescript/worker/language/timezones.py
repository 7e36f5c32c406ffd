"""zoneinfo from memory: the time zone files are read before the lockdown, and zones are made from their bytes."""

from __future__ import annotations

import importlib.resources
import io
import zoneinfo
from pathlib import Path
from typing import Any, ClassVar, Final, Self

__all__ = ["MEMBERS", "ZoneInfo", "load"]

_FILES: Final[dict[str, bytes]] = {}
"""Key ▶ TZif bytes: half a megabyte for all of tzdata."""


def load() -> None:
    """Read every zone, from the tzdata package or else from the system. Costs some 20 ms, once."""
    if not _FILES:
        for root in _zone_directories():
            _FILES.update((key, data) for key, data in _read_zones(root) if key not in _FILES)


def _zone_directories() -> list[Any]:
    try:
        return [importlib.resources.files("tzdata") / "zoneinfo"]
    except ModuleNotFoundError:
        return [path for path in map(Path, zoneinfo.TZPATH) if path.is_dir()]


def _read_zones(root: Any, prefix: str = "") -> list[tuple[str, bytes]]:
    zones: list[tuple[str, bytes]] = []
    for entry in root.iterdir():
        if entry.is_dir() and entry.name not in {"posix", "right", "__pycache__"}:
            zones += _read_zones(entry, f"{prefix}{entry.name}/")
        elif entry.is_file() and (data := entry.read_bytes())[:4] == b"TZif":
            zones.append((prefix + entry.name, data))
    return zones


class ZoneInfo(zoneinfo.ZoneInfo):
    """zoneinfo.ZoneInfo that opens no file."""

    _instances: ClassVar[dict[str, ZoneInfo]] = {}

    def __new__(cls, key: str) -> Self:
        """The one zone of this key."""
        if key not in cls._instances:
            if key not in _FILES:
                raise zoneinfo.ZoneInfoNotFoundError(f"No time zone found with key {key}") from None
            cls._instances[key] = super().from_file(io.BytesIO(_FILES[key]), key)
        return cls._instances[key]  # type: ignore[return-value]  # made by cls

    @classmethod
    def no_cache(cls, key: str) -> Self:
        """As ZoneInfo(key)."""
        return cls(key)


def available_timezones() -> set[str]:
    """The keys that ZoneInfo takes."""
    return set(_FILES)


MEMBERS: Final[dict[str, object]] = {
    "ZoneInfo": ZoneInfo,
    "ZoneInfoNotFoundError": zoneinfo.ZoneInfoNotFoundError,
    "available_timezones": available_timezones,
}
