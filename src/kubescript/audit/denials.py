"""Repeated denials of one script are counted instead of recorded one by one.

Attack: a script is denied a thousand calls a second, and in half an hour its records push all others out of the files
that are kept. The recorder asks here for every call that was not allowed.
"""

from __future__ import annotations

import threading
from typing import Any, Final

__all__ = ["Denials"]

_IN_FULL: Final = 10
"""How many distinct denials of one script are recorded in full."""
_MAX_GROUPS: Final = 20
_OF_ONE_CALL: Final = frozenset({"time", "ms", "audit_id"})
_NAMES: Final = ("namespace", "name", "path")
"""Fields that are left out when denials are grouped."""
_KINDS: Final = ("group", "version", "resource", "subresource")
"""Fields that are also left out when there are many groups."""

_Record = dict[str, Any]
_Key = tuple[tuple[str, str], ...]


class Denials:
    """The denials of one script. Safe for use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written: set[_Key] = set()
        self._groups: dict[_Key, _Record] = {}

    def is_repeat(self, record: _Record) -> bool:
        """Counts the denial if one like it, or many others, have been recorded; otherwise the caller records it."""
        key = _key(record)
        with self._lock:
            is_known = key in self._written
            if not is_known and len(self._written) < _IN_FULL:
                self._written.add(key)
                return False
            if not is_known:
                # Attack: each denial has a different name.
                record = _without(record, _NAMES)
            self._count(record)
            return True

    def repeats(self) -> list[_Record]:
        """Returns a record for each group of counted denials, and forgets them."""
        with self._lock:
            groups = list(self._groups.values())
            self._groups = {}
        return groups

    def _count(self, record: _Record) -> None:
        """Counts a denial in the group of those like it."""
        key = _key(record)
        # Attack: each denial has a different resource.
        if key not in self._groups and len(self._groups) >= _MAX_GROUPS:
            record = _without(record, _NAMES + _KINDS)
            key = _key(record)
        if key not in self._groups:
            self._groups[key] = record | {"audit_id": "", "count": 0, "first": record["time"]}
        group = self._groups[key]
        group["count"] += 1
        group["time"] = record["time"]


def _without(record: _Record, names: tuple[str, ...]) -> _Record:
    """Returns the record with these fields emptied."""
    empty = {name: "" for name in names if name in record}
    return record | empty


def _key(record: _Record) -> _Key:
    """Returns the fields that are equal in denials counted as the same."""
    same = [name for name in record if name not in _OF_ONE_CALL]
    fields = [(name, str(record[name])) for name in same]
    return tuple(sorted(fields))
