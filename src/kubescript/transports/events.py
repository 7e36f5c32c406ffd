"""Keeps the last events of streams, so that a client whose connection broke gets what it has missed (Last-Event-ID)."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import mcp_types
from mcp.server import streamable_http

__all__ = ["Events"]

_MOST: Final = 256
"""Events of one caller."""
_MAX_BYTES: Final = 4 << 20
"""Bytes of them together, as JSON."""


@dataclass(frozen=True, slots=True)
class _Event:
    stream: str
    message: mcp_types.JSONRPCMessage | None
    size: int


class Events(streamable_http.EventStore):
    """The events of one caller's streams, the oldest first. Nobody else can name one: each caller has a store."""

    def __init__(self) -> None:
        self._events: OrderedDict[str, _Event] = OrderedDict()
        self._size = 0

    async def store_event(self, stream_id: str, message: mcp_types.JSONRPCMessage | None) -> str:
        """Keeps an event, and forgets the oldest where there are too many; returns its id."""
        size = len(message.model_dump_json()) if message is not None else 0
        event_id = secrets.token_urlsafe(12)
        self._events[event_id] = _Event(stream_id, message, size)
        self._size += size
        while len(self._events) > _MOST or self._size > _MAX_BYTES:
            _, oldest = self._events.popitem(last=False)
            self._size -= oldest.size
        return event_id

    async def replay_events_after(self, last_event_id: str, send_callback: streamable_http.EventCallback) -> str | None:
        """Sends what came after an event in its stream; returns the stream. None when the event is forgotten."""
        last = self._events.get(last_event_id)
        if last is None:
            return None
        names = list(self._events)
        for event_id in names[names.index(last_event_id) + 1 :]:
            event = self._events.get(event_id)
            if event is not None and event.stream == last.stream and event.message is not None:
                await send_callback(streamable_http.EventMessage(event.message, event_id))
        return last.stream
