"""The bytes of a caller that the server keeps during and between requests, counted in one budget per caller.

Everything that keeps a caller's bytes takes them out of the same budget: sessions, events for resumption, requests that
are answered or wait, answers that no client reads. The budget is keyed by the caller's authenticated name; where
callers need no credential, all share one. More sessions, streams, tokens or endpoints therefore give no more memory.

When a budget is full, the entries that have been idle longest are dropped. Entries in use are never dropped: a request
without room is refused.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kubescript import config, errors
from kubescript_sandbox.wire import outline

__all__ = ["LONG_INITIALIZE", "MAX_INITIALIZE", "REQUEST", "Budget", "Kept", "Part", "most", "weight"]

# Clients send 200 to 500 bytes. Attack: a caller sends `clientInfo` of 2 MiB in each of 512 sessions, which took a
# server from 80 to 2,113 MiB and held it for half an hour.
MAX_INITIALIZE: Final = 16 << 10
"""The maximum size in bytes of `initialize`, which the SDK keeps as long as the session."""
LONG_INITIALIZE: Final = (
    f"initialize has more than {MAX_INITIALIZE} bytes, and a server keeps it for the whole session: send fewer "
    "capabilities, and a clientInfo without data: URLs"
)

_BASE: Final = 32 << 20
"""Bytes of a budget in addition to those of its sessions."""
# A session's tasks and streams, measured as 40 to 50 KiB.
_SESSION: Final = 64 << 10
"""Bytes of a session in addition to its client's message."""
REQUEST: Final = 16 << 10
"""Bytes of a request or an open stream in addition to its body."""
# The received copy, two copies in the SDK and Starlette, and the decoded one.
_COPIES: Final = 4
"""How many copies of a body are held."""
# Attack: a client sends 16 KiB of empty objects, which take 400 KiB.
_VALUE: Final = 256
"""Bytes that a value takes in addition to its text."""
_SEPARATORS: Final = b",[{"
_OTHERS: Final = bytes(set(range(256)) - set(_SEPARATORS))


def most(limits: config.Http) -> int:
    """Returns the bytes of one caller's budget: enough for all the sessions that a caller may have."""
    return _BASE + limits.max_sessions * _SESSION


def weight(body: bytes, most_values: int) -> int | None:
    """Returns the bytes that a JSON body takes once decoded; None when it has more than `most_values`, or numbers so
    long that reading them takes too much time."""
    bare = outline.outline(body, most_values)
    if bare is None or outline.has_long_numbers(bare):
        return None
    return _COPIES * len(body) + _VALUE * len(bare.translate(None, _OTHERS))


@dataclass(eq=False, slots=True)
class Kept:
    """An entry that is kept, and may be dropped."""

    size: int
    drop: Callable[[], object]
    """Drops the entry; the budget calls it."""
    users: int = 0
    """The number of its current users; while there are any, the entry is not dropped."""
    is_counted: bool = True
    least: int = 0
    """The part of its size that never shrinks."""


class Budget:
    """The byte budget of one caller. Used by one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._in_use = 0
        self._unused = 0
        self._idle: OrderedDict[Kept, None] = OrderedDict()
        """Entries that are not in use, the longest idle first."""

    @property
    def held(self) -> int:
        """Bytes that are counted now."""
        return self._in_use + self._unused

    def keep(self, size: int, drop: Callable[[], object]) -> Kept:
        """Counts an entry until it is forgotten, or dropped to make room. Raises Busy when there is no room."""
        self._make_room(size)
        kept = Kept(size, drop, least=size)
        self._set_idle(kept)
        return kept

    def forget(self, kept: Kept) -> None:
        """Stops counting an entry."""
        if not kept.is_counted:
            return
        kept.is_counted = False
        if kept.users:
            self._in_use -= kept.size
        else:
            del self._idle[kept]
            self._unused -= kept.size

    def resize(self, kept: Kept, size: int) -> None:
        """Sets the size of an entry in use. Raises Busy when there is no room."""
        if kept.is_counted:
            self._make_room(size - kept.size)
            self._in_use += size - kept.size
            kept.size = size

    @contextlib.contextmanager
    def using(self, kept: Kept) -> Iterator[None]:
        """Keeps the entry from being dropped inside the block; afterwards it is the most recently used."""
        if not kept.users and kept.is_counted:
            del self._idle[kept]
            self._unused -= kept.size
            self._in_use += kept.size
        kept.users += 1
        try:
            yield
        finally:
            kept.users -= 1
            if not kept.users and kept.is_counted:
                self._in_use -= kept.size
                self._set_idle(kept)

    @contextlib.contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """Counts `size` bytes as in use inside the block. Raises Busy when there is no room."""
        self._make_room(size)
        self._in_use += size
        try:
            yield
        finally:
            self._in_use -= size

    def _set_idle(self, kept: Kept) -> None:
        self._idle[kept] = None
        self._unused += kept.size

    def _make_room(self, size: int) -> None:
        """Drops the entries that have been idle longest. Raises Busy, and drops nothing, when that would not help."""
        if self._in_use + size > self._most:
            raise errors.Busy(
                "your requests and streams hold all the memory that one caller may have; end some of them"
            )
        while self.held + size > self._most:
            oldest = next(iter(self._idle))
            self.forget(oldest)
            oldest.drop()


@dataclass(frozen=True, slots=True)
class Part:
    """One request's part of its caller's budget. It is kept in the request's scope."""

    budget: Budget
    length: int
    """The size of the request's body in bytes."""
    size: int
    """Bytes that the request counts as."""
    sessions: dict[str, Kept] = field(default_factory=dict)
    """The budget's entry for each session of the seat, by the session's handle."""
    end: Callable[[str], None] = lambda _: None
    """Ends a session."""

    @contextlib.contextmanager
    def keeping(self, handle: str | None) -> Iterator[None]:
        """Counts this request inside the block as part of its session, which may be ended to make room. A session
        without a handle, whose stream is open or which ends with its request, is in use. Raises Busy."""
        if handle is None:
            with self.budget.holding(_SESSION + self.size):
                yield
            return
        try:
            kept = self.budget.keep(_SESSION + self.size, lambda: self.end(handle))
        except errors.Busy:
            self.end(handle)  # the SDK has already created it
            raise
        self.sessions[handle] = kept
        try:
            yield
        finally:
            self.budget.forget(kept)
            self.sessions.pop(handle, None)

    @contextlib.contextmanager
    def using(self, handle: str | None) -> Iterator[None]:
        """Marks a session as in use inside the block, and counts this request with it. Raises Busy."""
        # The SDK keeps a session's last message until the next one arrives. Attack: a caller sends a message of 2 MiB
        # as the last one in each of 512 sessions.
        kept = self.sessions.get(handle or "")
        if kept is None:
            yield
            return
        with self.budget.using(kept):
            self.budget.resize(kept, max(kept.size, kept.least + self.size))
            yield

    def replace(self, handle: str | None) -> None:
        """Counts this request as the last message of a session in use, in place of the previous one."""
        kept = self.sessions.get(handle or "")
        if kept is not None:
            self.budget.resize(kept, kept.least + self.size)
