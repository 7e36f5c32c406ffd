"""One seat: the MCP server of a caller at one endpoint, the transports that lead to it, and the caller's limits."""

from __future__ import annotations

import collections
import contextlib
import logging
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.abc
import anyio.to_thread
from mcp.server import streamable_http_manager
from starlette.types import Message, Scope

from kubescript import config, errors
from kubescript.auth import user
from kubescript.transports import allowance, backend, mcp_sessions, retained, sse, stream_events
from kubescript.transports import scope_keys as keys

if TYPE_CHECKING:
    from kubescript.transports import peers

__all__ = ["THREADS", "Seat", "Share", "measure"]

log = logging.getLogger(__name__)

# Attack: the plans of some callers wait for a cluster in every available thread, so that no other caller gets a seat.
THREADS: Final = anyio.CapacityLimiter(4)
"""The threads in which seats are opened."""
_MINUTE_S: Final = 60.0
# Attack: a caller sends 1,200 requests of 2 MiB in a minute, as the limit on their number allows.
_REQUEST: Final = 64 << 10
"""The size of a large request in bytes."""
_FEWEST: Final = 8 << 20
"""How many bytes every caller may send in a minute, however few requests the settings allow."""


class Share:
    """The limits of one person at all seats together, whichever endpoints, scopes and groups the requests name."""

    def __init__(self, limits: config.Http, person: str, shared: peers.Peers | None) -> None:
        """`person` identifies the person, and is empty where callers need no credential; `shared` is what replicas
        share."""
        self.person = person
        self.peers = shared
        self.turn = anyio.Lock()
        """Held by the one request of the person that asks the other replicas of sessions."""
        self.budget = retained.Budget(retained.most(limits))
        self.requests = allowance.Allowance(person, limits.requests_per_minute, shared)
        self.volume = Volume(limits.requests_per_minute)
        self.users = 0
        """How many requests and streams are being served."""
        self._sessions: collections.defaultdict[tuple[str, str], set[object]] = collections.defaultdict(set)

    def sessions(self, route: str, transport: str) -> set[object]:
        """Returns what stands for each of the person's sessions of a transport at an endpoint, at all seats; the
        transports add to it."""
        # Attack: a caller has as many sessions again by a token with other scopes.
        return self._sessions[route, transport]

    async def count(self, length: int) -> None:
        """Counts a request of `length` bytes. Raises Busy when there are too many requests, or too many bytes in
        them."""
        if not await self.requests.take():
            raise errors.Busy("too many requests in a minute", code="busy.rate")
        if not self.volume.take(length):
            raise errors.Busy("too many bytes of requests in a minute", code="busy.rate")


class Volume:
    """A counter of the bytes of the last minute. Used by one event loop."""

    def __init__(self, requests_per_minute: int) -> None:
        self._most = max(_FEWEST, requests_per_minute * _REQUEST)
        self._sizes: collections.deque[tuple[float, int]] = collections.deque()
        self._total = 0

    def take(self, size: int) -> bool:
        """Counts more bytes unless they exceed the limit; says whether they are within it."""
        now = time.monotonic()
        while self._sizes and now - self._sizes[0][0] >= _MINUTE_S:
            _, ended = self._sizes.popleft()
            self._total -= ended
        if self._total + size > self._most:
            return False
        self._sizes.append((now, size))
        self._total += size
        return True


class Seat:
    """One caller's MCP server and transports at one endpoint."""

    def __init__(
        self,
        limits: config.Http,
        max_body: int,
        share: Share,
        caller: user.User | None = None,
        route: str = "",
    ) -> None:
        """`share` is common to all the caller's seats; `caller` is None where callers need no credential, and `route`
        is the endpoint."""
        self.caller = caller
        self.route = route
        self.share = share
        self._kept: dict[str, retained.Kept] = {}
        """The budget's entry for each session, by its handle."""
        self._events = stream_events.Events(share.budget)
        self.users = 0
        """How many requests and streams are being served."""
        self.left = time.monotonic()
        """When the last request or stream ended."""
        self.tenant: backend.Tenant | None = None
        self.is_stateless = limits.stateless
        self._limits = limits
        self._max_body = max_body
        self._closed = anyio.Event()
        self._requests: set[anyio.CancelScope] = set()

    async def open(self, tenant: backend.Tenant, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        """Serves the caller until `close` is called."""
        self.tenant = tenant
        self.served = await anyio.to_thread.run_sync(tenant.server, limiter=THREADS)
        server, stateless = self.served.mcp, self.served.stateless
        limits, body = self._limits, self._max_body
        manager = streamable_http_manager.StreamableHTTPSessionManager
        if limits.stateless:
            self.sessions = manager(stateless, stateless=True, max_request_body_size=body)
        else:
            self.sessions = mcp_sessions.Sessions(
                server,
                self._events,
                self.share.sessions(self.route, "http"),
                self._beyond,
                session_idle_timeout=limits.session_idle_s,
                max_sessions=limits.max_sessions,
                max_request_body_size=body,
            )
        self.plain = manager(stateless, stateless=True, json_response=True, max_request_body_size=body)
        """Serves clients that send one request and read one answer."""
        self.sse = sse.LegacySse(server, self.share.sessions(self.route, "sse"), limits.max_sessions, body)
        try:
            async with self.sessions.run(), self.plain.run(), anyio.create_task_group() as tasks:
                self._tasks = tasks
                task_status.started()
                await self._closed.wait()
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self._leave()

    @property
    def _beyond(self) -> peers.Endpoint | None:
        """What is known of the caller's sessions at other replicas; None where there are none."""
        shared = self.share.peers
        if shared is None:
            return None
        return shared.open_endpoint(self.share.person, self.route, self._limits.max_sessions, self.share.turn)

    async def _leave(self) -> None:
        self._events.clear()
        try:
            await self.served.close()
        except Exception:  # one seat must not end the task group of all
            log.exception("a seat could not be closed", extra={"event": "seat.bug"})

    async def replace(self, tenant: backend.Tenant) -> None:
        """Serves the caller under other settings from now on; ends the seat if that fails."""
        try:
            self.tenant = tenant
            await self.served.replace(tenant.offer())
        except Exception:  # a failure ends one seat, not the task group of all
            log.exception("a caller could not be served under other settings", extra={"event": "seat.bug"})
            self.revoke()

    @contextlib.contextmanager
    def occupy(self) -> Iterator[None]:
        """Counts a request of the caller inside the block. Raises AuthError when the seat is revoked meanwhile."""
        self.users += 1
        with anyio.CancelScope() as scope:
            self._requests.add(scope)
            try:
                yield
            finally:
                self._requests.discard(scope)
                self.users -= 1
                self.left = time.monotonic()
        if scope.cancelled_caught:
            raise errors.AuthError("you may not use this server any more", code="auth.access")

    def part(self, scope: Scope) -> retained.Part:
        """Returns a request's part of the caller's budget."""
        owner = scope.get("user")
        length = scope.get(keys.LENGTH, 0)
        size = measure(scope)
        # The SDK lets only the owner of a session end it.
        return retained.Part(self.share.budget, length, size, self._kept, lambda handle: self._end(owner, handle))

    def _end(self, owner: object, handle: str) -> None:
        """Ends a session to make room for another."""
        if not self.has_ended:
            self._tasks.start_soon(self._delete, owner, handle)

    async def _delete(self, owner: object, handle: str) -> None:
        # The session is ended as its client would end it: the SDK offers no other way.
        headers = [(b"mcp-session-id", handle.encode())]
        scope = {"type": "http", "method": "DELETE", "path": "/", "query_string": b"", "headers": headers}
        try:
            await self.sessions.handle_request(scope | {"user": owner}, _hang_up, _ignore)
        except Exception:  # one session must not end the seat
            log.exception("a session could not be ended", extra={"event": "seat.bug"})

    async def tools(self) -> list[dict[str, Any]]:
        """Returns the definitions of the caller's tools, as JSON."""
        assert self.tenant is not None
        found = await anyio.to_thread.run_sync(self.tenant.tools)
        return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found]

    @property
    def session_count(self) -> int:
        """How many sessions there are, those of the older SSE too."""
        return len(self._kept) + self.sse.count

    def close(self) -> None:
        """Ends the seat's sessions."""
        self._closed.set()

    @property
    def has_ended(self) -> bool:
        """Whether the seat no longer serves its caller."""
        return self._closed.is_set()

    def revoke(self) -> None:
        """Ends the seat's sessions, and the requests being answered."""
        for scope in self._requests:
            scope.cancel()
        self.close()


def measure(scope: Scope) -> int:
    """Returns the bytes that a request counts as."""
    weight: int = scope.get(keys.WEIGHT, 0)
    size = retained.REQUEST + weight
    for name, value in scope["headers"]:
        size += len(name) + len(value)
    return size


async def _hang_up() -> Message:
    return {"type": "http.disconnect"}


async def _ignore(_message: Message) -> None:
    """Drops a message of an answer that no client waits for."""
