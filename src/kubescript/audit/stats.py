"""Totals over the records of a chain. `kubescript audit stats` prints them."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from typing import Any

from kubescript.audit import format as audit_format
from kubescript.output import sanitizing

__all__ = ["as_text", "sum_up"]


class _Sums:
    """Totals and samples of the records read so far."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.clients: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()
        self.not_allowed: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.redactions: Counter[str] = Counter()
        self.fetched_bytes = 0
        self.answer_bytes = 0
        self.script_ms: list[float] = []
        self.call_ms: list[float] = []

    def add(self, record: dict[str, Any]) -> None:
        """Adds one record; only those of scripts and calls count."""
        if record["type"] == "script":
            self._add_script(record)
        elif record["type"] == "call":
            self._add_call(record)

    def _add_script(self, record: dict[str, Any]) -> None:
        self.outcomes[record["code"]] += 1
        client = audit_format.client(record)
        self.clients[client] += 1
        # A script that did not run has no answer and no duration.
        self.answer_bytes += record.get("answer_bytes", 0)
        self.script_ms.append(record.get("ms", 0.0))

    def _add_call(self, record: dict[str, Any]) -> None:
        """Counts one call, or the denials that one record represents."""
        # Repeated denials within a script share a record.
        count = record.get("count", 1)
        target = _target_kind(record)
        self.asked[target] += count
        self.fetched_bytes += record["bytes"]
        self.redactions.update(record["redactions"])
        # A call that was not allowed was never sent, so it has no latency.
        if record["decision"] != "allow":
            reason = record["rule"] or record["fault"]
            self.not_allowed[reason] += count
            return
        self.call_ms.append(record["ms"])
        if record["fault"]:
            self.failed[record["fault"]] += 1
        elif record["status"] >= 400:
            self.failed[str(record["status"])] += 1


def sum_up(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Returns counts, sizes and latencies of these records."""
    sums = _Sums()
    for record in records:
        sums.add(record)
    return {
        "scripts": sums.outcomes.total(),
        "calls": sums.asked.total(),
        "outcomes": dict(sums.outcomes.most_common()),
        "clients": dict(sums.clients.most_common()),
        "asked": dict(sums.asked.most_common()),
        "not_allowed": dict(sums.not_allowed.most_common()),
        "failed": dict(sums.failed.most_common()),
        "redactions": dict(sums.redactions.most_common()),
        "fetched_bytes": sums.fetched_bytes,
        "answer_bytes": sums.answer_bytes,
        "script_ms": _spread(sums.script_ms),
        "call_ms": _spread(sums.call_ms),
    }


def as_text(sums: dict[str, Any]) -> str:
    """Returns the sums in human-readable form, one per line, without empty ones."""
    lines = []
    for name, value in sums.items():
        if value in ({}, None):
            continue
        text = _value_as_text(value)
        # The names in the text come from a file that a stranger may have written.
        lines.append(sanitizing.printable(f"{name:<14} {text}"))
    return "\n".join(lines)


def _target_kind(record: dict[str, Any]) -> str:
    """Returns a call's target without the names of objects: `list pods`."""
    is_object = "resource" in record and "path" not in record
    if is_object:
        record = record | {"namespace": "", "name": ""}
    return audit_format.target(record)


def _spread(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    ranks = values * 99
    if len(values) > 1:  # `quantiles` refuses a single value
        ranks = statistics.quantiles(values, n=100, method="inclusive")
    return {
        "p50": round(ranks[49], 1),
        "p95": round(ranks[94], 1),
        "max": max(values),
    }


def _value_as_text(value: Any) -> str:
    if not isinstance(value, dict):
        return f"{value:,}"
    parts = [f"{name} {count}" for name, count in value.items()]
    return ", ".join(parts)
