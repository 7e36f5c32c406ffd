"""What a record adds up to."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable
from typing import Any

from kubescript.audit import format as audit_format
from kubescript.output import sanitizing

__all__ = ["as_text", "summed"]


class _Sums:
    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.clients: Counter[str] = Counter()
        self.requests: Counter[str] = Counter()
        self.not_allowed: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        self.redactions: Counter[str] = Counter()
        self.fetched_bytes = self.answer_bytes = 0
        self.script_ms: list[float] = []
        self.call_ms: list[float] = []

    def script(self, record: dict[str, Any]) -> None:
        self.outcomes[record["code"]] += 1
        self.clients[" ".join(filter(None, (record["client"], record["client_version"]))) or "?"] += 1
        self.answer_bytes += record.get("answer_bytes", 0)
        self.script_ms.append(record.get("ms", 0.0))

    def call(self, record: dict[str, Any]) -> None:
        self.requests[_kind(record)] += 1
        self.fetched_bytes += record["bytes"]
        self.redactions.update(record["redactions"])
        if record["decision"] != "allow":
            self.not_allowed[record["rule"] or record["fault"]] += 1
            return
        self.call_ms.append(record["ms"])
        why = record["fault"] or (str(record["status"]) if record["status"] >= 400 else "")
        if why:
            self.failed[why] += 1


def summed(records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Counts, sizes and latencies of these records."""
    sums = _Sums()
    for record in records:
        if record["type"] in {"script", "call"}:
            getattr(sums, record["type"])(record)
    counted = {name: dict(value.most_common()) for name, value in vars(sums).items() if isinstance(value, Counter)}
    spread = {name: _spread(value) for name, value in vars(sums).items() if isinstance(value, list)}
    totals = {"scripts": sums.outcomes.total(), "calls": sums.requests.total()}
    sizes = {"fetched_bytes": sums.fetched_bytes, "answer_bytes": sums.answer_bytes}
    return totals | counted | sizes | spread


def as_text(sums: dict[str, Any]) -> str:
    """A line each."""
    return "\n".join(
        sanitizing.printable(f"{name:<14} {_values_as_text(value)}")
        for name, value in sums.items()
        if value not in ({}, None)
    )


def _kind(record: dict[str, Any]) -> str:
    if "resource" in record and "path" not in record:
        return audit_format.target({**record, "namespace": "", "name": ""})
    return audit_format.target(record)


def _spread(values: list[float]) -> dict[str, float]:
    if not values:
        return {}
    ranks = statistics.quantiles(values, n=100, method="inclusive") if len(values) > 1 else values * 99
    return {"p50": round(ranks[49], 1), "p95": round(ranks[94], 1), "max": max(values)}


def _values_as_text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {count}" for name, count in value.items())
    return f"{value:,}"
