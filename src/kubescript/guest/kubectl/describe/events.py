"""The section `Events`: the object's events, newest last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubescript.guest.kubectl.describe import text_writer, texts
from kubescript.guest.sdk.values import exceptions
from kubescript.wire import messages

__all__ = ["about", "find_last_time", "write"]

MAX_EVENTS: Final = 20
_HEAD: Final = ("Type", "Reason", "Age", "From", "Message")
_MIRROR: Final = "kubernetes.io/config.mirror"


def about(described: texts.Object, events: Sequence[texts.Object]) -> list[texts.Object]:
    """Returns this object's events, without those of an earlier object with the same name."""
    metadata = described.get("metadata") or {}
    uid = metadata.get("uid")
    if not uid:
        return list(events)
    # The kubelet's events refer to nodes by name, and to static pods by their manifest's hash.
    named = {uid, (metadata.get("annotations") or {}).get(_MIRROR)}
    if described.get("kind") == "Node":
        named.add(metadata.get("name"))
    return [event for event in events if (event.get("involvedObject") or {}).get("uid") in named]


def write(out: text_writer.Writer, events: Sequence[texts.Object] | Exception) -> None:
    """Writes the newest events."""
    if isinstance(events, Exception):
        reason = events.message if isinstance(events, exceptions.ApiException) else str(events)
        out.field("Events", messages.text("describe_not_read", reason=reason))
        return
    if not events:
        out.field("Events", "<none>")
        return
    shown = sorted(events, key=find_last_time)[-MAX_EVENTS:]
    out.title("Events")
    if len(shown) < len(events):
        out.row(messages.text("describe_older_events", count=len(events) - len(shown)), level=1)
    out.table(_HEAD, [_row(event) for event in shown])


def find_last_time(event: texts.Object) -> str:
    """Returns when an event was last seen; the text format sorts by time."""
    series = event.get("series") or {}
    stamps = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return next((stamp for stamp in stamps if stamp), "")


def _row(event: texts.Object) -> tuple[str, ...]:
    source = (event.get("source") or {}).get("component") or event.get("reportingComponent")
    message = texts.text(event.get("message")).strip()
    if field := (event.get("involvedObject") or {}).get("fieldPath"):
        message = f"{field}: {message}"
    kind = texts.text(event.get("type"))
    reason = texts.text(event.get("reason"))
    return kind, reason, _age(event), texts.text(source), message


def _age(event: texts.Object) -> str:
    first = texts.since(event.get("eventTime") or event.get("firstTimestamp"))
    series, count = event.get("series"), event.get("count") or 0
    if series:
        return f"{texts.since(series.get('lastObservedTime'))} (x{series.get('count', 0)} over {first})"
    if count > 1:
        return f"{texts.since(event.get('lastTimestamp'))} (x{count} over {first})"
    return first
