"""The records of a chain, oldest first, without a check of their integrity. The `kubescript audit` commands read them
here; `verify` checks whether they were altered."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from kubescript import errors
from kubescript.audit import rotation

__all__ = ["Filter", "of_plan", "records", "records_of"]


@dataclass(frozen=True, slots=True)
class Filter:
    """The choice of records to read."""

    session: str = ""
    script: str = ""
    """The beginning of a script's hash, or of an evaluation's id."""
    since: datetime | None = None
    denied: bool = False
    plan: str = ""
    """The beginning of a plan's id: selects its decisions, its application, and the script that made it."""
    evaluations: frozenset[str] = frozenset()
    """The evaluations that made the plan."""

    def __call__(self, record: dict[str, Any]) -> bool:
        """Says whether the filter admits this record."""
        if self.session and not _starts(record, "session", self.session):
            return False
        if self.script and not self._is_of_script(record):
            return False
        if self.plan and not self._is_of_plan(record):
            return False
        if self.since is not None and datetime.fromisoformat(record["time"]) < self.since:
            return False
        if self.denied:
            return bool(record.get("decision", "allow") != "allow")
        return True

    def _is_of_plan(self, record: dict[str, Any]) -> bool:
        """Says whether a record is part of the plan's history."""
        if _starts(record, "plan", self.plan):
            return True
        return record.get("evaluation") in self.evaluations

    def _is_of_script(self, record: dict[str, Any]) -> bool:
        """Says whether a record is of the script, or of one run of it."""
        if _starts(record, "script", self.script):
            return True
        return _starts(record, "evaluation", self.script)


def _starts(record: dict[str, Any], key: str, beginning: str) -> bool:
    """Says whether the value of this field begins with `beginning`."""
    # A stranger's record may have a number here.
    text = str(record.get(key, ""))
    return text.startswith(beginning)


def of_plan(paths: Sequence[Path], plan: str) -> Filter:
    """Returns the filter for a plan's whole history, which may be in several chains."""
    made = Filter(plan=plan)
    evaluations = {record["evaluation"] for record in records_of(paths, made) if "evaluation" in record}
    return Filter(plan=plan, evaluations=frozenset(evaluations))


def records_of(paths: Sequence[Path], record_filter: Filter | None = None) -> Iterator[dict[str, Any]]:
    """Yields the records of several chains, one chain after the other. Raises ConfigError as `records` does."""
    for path in paths:
        yield from records(path, record_filter)


def records(path: Path, record_filter: Filter | None = None) -> Iterator[dict[str, Any]]:
    """Yields every record that is JSON. Raises ConfigError when a file has lines but no records: it is not an audit
    file."""
    lines = count = 0
    with rotation.frozen(path) as parts:
        for line in itertools.chain.from_iterable(part.lines() for part in parts):
            lines += 1
            record = _record(line)
            if record is None:
                continue
            count += 1
            if record_filter is None or record_filter(record):
                yield record
    if lines and not count:
        raise errors.ConfigError(f"{path} holds no audit records", remedy="name the file that `audit.file` names")


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):  # a stranger's line may be nested deeper than the parser supports
        return None
    if isinstance(record, dict) and isinstance(record.get("time"), str):
        return record
    return None
