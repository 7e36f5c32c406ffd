"""One question to a source: a script's call, read and checked, and the request that is sent for it."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from typing import Final

from kubescript import config, errors
from kubescript.kube import log_queries
from kubescript.sources import arguments, operations
from kubescript.wire import exchanges

__all__ = ["Question", "read"]

_RANGE_S: Final = 3_600
"""How long a range is if the script gives none."""
_STEPS: Final = 60
"""How many steps a range has if the script gives none."""
_LEAST_STEP_S: Final = 15
_SENT_NAMES: Final = {"match": "match[]"}


@dataclass(frozen=True, slots=True)
class Question:
    """One call, as it is judged and sent."""

    operation: operations.Operation
    path: str
    """The path below the source's URL."""
    query: tuple[tuple[str, str], ...]
    """What is sent, under the source's own names."""
    expression: str = ""
    label: str = ""
    """The label whose values are asked for."""
    namespace: str = ""
    limit: int = 0
    """How many series or log lines the answer may have."""
    start: float = 0.0
    end: float = 0.0
    """The range, in seconds since the epoch, where the answer has steps."""
    points: int = 0
    """How many points each series of the answer has; 0 where there are no steps."""


def read(
    kind: operations.Kind, asked: exchanges.Call, own: config.Source, now: float, *, is_ours: bool = False
) -> Question:
    """Returns the question that a call asks. `own` has the most series and points, and `now` is the source's time in
    seconds since the epoch; `is_ours` says that the door asks, not a script. Raises RequestError."""
    operation = _find_operation(kind, asked, is_ours=is_ours)
    known = frozenset((*operation.required, *operation.optional, "namespace"))
    found = arguments.read(asked.query, known, now)
    for name in operation.required:
        if name not in found:
            raise errors.RequestError(f"{asked.path[-1]} needs {name}", code="request.source")
    for name, check in () if is_ours else kind.check.items():
        for text in found.get(name, ()):
            check(text)
    is_of_logs = operation.form == "streams"
    is_of_lines = is_of_logs and log_queries.asks_for_lines(found["query"][0])
    start, end, points = _complete_range(found, now) if operation.has_steps else (0.0, 0.0, 0)
    points = 0 if is_of_lines else points
    limit = min(own.max_series, max(1, own.max_points // (points or 1)))
    wanted = found.pop("limit", [str(kind.limit or limit)])
    # Loki limits lines, and no series.
    if "limit" in operation.optional and (is_of_lines or not is_of_logs):
        limit = min(int(wanted[0]), limit)
        found["limit"] = [str(limit)]
    places = {name: urllib.parse.quote(texts[0], safe="") for name, texts in found.items()}
    return Question(
        operation,
        operation.path.format(**places),
        _list_sent(kind, operation, found),
        found.get("query", [""])[0],
        found.get("label", [""])[0],
        found.get("namespace", [""])[0],
        limit,
        start,
        end,
        points,
    )


def _find_operation(kind: operations.Kind, asked: exchanges.Call, *, is_ours: bool) -> operations.Operation:
    has_body = bytes(asked.body) != bytes(exchanges.NO_BODY)
    if asked.method != "GET" or has_body:
        raise errors.RequestError("a source is only read", code="request.source")
    is_whole = len(asked.path) == len(exchanges.SOURCES) + 2
    name = asked.path[-1] if is_whole else ""
    operation = kind.operations.get(name)
    is_reserved = name == operations.COUNT and not is_ours
    if operation is None or is_reserved:
        names = ", ".join(each for each in kind.operations if each != operations.COUNT)
        raise errors.RequestError(f"no operation {name[:40]!r}; there are {names}", code="request.source")
    return operation


def _complete_range(found: dict[str, list[str]], now: float) -> tuple[float, float, int]:
    """Returns a range, and how many points each series has in it. Adds what the script has left out: the last hour in
    sixty steps. Raises RequestError."""
    start = float(found.setdefault("start", [str(max(0.0, now - _RANGE_S))])[0])
    end = float(found.setdefault("end", [str(now)])[0])
    if end < start:
        raise errors.RequestError("the range ends before it begins; write start=, then end=", code="request.source")
    usual = max(_LEAST_STEP_S, round((end - start) / _STEPS))
    step = float(found.setdefault("step", [str(usual)])[0])
    return start, end, int((end - start) // step) + 1


def _list_sent(
    kind: operations.Kind, operation: operations.Operation, found: dict[str, list[str]]
) -> tuple[tuple[str, str], ...]:
    """Returns the query string's pairs."""
    sent = []
    for name, texts in found.items():
        own = [kind.write_time(float(text)) for text in texts] if name in arguments.MOMENTS else texts
        if f"{{{name}}}" not in operation.path:
            sent += [(_SENT_NAMES.get(name, name), text) for text in own]
    return tuple(sent)
