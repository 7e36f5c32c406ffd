"""The section `Events`: the object's events, newest last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject, texts
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.wire import messages

__all__ = ["about", "find_last_time", "write"]

# kubectl prints all events. Here a note says how many older ones there are.
MAX_EVENTS: Final = 20
_HEAD: Final = ("Type", "Reason", "Age", "From", "Message")
_MIRROR: Final = "kubernetes.io/config.mirror"


def about(described: Object, events: Sequence[Object]) -> list[Object]:
    """Returns this object's events without those of an earlier object of the same name."""
    metadata = described.get("metadata") or {}
    uid = metadata.get("uid")
    if not uid:
        return list(events)
    # The kubelet's events refer to nodes by name, and to static pods by their manifest's hash.
    annotations = metadata.get("annotations") or {}
    uids = {uid, annotations.get(_MIRROR)}
    if described.get("kind") == "Node":
        uids.add(metadata.get("name"))
    return [event for event in events if _involved_object(event).get("uid") in uids]


def _involved_object(event: Object) -> Any:
    """Returns the reference to the object that an event is about."""
    return event.get("involvedObject") or {}


def write(out: Writer, events: Sequence[Object] | Exception) -> None:
    """Writes the newest events."""
    if isinstance(events, Exception):
        note = subject.describe_failure(events)
        out.field("Events", note)
        return
    if not events:
        out.field("Events", "<none>")
        return
    shown = sorted(events, key=find_last_time)[-MAX_EVENTS:]
    older = len(events) - len(shown)
    out.title("Events")
    if older:
        note = messages.text("describe_older_events", count=older)
        out.row(note, level=1)
    out.table(_HEAD, [_row(event) for event in shown])


def find_last_time(event: Object) -> str:
    """Returns when an event was last seen, in a format whose alphabetical order is that of time."""
    series = event.get("series") or {}
    stamp = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return stamp or ""


def _row(event: Object) -> tuple[str, ...]:
    """Returns the cells of an event, in the order of `_HEAD`."""
    kind, reason = texts.values(event, "type", "reason")
    return kind, reason, _age(event), _reporter(event), _message(event)


def _reporter(event: Object) -> str:
    """Returns which component has reported an event."""
    # Events of the older API have a source, those of the newer one a reporting component.
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent")
    return texts.text(component)


def _message(event: Object) -> str:
    """Returns an event's message, preceded by the part of the object that it is about, such as a container."""
    message = texts.text(event.get("message")).strip()
    field = _involved_object(event).get("fieldPath")
    if not field:
        return message
    return f"{field}: {message}"


def _age(event: Object) -> str:
    """Returns when an event was last seen, how often, and over which time, such as `5m (x12 over 3h)`."""
    first = texts.since(event.get("eventTime") or event.get("firstTimestamp"))
    series = event.get("series")
    if series:
        last = texts.since(series.get("lastObservedTime"))
        return f"{last} (x{series.get('count', 0)} over {first})"
    count = event.get("count") or 0
    if count <= 1:
        return first
    last = texts.since(event.get("lastTimestamp"))
    return f"{last} (x{count} over {first})"
