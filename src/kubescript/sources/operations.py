"""The operations of each kind of source: fixed paths, and the arguments that each takes.

Only these requests are ever sent. Each is a GET, so that it may be repeated and needs no right to change anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from kubescript.sources import expressions
from kubescript_masking.wire import masking

__all__ = ["COUNT", "KINDS", "Kind", "Operation"]

_Check = Callable[[str], None]
"""Refuses an expression. Raises RequestError."""
COUNT: Final = "count"
"""The operation by which the door itself counts the series of a query; no script can name it."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One request that a source answers."""

    path: str
    """The path below the source's URL, with the places `{label}` and `{id}`."""
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    form: masking.Form = "json"
    """How the answer is masked."""
    has_steps: bool = False
    """Whether the source needs a beginning and an end, and answers with a point for each step between them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of source."""

    operations: Mapping[str, Operation]
    write_time: Callable[[float], str]
    """Writes a time in seconds as the source takes it."""
    check: Mapping[str, _Check]
    """Further checks of arguments, by name."""
    version: str
    """The path of the document that says which version runs, for `doctor`."""
    limit: int | None = None
    """The limit that is sent if a script gives none; None: the setting's maximum."""


def _seconds(moment: float) -> str:
    return f"{moment:.3f}".rstrip("0").rstrip(".")


def _whole_seconds(moment: float) -> str:
    return str(int(moment))


def _nanoseconds(moment: float) -> str:
    # A float has too few digits for nanoseconds; microseconds are what Python's datetime has.
    return f"{round(moment * 1_000_000)}000"


_RANGE: Final = ("start", "end")
_PROMETHEUS: Final = Kind(
    {
        "query": Operation("/api/v1/query", ("query",), ("time", "limit"), "series"),
        "query_range": Operation(
            "/api/v1/query_range", ("query",), (*_RANGE, "step", "limit"), "series", has_steps=True
        ),
        COUNT: Operation("/api/v1/query", ("query",), ("time",), "count"),
        "series": Operation("/api/v1/series", ("match",), (*_RANGE, "limit"), "series"),
        "labels": Operation("/api/v1/labels", (), ("match", *_RANGE, "limit"), "series"),
        "label_values": Operation("/api/v1/label/{label}/values", ("label",), ("match", *_RANGE, "limit"), "series"),
        "rules": Operation("/api/v1/rules", (), ("type",), "series"),
        "alerts": Operation("/api/v1/alerts", form="series"),
        "targets": Operation("/api/v1/targets", (), ("state",), "series"),
        "metadata": Operation("/api/v1/metadata", (), ("metric",), "series"),
    },
    _seconds,
    {
        "query": expressions.check_metric_query,
        "match": expressions.check_metric_query,
        "label": expressions.check_label,
    },
    "/api/v1/status/buildinfo",
)
_ALERTMANAGER: Final = Kind(
    {
        "alerts": Operation(
            "/api/v2/alerts", (), ("filter", "active", "silenced", "inhibited", "unprocessed", "receiver")
        ),
        "silences": Operation("/api/v2/silences", (), ("filter",)),
    },
    _seconds,
    {},
    "/api/v2/status",
)
_LOKI: Final = Kind(
    {
        "query": Operation("/loki/api/v1/query", ("query",), ("time", "limit", "direction"), "streams"),
        "query_range": Operation(
            "/loki/api/v1/query_range",
            ("query",),
            (*_RANGE, "step", "limit", "direction"),
            "streams",
            has_steps=True,
        ),
        "labels": Operation("/loki/api/v1/labels", (), _RANGE, "series"),
        "label_values": Operation("/loki/api/v1/label/{label}/values", ("label",), (*_RANGE, "query"), "series"),
        "series": Operation("/loki/api/v1/series", ("match",), _RANGE, "series"),
    },
    _nanoseconds,
    {"query": expressions.check_log_query, "match": expressions.check_log_query},
    "/loki/api/v1/status/buildinfo",
    limit=1_000,
)
_TEMPO: Final = Kind(
    {
        "search": Operation("/api/search", (), ("q", *_RANGE, "limit"), "spans"),
        "trace": Operation("/api/traces/{id}", ("id",), form="spans"),
    },
    _whole_seconds,
    {},
    "/api/status/buildinfo",
    limit=100,
)
KINDS: Final[Mapping[str, Kind]] = {
    "prometheus": _PROMETHEUS, "alertmanager": _ALERTMANAGER, "loki": _LOKI, "tempo": _TEMPO,
}  # fmt: skip
