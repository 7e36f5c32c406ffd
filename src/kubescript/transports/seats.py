"""One seat for each caller at each endpoint: the caller's MCP server, and the transports that lead to it.

A caller gets a seat with the first request, and loses it once it has sent no requests for as long as a session may be
idle. Sessions, streams, events and limits belong to the seat, so one caller's handles mean nothing at another's seat.
One budget covers a caller's bytes at all seats together.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Final

import anyio
import anyio.abc
import anyio.to_thread
from starlette.types import Scope

from kubescript import config, errors
from kubescript.auth import access_rules, user
from kubescript.telemetry import evaluation
from kubescript.transports import authentication, backend, ending
from kubescript.transports.seat import THREADS, Seat, Share, measure
from kubescript_sandbox import unused_memory

if TYPE_CHECKING:
    from kubescript.transports import peers

__all__ = ["Seats"]

_LOOK_S: Final = 15.0
"""Seconds between searches for idle seats. Memory is given back after as long a time without requests."""
_NOBODY: Final = ""
"""The key of all callers where none needs a credential."""
_Key = tuple[str, str]
"""The key of a seat: its caller's key, and its endpoint's route."""


class Seats:
    """The seats of one server. Used by one event loop."""

    def __init__(self, server: backend.Backend, max_body: int, most: int, callers: int, end: ending.Ending) -> None:
        """`most` limits simultaneous requests and streams, and `callers` the number of seats."""
        self._ending = end
        self._server = server
        self._most = most
        self._callers = callers
        self._users = 0
        """How many requests and streams of all callers are being served."""
        self._is_used = False
        """Whether a request has come lately."""
        self._max_body = max_body
        self._seats: dict[_Key, Seat] = {}
        self._shares: weakref.WeakValueDictionary[str, Share] = weakref.WeakValueDictionary()
        """The shares by person; a share exists as long as its person has a seat, or a request that waits for one."""
        self._opening: dict[_Key, Seat] = {}
        """The seats that are being opened."""
        self._turns: weakref.WeakValueDictionary[_Key, anyio.Lock] = weakref.WeakValueDictionary()
        """Held by the one request that opens a seat; each seat has its own."""
        self._reloading = anyio.Lock()
        self._tasks: anyio.abc.TaskGroup | None = None
        self._streams: set[anyio.CancelScope] = set()
        self._peers = _open_peers(server.settings)

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Serves callers."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            if not self._server.settings.knows_callers:
                seat = Seat(self._server.settings.http, self._max_body, self._share(None))
                await tasks.start(seat.open, self._server.operator)
                self._seats[_key(None, "")] = seat
            tasks.start_soon(self._tidy)
            if self._peers is not None:
                await tasks.start(self._peers.run)
                tasks.start_soon(self._leave_peers, self._peers)
            yield
            if self._peers is not None:  # first: the sessions that end now are known to the other replicas
                await self._peers.close()
            for seat in self._seats.values():
                seat.close()
            tasks.cancel_scope.cancel()

    async def _leave_peers(self, shared: peers.Peers) -> None:
        """Tells the other replicas once the server is about to end: balancers ask them by then."""
        await self._ending.wait()
        await shared.leave()

    @contextlib.asynccontextmanager
    async def take(self, scope: Scope, route: str = "") -> AsyncIterator[Seat]:
        """Yields the seat of a request's caller at an endpoint. Raises AuthError when the caller may have none, and
        Busy."""
        credential = authentication.credential(scope)
        share = self._share(credential.user if credential is not None else None)
        # Before anything else: requests that wait for a seat hold their bodies too.
        with share.budget.holding(measure(scope)):
            seat = await self._of(credential, route)
            # Dynamic thresholds, as in `concurrency`. Attack: one caller opens streams on every available connection.
            if credential is not None and share.users >= self._most - self._users:
                raise errors.Busy("too many of your requests and streams are open")
            self._users += 1
            self._is_used = True
            share.users += 1
            try:
                with seat.occupy():
                    yield seat
            finally:
                self._users -= 1
                share.users -= 1

    def _share(self, caller: user.User | None) -> Share:
        """Returns the share of a caller at all seats; callers without a credential share one."""
        key = caller.person if caller is not None else _NOBODY
        share = self._shares.get(key)
        if share is None:
            share = self._shares[key] = Share(self._server.settings.http, key, self._peers)
        return share

    @property
    def presence(self) -> evaluation.Presence:
        """How many callers, sessions and replicas there are now."""
        seats = self._seats.values()
        callers = {seat.caller.person for seat in seats if seat.caller is not None}
        replicas = self._peers.living if self._peers is not None else 1
        return evaluation.Presence(len(callers), sum(seat.session_count for seat in seats), replicas)

    def offers(self, route: str) -> bool:
        """Says whether the server has this endpoint."""
        return bool(self._server.settings.list_toolsets(route))

    @contextlib.contextmanager
    def stream(self) -> Iterator[None]:
        """Lets `drain` end the stream that the block serves. Raises Busy when it does."""
        with anyio.CancelScope() as scope:
            self._streams.add(scope)
            try:
                yield
            finally:
                self._streams.discard(scope)
        if scope.cancelled_caught:
            raise errors.Busy("the server is about to end; connect again", code="busy.ending")

    def drain(self) -> None:
        """Ends streams on which no call is being answered; their clients reconnect."""
        for scope in list(self._streams):
            scope.cancel()
        for seat in self._seats.values():
            seat.served.hang_up()

    async def reload(self, settings: config.Settings) -> None:
        """Serves every caller under other settings from now on; a caller that may no longer use the server loses the
        seat. Raises ConfigError, and changes nothing, when the settings cannot take effect for some caller."""
        async with self._reloading:
            before = self._server.operator
            operator, adopt = await anyio.to_thread.run_sync(self._server.prepare, settings)
            renewed: dict[Seat, backend.Tenant] = {}
            try:
                await self._renew_all(settings, operator, renewed)
            except errors.ConfigError:
                for tenant in {operator, *renewed.values()}:
                    await anyio.to_thread.run_sync(tenant.close)
                raise
            adopt()
            self._take(renewed)
            if (_NOBODY, "") not in self._seats:
                await anyio.to_thread.run_sync(before.close)

    async def _renew_all(
        self, settings: config.Settings, operator: backend.Tenant, renewed: dict[Seat, backend.Tenant]
    ) -> None:
        """Adds the tenants of all seats under other settings; see `_renew`. Raises ConfigError."""
        seen: set[Seat] = set()
        # Seats whose opening has begun before may come meanwhile.
        while new := set(self._seats.values()) - seen:
            seat = new.pop()
            seen.add(seat)
            tenant = await self._renew(seat, settings, operator)
            if tenant is not None:
                renewed[seat] = tenant

    async def _renew(self, seat: Seat, settings: config.Settings, operator: backend.Tenant) -> backend.Tenant | None:
        """Returns a seat's tenant under other settings; None for a caller that may no longer use this endpoint. Raises
        ConfigError."""
        if seat.caller is None and not seat.route:
            return operator
        # Attack: a caller keeps rights although new settings make another scope decisive. Whether this caller has that
        # scope is unknown: `access.reduce` has kept only the scopes that were decisive before.
        if access_rules.scopes(settings) != access_rules.scopes(self._server.settings):
            return None
        try:
            own = _narrow(settings, seat.caller, seat.route)
        except errors.AuthError:
            return None
        tenant = await anyio.to_thread.run_sync(self._server.tenant, seat.caller, own, operator, seat.route)
        try:
            await anyio.to_thread.run_sync(tenant.offer)  # finds out now whether it can be offered
        except errors.ConfigError:
            await anyio.to_thread.run_sync(tenant.close)
            raise
        return tenant

    def _take(self, renewed: dict[Seat, backend.Tenant]) -> None:
        """Gives every seat its new tenant, and ends the others."""
        assert self._tasks is not None
        for key, seat in list(self._seats.items()):
            if seat not in renewed:
                self._seats.pop(key)
                seat.revoke()
        # In separate tasks: a client that does not take its notification must not delay the others. A seat whose
        # caller has left by then closes its tenant.
        for seat, tenant in renewed.items():
            self._tasks.start_soon(seat.replace, tenant)

    async def _of(self, credential: user.Credential | None, route: str) -> Seat:
        while True:
            # The caller is reduced each time: the rules may have changed while this waited.
            caller = self._reduce(credential)
            seat = self._find(caller, route)
            if seat is not None:
                return seat
            # Attack: while one caller's seat is opened, which takes long, no other caller gets one.
            async with self._turns.setdefault(_key(caller, route), anyio.Lock()):
                async with self._reloading:
                    pass  # what is opened from now on has the settings that hold then
                if self._find(caller, route) is None and self._reduce(credential) == caller:
                    await self._open(caller, route)

    def _find(self, caller: user.User | None, route: str) -> Seat | None:
        seat = self._seats.get(_key(caller, route))
        if seat is None or seat.has_ended:
            return None
        return seat

    def _reduce(self, credential: user.Credential | None) -> user.User | None:
        if credential is None:
            return None
        return access_rules.reduce(self._server.settings, credential.user)

    async def _open(self, caller: user.User | None, route: str) -> None:
        """Opens a seat, unless the settings change meanwhile. Raises AuthError, Busy and ConfigError."""
        assert self._tasks is not None
        server = self._server
        operator = server.operator
        settings = _narrow(server.settings, caller, route)
        share = self._share(caller)
        self._make_room(share)
        key, seat = _key(caller, route), Seat(server.settings.http, self._max_body, share, caller, route)
        self._opening[key] = seat
        try:
            tenant = await anyio.to_thread.run_sync(server.tenant, caller, settings, operator, route, limiter=THREADS)
            await self._tasks.start(seat.open, tenant)
        finally:
            del self._opening[key]
        if server.operator is operator:
            self._seats[key] = seat
        else:
            seat.close()

    def _make_room(self, share: Share) -> None:
        """Ends the seat that has been idle longest when there are too many. Raises Busy."""
        used = [seat for seat in self._seats.values() if seat.users]
        used += self._opening.values()
        own = sum(seat.share is share for seat in used)
        # Dynamic thresholds, as in `take`. Attack: a caller sends tokens with ever-changing scopes and groups, each of
        # which gets its own seat, with a stream on it.
        if own and own >= self._callers - len(used):
            raise errors.Busy("you use too many endpoints, scopes and groups at the same time")
        if len(self._seats) + len(self._opening) < self._callers:
            return
        idle = [(seat.left, key) for key, seat in self._seats.items() if not seat.users]
        if not idle:
            raise errors.Busy("too many callers are connected; try again in a few minutes")
        _, longest_idle = min(idle)
        self._end(longest_idle)

    async def _tidy(self) -> None:
        """Ends idle seats, and gives memory back once nothing happens any more."""
        kept, has_garbage = self.presence, False
        while True:
            await anyio.sleep(_LOOK_S)
            self._end_idle()
            if self._is_used or self.presence != kept:
                self._is_used, kept, has_garbage = False, self.presence, True
            elif has_garbage:
                await anyio.to_thread.run_sync(unused_memory.give_back)
                has_garbage = False

    def _end_idle(self) -> None:
        since = time.monotonic() - self._server.settings.http.session_idle_s
        for key, seat in list(self._seats.items()):
            if key != (_NOBODY, "") and not seat.users and seat.left < since:
                self._end(key)

    def _end(self, key: _Key) -> None:
        self._seats.pop(key).close()


def _open_peers(settings: config.Settings) -> peers.Peers | None:
    """Returns what this replica shares with others; None for a server that shares nothing."""
    if not settings.replicas.store:
        return None
    # SQLAlchemy takes 0.3 s to import.
    from kubescript.transports import peers

    return peers.Peers(settings.replicas.store, settings.http.session_idle_s)


def _key(caller: user.User | None, route: str) -> _Key:
    if caller is None:
        return _NOBODY, route
    return caller.key, route


def _narrow(settings: config.Settings, caller: user.User | None, route: str) -> config.Settings:
    """Returns the settings narrowed to this caller. Raises AuthError when the caller may not use this endpoint."""
    own = settings
    if caller is not None:
        own = access_rules.narrow(settings, caller)
    if route and not own.list_toolsets(route):
        raise errors.AuthError(f"you may not use the toolset {route}", code="auth.access")
    return own
