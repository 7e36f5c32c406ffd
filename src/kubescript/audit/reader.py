"""The records of a chain, oldest first, whatever their integrity: `verify` is who judges that."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from kubescript import errors
from kubescript.audit import rotation

__all__ = ["Filter", "records"]


@dataclass(frozen=True, slots=True)
class Filter:
    """Which records are record_filter."""

    session: str = ""
    script: str = ""
    """The beginning of a script's hash, or an evaluation."""
    since: datetime | None = None
    denied: bool = False

    def __call__(self, record: dict[str, Any]) -> bool:
        """Whether this one is."""
        if self.session and not str(record.get("session", "")).startswith(self.session):
            return False
        if self.script and not any(
            str(record.get(key, "")).startswith(self.script) for key in ("script", "evaluation")
        ):
            return False
        if self.since is not None and datetime.fromisoformat(record["time"]) < self.since:
            return False
        return not self.denied or record.get("decision", "allow") != "allow"


def records(path: Path, record_filter: Filter | None = None) -> Iterator[dict[str, Any]]:
    """Every record that is JSON. Raises ConfigError when a file that is not empty has none: it is another file."""
    lines = count = 0
    with rotation.frozen(path) as parts:
        for line in itertools.chain.from_iterable(part.lines() for part in parts):
            lines += 1
            record = _record(line)
            if record is not None:
                count += 1
                if record_filter is None or record_filter(record):
                    yield record
    if lines and not count:
        raise errors.ConfigError(f"{path} holds no audit records", remedy="name the file that `audit.file` names")


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("time"), str) else None
