"""Owns how the values of a chart and those of a release become one: as Helm's CoalesceValues has it.

A stored release has no charts that its chart depends on, so nothing is said of these here. A null among the given
values takes the chart's value away.
"""

from __future__ import annotations

from typing import Any

__all__ = ["coalesced"]

Values = dict[str, Any]


def coalesced(chart: Values, given: Values) -> Values:
    """Returns the values that templates were rendered with. `given` is changed."""
    defaults: Values = chart.get("values") or {}
    for key, default in defaults.items():
        if key not in given:
            given[key] = default
        elif given[key] is None:
            del given[key]
        elif isinstance(given[key], dict) and isinstance(default, dict):
            _merge(given[key], default)
    return given


def _merge(given: Values, defaults: Values) -> None:
    """Adds to a table what it lacks."""
    for key, default in defaults.items():
        if key not in given:
            given[key] = default
        elif given[key] is None:
            if default is not None:
                del given[key]
        elif isinstance(given[key], dict) and isinstance(default, dict):
            _merge(given[key], default)
