"""One request over kept-alive connections: it can be aborted, and is sent once more if its connection was stale. `live`
and `web` call it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kubescript import errors, types
from kubescript.request import request

if TYPE_CHECKING:
    import urllib3

    from kubescript.cluster import connections

__all__ = ["Deadlines", "StaleConnection", "send", "send_again"]


class Deadlines(NamedTuple):
    """The times (time.monotonic) by which the answer must have begun, and ended."""

    head: float
    end: float


class StaleConnection(Exception):
    """A kept-alive connection turns out to be closed before any answer comes."""

    def __init__(self, cause: errors.ClusterError) -> None:
        super().__init__()
        self.cause = cause


def send(
    pool: urllib3.PoolManager,
    url: str,
    call: request.Request,
    headers: Mapping[str, str],
    exchange: connections.Exchange,
    connect_s: float,
    release: Callable[[], None],
) -> types.Response:
    """Sends a request; `release` is called when its exchange has ended, in any way. Raises ClusterError, and
    StaleConnection for a GET that may be sent again."""
    from kubescript.cluster import http  # importing urllib3 must not slow the start

    try:
        response = http.send(pool, url, call, headers, exchange, connect_s)
    except errors.ClusterError as error:
        release()
        error.is_unsent = exchange.is_unsent
        was_stale = error.code == "cluster.broken" and exchange.reused and not exchange.abort_reason
        if was_stale and call.method == "GET":
            raise StaleConnection(error) from None
        raise
    except BaseException:
        release()
        raise

    def close() -> None:
        response.close()
        release()

    return replace(response, chunks=_release_after(response.chunks, release), close=close)


def send_again(attempt: Callable[[], types.Response]) -> types.Response:
    """Sends a request, and once more if its connection was stale. Raises ClusterError."""
    try:
        return attempt()
    except StaleConnection:
        pass
    try:
        return attempt()
    except StaleConnection as stale:
        raise stale.cause from None


def _release_after(chunks: Iterator[bytes], release: Callable[[], None]) -> Iterator[bytes]:
    try:
        yield from chunks
    finally:
        release()
