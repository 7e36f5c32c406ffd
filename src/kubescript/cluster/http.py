"""One HTTP exchange with an API server. Called by `live`.

The module sends the request, passes the body on as bytes, and turns every failure into a ClusterError. A truncated body
never looks complete: an answer without a length (Content-Length or chunks) is refused.
"""

from __future__ import annotations

import contextlib
import re
import ssl
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NoReturn

import urllib3
from urllib3 import exceptions

from kubescript import errors, installation, types
from kubescript.cluster import connections, handshakes
from kubescript.request import request

__all__ = ["cluster_error", "explain_outage", "send"]

# Bytes of one read. 47 MB over TLS take 0.06-0.08 s with 64 KiB, 256 KiB or 1 MiB; with `read1` (16 KiB a piece) they
# take 0.09 s.
_READ_BYTES: Final = 256 * 1024
# API servers send a compressed body in chunks of 2 KiB; a frame to the masker for each took half of the host's time and
# a fifth of the masker's.
_GZIP_READ_BYTES: Final = 16 * 1024
"""The size of one read of a compressed body in bytes, about 200 KB of a list."""
_VISIBLE_HEADERS: Final = ("retry-after", "warning", "audit-id")
"""The response headers that a script may see."""
_MAX_HEADER: Final = 1_000
"""The maximum number of characters of one header."""
_NETWORK: Final = "check the kubeconfig's server, the network, VPN and proxy settings"
_MAX_ENCODING: Final = 40
"""How many characters of an encoding a message quotes."""


def send(
    pool: urllib3.PoolManager,
    url: str,
    call: request.Request,
    headers: Mapping[str, str],
    exchange: connections.Exchange,
    connect_s: float,
) -> types.Response:
    """Sends the request once; returns when the answer's headers have arrived. Raises ClusterError.

    `exchange` bounds the whole exchange and may abort it. One address may take `connect_s` to accept a connection, and
    as long for each turn of TLS.
    """
    target = url + call.path
    if call.query:
        target += "?" + urllib.parse.urlencode(call.query)
    left = exchange.remaining
    timeout = urllib3.Timeout(connect=min(connect_s, left), read=left)
    try:
        with exchange:
            raw = pool.urlopen(
                call.method, target, body=call.body, headers=headers, timeout=timeout,
                redirect=False, retries=False, preload_content=False, decode_content=False,
            )  # fmt: skip
    except Exception as error:
        raise cluster_error(error, exchange, url) from None
    body = _Body(raw, exchange, url)
    if exchange.abort_reason:  # aborted just as the headers arrived
        body.close()
        raise cluster_error(exceptions.ProtocolError("aborted"), exchange, url)
    body.check(call)
    return types.Response(
        status=raw.status,
        reason=_clean(raw.reason or ""),
        content_type=_clean(raw.headers.get("content-type", "")),
        chunks=body.chunks(live=call.is_live),
        close=body.close,
        headers=_visible_headers(raw),
        gzip=body.is_gzip,
        date=_clean(raw.headers.get("date", "")),
    )


class _Body:
    """A body that one thread reads while another may close it."""

    def __init__(self, raw: urllib3.BaseHTTPResponse, exchange: connections.Exchange, url: str) -> None:
        self._raw = raw
        self._exchange = exchange
        self._url = url
        self._reading = threading.Lock()
        self.is_gzip = False
        """Whether the body is compressed; set by `check`."""

    def check(self, call: request.Request) -> None:
        """Refuses a body without a length, or in an encoding that the call did not accept."""
        if self._raw.status in {204, 304} or call.method == "HEAD":
            return
        headers = self._raw.headers
        # Without a length, the end looks like a broken connection. Attack: a server sends an invalid length (`abc`,
        # -1), or chunks in a coding that no client reads (`gzip, chunked`).
        framed = self._raw.length_remaining is not None or headers.get("transfer-encoding", "").lower() == "chunked"
        if not framed:
            self._refuse("the answer has no length, so that its end cannot be told from a broken connection")
        # Masking reads only encodings that it can decompress. Attack: a server answers with `br`, or `gzip, gzip`,
        # which hides the text from masking.
        encoding = headers.get("content-encoding", "identity").lower()
        self.is_gzip = call.gzip and encoding == "gzip"
        if not self.is_gzip and encoding != "identity":
            self._refuse(f"the answer is encoded as {_clean(encoding)[:_MAX_ENCODING]!r}, which was not asked for")

    def _refuse(self, message: str) -> NoReturn:
        self.close()
        if self._raw.status == 400 and self._url.startswith("http://"):
            raise handshakes.explain_plain_text(f"{self._exchange.peer} at {_host(self._url)}")
        raise errors.ClusterError(
            message,
            code="cluster.broken",
            remedy="look for a proxy between kubescript and the API server that rewrites HTTP/1.1 answers",
        )

    def chunks(self, *, live: bool) -> Iterator[bytes]:
        """Yields the body in pieces of up to 256 KiB, or 16 KiB if compressed; for a live body, as bytes arrive.

        Raises ClusterError when the body is cut short, aborted or too slow.
        """
        try:
            while chunk := self._read(live):
                yield chunk
        finally:
            self.close()

    def close(self) -> None:
        """Ends a pending read and releases the connection.

        Once the body is read to its end, the connection returns to the pool automatically.
        """
        self._exchange.abort("closed")
        # A reading thread is woken by the abort and closes the body itself.
        if self._reading.acquire(blocking=False):
            try:
                with contextlib.suppress(Exception):
                    self._raw.close()
            finally:
                self._reading.release()

    def _read(self, live: bool) -> bytes:
        """Returns the next piece; empty at the end. Raises ClusterError."""
        with self._reading:
            try:
                # `read` waits for all the bytes that it asks for, and a watch must not wait for its next event.
                size = _GZIP_READ_BYTES if self.is_gzip else _READ_BYTES
                chunk = self._raw.read1(size) if live else self._raw.read(size)
            except Exception as error:
                raise cluster_error(error, self._exchange, self._url) from None
            if self._exchange.abort_reason:  # an aborted read may look like an end
                raise cluster_error(exceptions.ProtocolError("aborted"), self._exchange, self._url)
            if not chunk:
                self._exchange.attach(None)  # the connection is back in the pool and no longer ours to abort
            return chunk


def cluster_error(error: Exception, exchange: connections.Exchange, url: str) -> errors.ClusterError:
    """Returns the ClusterError for `error`, with messages for the model and the operator."""
    if isinstance(error, connections.LateError):
        return errors.ClusterError(
            "this server was stopped, or its machine slept, until the request could no longer be sent in time",
            code="cluster.late",
        )
    # The abort's reason comes first, because it explains any error that follows.
    peer = f"{exchange.peer} at {_host(url)}"
    reason = exchange.abort_reason
    if reason in _ABORTED:
        message, code = _ABORTED[reason]
        return errors.ClusterError(message, code=code)
    if reason == "patience" and not exchange.is_unsent:
        return errors.ClusterError(f"{peer} did not begin to answer in time", code="cluster.timeout")
    if isinstance(error, exceptions.ProxyError):
        error = error.original_error
    for known, make in _ERRORS:
        from_abort = bool(reason) and known in _ABORTED_WHILE_CONNECTING
        if isinstance(error, known) and not from_abort:
            return make(error, peer)
    if reason in {"timeout", "patience"} or isinstance(error, exceptions.TimeoutError):
        return _no_connection(peer) if exchange.is_unsent else _timeout(peer)
    return errors.ClusterError(
        f"the connection to {peer} broke off; what arrived is incomplete and was discarded",
        code="cluster.broken",
        remedy="check load balancers, proxies and idle timeouts between kubescript and the API server",
    )


def explain_outage(url: str, again_s: float) -> errors.ClusterError:
    """Returns the error for a server that has just taken no connection and is asked again in `again_s`."""
    return _unreachable(
        f"the API server at {_host(url)} took no connection a moment ago; it is asked again in {again_s:.0f} s"
    )


def _host(url: str) -> str:
    """Returns host and port, without a password in the URL."""
    address = urllib.parse.urlsplit(url)
    _, _, host = address.netloc.rpartition("@")
    return host


def _timeout(peer: str) -> errors.ClusterError:
    return errors.ClusterError(
        f"{peer} did not answer in full in the call's time; ask for less (limit=, selectors)",
        code="cluster.timeout",
    )


def _no_connection(peer: str) -> errors.ClusterError:
    message = f"{peer} took no connection in time"
    return errors.ClusterError(message, code="cluster.timeout", remedy=_NETWORK)


def _name_error(_error: Exception, peer: str) -> errors.ClusterError:
    return _unreachable(f"the name of {peer} does not resolve")


def _refusal(error: Exception, peer: str) -> errors.ClusterError:
    """Returns the error of a failed connection, with the system's message if urllib3 quotes it."""
    message = f"{peer} cannot be reached"
    system_text = re.search(r"\[Errno -?\d+\] [A-Za-z ]+", str(error))
    if system_text:
        message += f": {system_text[0]}"
    return _unreachable(message)


def _unreachable(message: str) -> errors.ClusterError:
    return errors.ClusterError(message, remedy=_NETWORK)


def _proxy(_error: Exception, peer: str) -> errors.ClusterError:
    return errors.ClusterError(
        f"the proxy for {peer} cannot be used",
        code="cluster.config",
        remedy=f"check proxy-url; SOCKS needs PySocks: {installation.suggest('PySocks>=1.7,<2')}",
    )


_ABORTED: Final = {
    "cancelled": ("the call was cancelled", "cluster.cancelled"),
    "closed": ("the answer was closed before its end", "cluster.broken"),
}
"""Reason of an abort → message and code of its error."""
_ABORTED_WHILE_CONNECTING: Final = (exceptions.ConnectTimeoutError, exceptions.SSLError, ssl.SSLError)
"""Errors of a connection that was aborted before it was established: its certificates are not at fault."""
_ERRORS: Final[tuple[tuple[type[Exception], Callable[[Exception, str], errors.ClusterError]], ...]] = (
    (exceptions.NameResolutionError, _name_error),
    (exceptions.NewConnectionError, _refusal),
    (exceptions.ConnectTimeoutError, _refusal),
    (exceptions.SSLError, handshakes.explain),
    (ssl.SSLError, handshakes.explain),
    (exceptions.URLSchemeUnknown, _proxy),
)
"""Exception of urllib3 → the error that we raise. The first match counts."""


def _visible_headers(raw: urllib3.BaseHTTPResponse) -> dict[str, str]:
    """Returns the headers of an answer that a script may see."""
    visible = {}
    for name in _VISIBLE_HEADERS:
        if name in raw.headers:
            visible[name] = _clean(raw.headers[name])
    return visible


def _clean(text: str) -> str:
    """Returns a header's text, capped, with a space for each unprintable character."""
    capped = text[:_MAX_HEADER]
    if capped.isprintable():
        return capped
    return "".join(char if char.isprintable() else " " for char in capped)
