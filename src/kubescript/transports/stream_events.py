"""Keeps the last events of streams, so that a client whose connection broke gets those that it missed
(Last-Event-ID)."""

from __future__ import annotations

import contextlib
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

import mcp_types
from mcp.server import streamable_http

from kubescript import errors
from kubescript.transports import retained

__all__ = ["Events"]

_MOST: Final = 256
"""The maximum number of events of one seat."""
_MAX_BYTES: Final = 4 << 20
"""The maximum size of these events together, in bytes."""
_EVENT: Final = 1 << 10
"""Bytes of an event in addition to its texts."""


@dataclass(frozen=True, slots=True)
class _Event:
    session: _OfSession
    stream: str
    message: bytes
    """JSON; empty for an event that only begins a stream."""
    kept: retained.Kept


class Events:
    """The events of one caller's streams, the oldest first. Other callers cannot name them: each has a separate
    store."""

    def __init__(self, budget: retained.Budget) -> None:
        """`budget` is the caller's, against which events count."""
        self._events: OrderedDict[str, _Event] = OrderedDict()
        self._size = 0
        self._budget = budget

    def open_store(self) -> streamable_http.EventStore:
        """Returns the store of the events of a new session."""
        return _OfSession(self)

    def store(self, session: _OfSession, stream_id: str, message: mcp_types.JSONRPCMessage | None) -> str:
        """Keeps an event, and drops the oldest when there are too many; returns its id."""
        text = b""
        if message is not None:
            text = message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        event_id = secrets.token_urlsafe(12)
        # A stream's name is a request's id. Attack: a client sends ids of 2 MiB.
        size = _EVENT + len(text) + len(stream_id)
        # If there is no room, no client can resume from here, but the stream continues.
        with contextlib.suppress(errors.Busy):
            kept = self._budget.keep(size, lambda: self._drop(event_id))
            self._events[event_id] = _Event(session, stream_id, text, kept)
            self._size += size
        while len(self._events) > _MOST or self._size > _MAX_BYTES:
            oldest = next(iter(self._events))
            self._budget.forget(self._events[oldest].kept)
            self._drop(oldest)
        return event_id

    async def replay(
        self, session: _OfSession, last_event_id: str, send_callback: streamable_http.EventCallback
    ) -> str | None:
        """Sends the events after a given one in its stream; returns the stream. None if the event has been dropped, or
        is another session's."""
        last = self._events.get(last_event_id)
        if last is None or last.session is not session:
            return None
        names = list(self._events)
        for event_id in names[names.index(last_event_id) + 1 :]:
            event = self._events.get(event_id)
            if event is None or event.session is not session:
                continue
            if event.stream == last.stream and event.message:
                message = mcp_types.jsonrpc_message_adapter.validate_json(event.message, by_name=False)
                await send_callback(streamable_http.EventMessage(message, event_id))
        return last.stream

    def clear(self) -> None:
        """Drops all events."""
        for event in self._events.values():
            self._budget.forget(event.kept)
        self._events.clear()
        self._size = 0

    def _drop(self, event_id: str) -> None:
        event = self._events.pop(event_id)
        self._size -= event.kept.size


class _OfSession(streamable_http.EventStore):
    """The events of one session's streams."""

    # Attack: streams are named by request ids, which every client counts from 0. A client that resumed its own stream
    # got another's answers and forms, and its answer to another's form approved its own plan.

    def __init__(self, events: Events) -> None:
        self._events = events

    async def store_event(self, stream_id: str, message: mcp_types.JSONRPCMessage | None) -> str:
        """Keeps an event; returns its id."""
        return self._events.store(self, stream_id, message)

    async def replay_events_after(self, last_event_id: str, send_callback: streamable_http.EventCallback) -> str | None:
        """Sends the events after a given one in its stream; returns the stream."""
        return await self._events.replay(self, last_event_id, send_callback)
