"""One question to a source: a script's call, read and checked, and the request that is sent for it."""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kubescript import config, errors
from kubescript.sources import arguments, expressions, moments, operations
from kubescript.wire import exchanges

__all__ = ["Question", "read"]

_STEPS: Final = 60
"""How many steps a range has if the script gives none."""
_LEAST_STEP_S: Final = 15.0
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
    clock = arguments.Clock(now, kind.write_time)
    given = _complete(operation, asked.query, clock.now)
    found = arguments.read(given, known, clock)
    for name in operation.required:
        if name not in found:
            raise errors.RequestError(f"{asked.path[-1]} needs {name}", code="request.source")
    for name, check in () if is_ours else kind.check.items():
        for text in found.get(name, ()):
            check(text)
    is_of_logs = operation.form == "streams"
    is_of_lines = is_of_logs and expressions.asks_for_lines(found["query"][0])
    start, end, points = (0.0, 0.0, 0) if is_of_lines else _count_points(operation, dict(given), clock.now)
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
        _list_sent(operation, found),
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


def _complete(
    operation: operations.Operation, given: tuple[tuple[str, str], ...], now: float
) -> tuple[tuple[str, str], ...]:
    """Returns the arguments with the last hour in sixty steps where a range is needed and not given. Raises
    RequestError."""
    if not operation.has_range:
        return given
    texts = {"start": "-1h", "end": "now"} | dict(given)
    start, end = _read_range(texts, now)
    texts.setdefault("step", str(max(_LEAST_STEP_S, round((end - start) / _STEPS))))
    names = {name for name, _ in given}
    return (*given, *(pair for pair in texts.items() if pair[0] not in names))


def _read_range(texts: Mapping[str, str], now: float) -> tuple[float, float]:
    """Returns the beginning and the end of a range, in seconds since the epoch. Raises RequestError."""
    start, end = moments.moment(texts["start"], now), moments.moment(texts["end"], now)
    if end < start:
        raise errors.RequestError("the range ends before it begins; write start=, then end=", code="request.source")
    return start, end


def _count_points(operation: operations.Operation, texts: Mapping[str, str], now: float) -> tuple[float, float, int]:
    """Returns a range, and how many points each series has in it; 0 where there are no steps."""
    if not operation.has_steps:
        return 0.0, 0.0, 0
    start, end = _read_range(texts, now)
    return start, end, int((end - start) // moments.duration(texts["step"])) + 1


def _list_sent(operation: operations.Operation, found: Mapping[str, list[str]]) -> tuple[tuple[str, str], ...]:
    """Returns the query string's pairs."""
    sent = []
    for name, texts in found.items():
        if f"{{{name}}}" not in operation.path:
            sent += [(_SENT_NAMES.get(name, name), text) for text in texts]
    return tuple(sent)
