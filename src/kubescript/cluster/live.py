"""A live API server: one request at a time as bytes, with retries where they are safe, cut where somebody says so.

Requests go through our own urllib3 pool, not through the official client's methods: its models are slow, and its
methods take headers and hosts from the caller. Nothing a caller passes can name a header or a host here. Which
cluster it is, and as whom, is in `identity`.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import kubescript
from kubescript import cancellation, errors, types
from kubescript.cluster import identity, timers
from kubescript.request import request

if TYPE_CHECKING:
    from kubescript.cluster import connections, credentials

__all__ = ["Live"]

log = logging.getLogger(__name__)

_RETRIES: Final = 3
"""Times a GET is repeated when the server says 429 or 5xx with Retry-After, as client-go does (it up to 10 times)."""
_USER_AGENT: Final = f"kubescript/{kubescript.__version__}"


class Live:
    """One cluster.

    The kubeconfig is read when the first call needs it, see `identity.Identity`: a missing or broken one is an error of
    that call, and the next call finds it mended.
    """

    def __init__(self, path: Path | None = None, context: str | None = None, patience_s: float | None = None) -> None:
        """`patience_s` bounds the wait for an answer to begin, retries included; None: as long as the call may take."""
        self._identity = identity.Identity(path, context)
        self._patience_s = patience_s or float("inf")
        self._lock = threading.Lock()
        self._lines: set[connections.Line] = set()
        self._alarm = timers.Alarm()

    @property
    def name(self) -> str:
        """The kubeconfig context; "in-cluster" with a service account."""
        return self._identity.name

    @property
    def namespace(self) -> str:
        """The context's namespace, or the pod's own."""
        return self._identity.namespace

    def choose(self) -> None:
        """Raises ClusterError when the kubeconfig has no such context. Connects to nothing."""
        _ = self._identity.context

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """Send one request, see `base.Cluster`.

        A GET is repeated once on a stale connection or after a 401 with fresh credentials, and
        up to three times when the server asks for patience (Retry-After) and the time allows; nothing else is ever sent
        twice.
        """
        now = time.monotonic()
        time_ = _Time(now + min(timeout_s, self._patience_s), now + timeout_s)
        response = self._attempt(call, time_, cancel)
        if response.status == 401:
            response = self._with_fresh_credentials(call, time_, cancel, response)
        if response.status == 401:
            log.warning(
                "%s refuses our credentials (401): they may have expired; try `kubectl get --raw /api`", self.name
            )
        for _ in range(_RETRIES):
            pause = _pause(call, response)
            if pause is None or time.monotonic() + pause >= time_.head:
                break
            response.close()
            _sleep(pause, cancel)
            response = self._attempt(call, time_, cancel)
        return response

    def close(self) -> None:
        """Cut every call and drop every connection. A later call opens new ones."""
        session = self._identity.forget()
        with self._lock:
            lines = list(self._lines)
        for line in lines:
            line.cut("closed")
        if session is not None:
            session.manager.clear()

    def _attempt(self, call: request.Request, time_: _Time, cancel: cancellation.Cancellation) -> types.Response:
        session = self._identity.session(time_.head, cancel)
        headers = self._headers(session, call, time_.head, cancel)
        try:
            return self._send(session, call, headers, time_, cancel)
        except _Stale:
            return self._send(session, call, headers, time_, cancel)

    def _send(
        self,
        session: credentials.Session,
        call: request.Request,
        headers: dict[str, str],
        time_: _Time,
        cancel: cancellation.Cancellation,
    ) -> types.Response:
        """One exchange on a line that the deadline, the cancellation and `close` can cut."""
        from kubescript.cluster import connections, http  # urllib3 is part of what start-up must not pay

        line = connections.Line(time_.end)
        release = self._guard(line, cancel)
        try:
            with self._patience(line, time_):
                response = http.send(session.manager, session.base, call, headers, line)
        except errors.ClusterError as error:
            release()
            if error.code == "cluster.broken" and line.reused and call.method == "GET" and not line.reason:
                raise _Stale from None
            raise
        except BaseException:
            release()
            raise
        return replace(response, chunks=_then(response.chunks, release), close=_both(response.close, release))

    @contextlib.contextmanager
    def _patience(self, line: connections.Line, time_: _Time) -> Iterator[None]:
        """Cut the line unless its answer has begun in time, however the server fills the time."""
        if time_.head >= time_.end:
            yield
            return
        clear = self._alarm.at(time_.head, lambda: line.cut("patience"))
        try:
            yield
        finally:
            clear()

    def _guard(self, line: connections.Line, cancel: cancellation.Cancellation) -> Callable[[], None]:
        """Hang the line on everything that may cut it; returns what takes it off again."""
        with self._lock:
            self._lines.add(line)
        clear = self._alarm.at(line.deadline, lambda: line.cut("timeout"))
        attached = cancel.closing(lambda: line.cut("cancelled"))
        attached.__enter__()
        once = threading.Lock()

        def release() -> None:
            if once.acquire(blocking=False):
                clear()
                attached.__exit__(None, None, None)
                with self._lock:
                    self._lines.discard(line)

        return release

    def _with_fresh_credentials(
        self, call: request.Request, time_: _Time, cancel: cancellation.Cancellation, refused: types.Response
    ) -> types.Response:
        """A token may have been rotated on disk, a plugin's have expired early: read everything anew, once."""
        if call.method != "GET":
            self._identity.forget()
            return refused
        refused.close()
        self._identity.forget()
        return self._attempt(call, time_, cancel)

    def _headers(
        self, session: credentials.Session, call: request.Request, deadline: float, cancel: cancellation.Cancellation
    ) -> dict[str, str]:
        headers = {"Accept": call.accept, "Accept-Encoding": "identity", "User-Agent": _agent(call)}
        if call.audit_id:
            headers["Audit-ID"] = call.audit_id
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        if authorization := self._identity.authorization(session, deadline, cancel):
            headers["Authorization"] = authorization
        return headers


class _Time(NamedTuple):
    """Until when (time.monotonic) the answer must have begun, and ended."""

    head: float
    end: float


class _Stale(Exception):
    """A kept-alive connection turned out to be closed before any answer came."""


def _sleep(seconds: float, cancel: cancellation.Cancellation) -> None:
    woken = threading.Event()
    with cancel.closing(woken.set):
        if woken.wait(seconds) or cancel.cancelled:
            raise errors.ClusterError("the call was cancelled", code="cluster.cancelled")


def _agent(call: request.Request) -> str:
    return f"{_USER_AGENT} ({call.agent})" if call.agent else _USER_AGENT


def _pause(call: request.Request, response: types.Response) -> float | None:
    """Seconds the server asks to wait before the same GET is sent again; None when it does not ask."""
    after = response.headers.get("retry-after", "")
    if call.method != "GET" or not (response.status == 429 or response.status >= 500) or not after.isdecimal():
        return None
    return float(after[:6])


def _then(chunks: Iterator[bytes], done: Callable[[], None]) -> Iterator[bytes]:
    try:
        yield from chunks
    finally:
        done()


def _both(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def close() -> None:
        first()
        second()

    return close
