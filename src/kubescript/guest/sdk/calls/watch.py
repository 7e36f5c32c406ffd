"""Provides `watch.Watch().stream(method, ...)`: the events of a short watch, one at a time. resources.py also watches
with `events`.

A watch ends after the script's `timeout_seconds`, by default `DEFAULT_SECONDS`, and always before the script's own
deadline.
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

# The default is small because a script's own time is short.
DEFAULT_SECONDS: Final = 5
_SPARE_SECONDS: Final = 2
"""How many seconds are left to a script after its longest watch."""


def events(session: sessions.Session, call: Call, shape: schemas.Shape) -> Iterator[dict[str, Any]]:
    """Yields each event as {"type", "object", "raw_object"}. Raises ApiException for an ERROR event, as the official
    client does."""
    limited = _limit_time(call, session.seconds_left)
    lines, reply = session.stream(limited)
    typed = sessions.restrict_shape(shape, reply)
    free = sessions.restrict_shape(schemas.OBJECT, reply)
    for line in lines:
        if not line.strip():
            continue
        event = lazy_json.decode_all(line)
        kind = event["type"]
        data = event["object"]
        if kind == "ERROR":
            message = data.get("message") or ""
            raise exceptions.ApiException(data.get("code"), data.get("reason"), message=message)
        yield {
            "type": kind,
            "object": views.wrap(data, typed),
            "raw_object": views.wrap(data, free),
        }


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
        # Scripts pass these options to the official Watch; here they have no effect.
        for name in ("watch", "follow", "_request_timeout", "_preload_content", "deserialize"):
            kwargs.pop(name, None)
        if isinstance(method, methods.Method) and method.is_text:
            session, call, _ = method._watch(args, kwargs)
            return self._follow(_lines(session, call))
        if "timeout_seconds" not in kwargs and "timeoutSeconds" not in kwargs:
            kwargs["timeout_seconds"] = DEFAULT_SECONDS
        session, call, shape = method._watch(args, kwargs)
        return self._follow(events(session, call, shape))

    def _follow(self, found: Iterator[Any]) -> Iterator[Any]:
        """Yields events or lines until the script stops the watch."""
        for each in found:
            if isinstance(each, dict):
                metadata = each["raw_object"].get("metadata") or {}
                version = metadata.get("resourceVersion")
                self.resource_version = version or self.resource_version
            yield each
            if self._stopped:
                return


def _limit_time(call: Call, left: float) -> Call:
    """Returns the watch with a time limit that leaves the script time to return the events."""
    query = dict(call.query)
    longest = left - _SPARE_SECONDS
    wanted = int(query.get("timeoutSeconds") or 0)
    if wanted <= longest:
        return call
    query["timeoutSeconds"] = str(max(1, int(longest)))
    pairs = tuple(query.items())
    return msgspec.structs.replace(call, query=pairs)


def _lines(session: sessions.Session, call: Call) -> Iterator[str]:
    for line in session.lines(call):
        text = line.decode("utf-8", "replace")
        yield masks.note(text)
