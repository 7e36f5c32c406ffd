"""Turns what a source says of a failed query into an exception of one line."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubescript.guest.sdk.values import exceptions, masks

__all__ = ["from_answer", "unreadable"]

_LONGEST: Final = 600
"""How many characters of a source's message are shown."""
_HINTS: Final = (
    ("not supported as an instant query", "write loki.query_range(q, ...) for lines; loki.query(q) counts them"),
    ('expression type "range vector" for range query', "write rate(x[5m]), or x without [5m]: step makes the points"),
    ("exceeded maximum resolution", "take a longer step, or leave it out"),
    ("many-to-many matching not allowed", "write on(...) group_left(...), or aggregate one side with max by (...)"),
    ("at least one regexp or equality matcher", 'name a label of the streams: {namespace="shop"}'),
    ("max entries limit", "take a smaller limit, or count: sum by (pod) (count_over_time({...}[5m]))"),
    ("query time range exceeds the limit", "take a later start"),
)
"""Parts of sources' messages, and what to do instead."""


def from_answer(status: int, reason: str, body: bytearray, call: str) -> exceptions.ApiException:
    """Returns the exception for an answer of 400 and above."""
    text = masks.note(body.decode("utf-8", "replace"))
    message = " ".join(_message(text).split())[:_LONGEST]
    error_class = exceptions.class_for(status)
    error = error_class(status, reason or exceptions.phrase(status), body=text, message=message, call=call)
    hint = next((advice for part, advice in _HINTS if part in message), "")
    if hint:
        error._advice = lambda: hint
    return error


def unreadable(call: str, why: object) -> exceptions.ApiException:
    """Returns the exception for an answer that is not what a source of this kind sends."""
    message = f"the answer is not what a source of this kind sends: {why}"
    return exceptions.ApiException(0, "unreadable answer", message=message, code="source.unreadable", call=call)


def _message(text: str) -> str:
    """Returns the message within JSON, and any other text unchanged."""
    try:
        found: Any = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
    if isinstance(found, dict):
        # Prometheus and Loki write `error`, Alertmanager and Tempo `message`.
        found = found.get("error") or found.get("message")
    return found if isinstance(found, str) else text
