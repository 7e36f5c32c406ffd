"""What the server keeps of a caller's bytes during and between requests, counted in one budget for each caller.

Attack: `clientInfo` of 2 MiB in each of 512 sessions, which took a server from 80 to 2,113 MiB and held it for half an
hour. Whatever keeps bytes of a caller takes them out of the same budget: sessions, events for resumption, requests that
are answered or wait, answers that no client reads. It is keyed by the caller's proven name; where callers need no
credential, all share one. So no number of sessions, streams, tokens or endpoints gives more.

When a budget is full, what has been idle for longest is dropped. What is in use is never dropped: a request for which
there is no room then is refused.
"""

from __future__ import annotations

import contextlib
import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kubescript import config, errors
from kubescript_sandbox.wire import outline

__all__ = ["LONG_INITIALIZE", "MAX_INITIALIZE", "REQUEST", "Budget", "Kept", "Part", "most", "weight"]

MAX_INITIALIZE: Final = 16 << 10
"""Bytes of `initialize`, which the SDK keeps for as long as the session; clients send 200 to 500."""
LONG_INITIALIZE: Final = (
    f"initialize has more than {MAX_INITIALIZE} bytes, and a server keeps it for the whole session: send fewer "
    "capabilities, and a clientInfo without data: URLs"
)

_BASE: Final = 32 << 20
"""Bytes of a budget beside those of its sessions."""
_SESSION: Final = 64 << 10
"""Bytes of a session beside what its client has sent: its tasks and streams, measured as 40 to 50 KiB."""
REQUEST: Final = 16 << 10
"""Likewise of a request or an open stream."""
_COPIES: Final = 4
"""A body is there as it came, in two copies of the SDK's and Starlette's, and as what was decoded from it."""
_VALUE: Final = 256
"""Bytes that a value takes beside its text. Attack: 16 KiB of empty objects take 400 KiB."""
_SEPARATORS: Final = b",[{"
_OTHERS: Final = bytes(set(range(256)) - set(_SEPARATORS))


def most(limits: config.Http) -> int:
    """Returns the bytes of one caller's budget: enough for as many sessions as a caller may have."""
    return _BASE + limits.max_sessions * _SESSION


def weight(body: bytes, most_values: int) -> int | None:
    """Returns the bytes that a JSON body takes once it is decoded; None when it has more than `most_values`, or numbers
    whose reading takes too long."""
    bare = outline.outline(body, most_values)
    if bare is None or outline.has_long_numbers(bare):
        return None
    return _COPIES * len(body) + _VALUE * len(bare.translate(None, _OTHERS))


@dataclass(eq=False, slots=True)
class Kept:
    """What is kept, and may be dropped."""

    size: int
    drop: Callable[[], object]
    """Drops it; the budget calls it."""
    users: int = 0
    """While there are any, it is not dropped."""
    is_counted: bool = True
    least: int = 0
    """The part of its size that is there for as long as it is."""


class Budget:
    """The bytes that one caller has. One event loop uses it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._in_use = 0
        self._unused = 0
        self._idle: OrderedDict[Kept, None] = OrderedDict()
        """What is not in use, what has been idle for longest first."""

    @property
    def held(self) -> int:
        """Bytes that are counted now."""
        return self._in_use + self._unused

    def keep(self, size: int, drop: Callable[[], object]) -> Kept:
        """Counts something until it is forgotten, or dropped to make room. Raises Busy when there is none."""
        self._make_room(size)
        kept = Kept(size, drop, least=size)
        self._set_idle(kept)
        return kept

    def forget(self, kept: Kept) -> None:
        """Stops counting something."""
        if not kept.is_counted:
            return
        kept.is_counted = False
        if kept.users:
            self._in_use -= kept.size
        else:
            del self._idle[kept]
            self._unused -= kept.size

    def resize(self, kept: Kept, size: int) -> None:
        """Counts what is in use with so many bytes from now on. Raises Busy when there is no room."""
        if kept.is_counted:
            self._make_room(size - kept.size)
            self._in_use += size - kept.size
            kept.size = size

    @contextlib.contextmanager
    def using(self, kept: Kept) -> Iterator[None]:
        """Keeps this from being dropped inside the block; after it, this has been idle for the shortest time."""
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
        """Counts so many bytes as in use inside the block. Raises Busy when there is no room."""
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
        """Drops what has been idle for longest. Raises Busy, and drops nothing, when that would not help."""
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
    """One request's part of its caller's budget. It is in the request's scope."""

    budget: Budget
    length: int
    """Bytes of its body."""
    size: int
    """Bytes that it takes."""
    sessions: dict[str, Kept] = field(default_factory=dict)
    """What is kept of each session of the seat, by its handle."""
    end: Callable[[str], None] = lambda _: None
    """Ends a session."""

    @contextlib.contextmanager
    def keeping(self, handle: str | None) -> Iterator[None]:
        """Counts what this request has brought inside the block, as part of its session, which may end to make room. A
        session without a handle, whose stream is open or which ends with its request, is in use. Raises Busy."""
        if handle is None:
            with self.budget.holding(_SESSION + self.size):
                yield
            return
        end = functools.partial(self.end, handle)
        try:
            kept = self.budget.keep(_SESSION + self.size, end)
        except errors.Busy:
            self.end(handle)  # the SDK has made it already
            raise
        self.sessions[handle] = kept
        try:
            yield
        finally:
            self.budget.forget(kept)
            self.sessions.pop(handle, None)

    @contextlib.contextmanager
    def using(self, handle: str | None) -> Iterator[None]:
        """Marks a session as in use inside the block, and counts this request with it: the SDK keeps the last message
        that has reached a session until the next one does. Raises Busy."""
        # Attack: a message of 2 MiB as the last one in each of 512 sessions.
        kept = self.sessions.get(handle or "")
        if kept is None:
            yield
            return
        with self.budget.using(kept):
            self.budget.resize(kept, max(kept.size, kept.least + self.size))
            yield

    def replace(self, handle: str | None) -> None:
        """Counts this request as the last one of a session that is in use, in place of the one before."""
        kept = self.sessions.get(handle or "")
        if kept is not None:
            self.budget.resize(kept, kept.least + self.size)
