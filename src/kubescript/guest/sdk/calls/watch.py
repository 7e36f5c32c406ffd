"""Owns `watch.Watch().stream(method, ...)`: the events of a short watch, one at a time. resources.py watches with
`events` too.

A watch ends after the seconds that the script asks for, `DEFAULT_SECONDS` if it asks for none, and always before the
script itself ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubescript.guest.sdk.calls import methods
from kubescript.guest.sdk.calls import session as sessions
from kubescript.guest.sdk.objects import schemas, views
from kubescript.guest.sdk.values import exceptions, lazy_json, masks
from kubescript.wire.exchanges import Call

__all__ = ["DEFAULT_SECONDS", "Watch", "events"]

# Short, because a script itself is short.
DEFAULT_SECONDS: Final = 5
_SPARE_SECONDS: Final = 2
"""Seconds that a script has left after its longest watch."""


def events(session: sessions.Session, call: Call, shape: schemas.Shape) -> Iterator[dict[str, Any]]:
    """Yields each event as {"type", "object", "raw_object"}. Raises ApiException for an ERROR event, as the official
    client does."""
    lines, reply = session.stream(_in_time(call, session.seconds_left))
    shape, free = sessions.restrict_shape(shape, reply), sessions.restrict_shape(schemas.OBJECT, reply)
    for line in lines:
        if not line.strip():
            continue
        event = lazy_json.decode_all(line)
        if event["type"] == "ERROR":
            status = event["object"]
            raise exceptions.ApiException(status.get("code"), status.get("reason"), message=status.get("message") or "")
        plain = views.wrap(event["object"], free)
        yield {"type": event["type"], "object": views.wrap(event["object"], shape), "raw_object": plain}


class Watch:
    """The official Watch: `for event in Watch().stream(k8s.coreV1().list_namespaced_pod, "shop"): ...`."""

    def __init__(self, return_type: object = None) -> None:
        self._stopped = False
        self.resource_version: str | None = None

    def stop(self) -> None:
        """End the stream after the current event."""
        self._stopped = True

    def stream(self, method: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        """Events of a list method, or the lines of a log."""
        if not isinstance(method, methods.Watchable):
            raise TypeError(
                "Watch().stream takes a list method without calling it, such as k8s.coreV1().list_namespaced_pod"
            )
        self._stopped = False
        # Options that scripts pass to the official Watch and that are settled here.
        for name in ("watch", "follow", "_request_timeout", "_preload_content", "deserialize"):
            kwargs.pop(name, None)
        if isinstance(method, methods.Method) and method.is_text:
            return self._follow(_lines(*method._watch(args, kwargs)))
        if "timeout_seconds" not in kwargs and "timeoutSeconds" not in kwargs:
            kwargs["timeout_seconds"] = DEFAULT_SECONDS
        return self._follow(events(*method._watch(args, kwargs)))

    def _follow(self, found: Iterator[Any]) -> Iterator[Any]:
        for each in found:
            if isinstance(each, dict):
                metadata = each["raw_object"].get("metadata")
                self.resource_version = (metadata.get("resourceVersion") if metadata else None) or self.resource_version
            yield each
            if self._stopped:
                return


def _in_time(call: Call, left: float) -> Call:
    """Returns the watch with an end while the script can still return what it has received."""
    query = dict(call.query)
    if int(query.get("timeoutSeconds") or 0) <= left - _SPARE_SECONDS:
        return call
    query["timeoutSeconds"] = str(max(1, int(left - _SPARE_SECONDS)))
    return msgspec.structs.replace(call, query=tuple(query.items()))


def _lines(session: sessions.Session, call: Call, _shape: schemas.Shape) -> Iterator[str]:
    for line in session.lines(call):
        yield masks.note(line.decode("utf-8", "replace"))
