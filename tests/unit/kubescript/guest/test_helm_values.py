"""How values of Helm are put together, on their own: what the real Helm is too slow to be asked for."""

from __future__ import annotations

from typing import Any

from kubescript.guest.helm import release


def test_given_values_hold_and_null_takes_away() -> None:
    """At each depth; a null for what the chart has not stays at depths but the first."""
    chart = {"values": {"a": {"b": 1, "c": {"d": 2}}, "e": 3, "f": {"g": 4}, "n": None}}
    given: dict[str, Any] = {"a": {"b": None, "c": {"d": 5}, "x": None}, "e": None, "f": "text"}
    assert release.coalesce(chart, given) == {"a": {"c": {"d": 5}, "x": None}, "f": "text", "n": None}
