"""A server beside the cluster, such as a Prometheus, by its own URL: requests go to that address alone.

No redirect is followed, no proxy of the environment is used, and every header is the operator's. The sources call it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import kubescript
from kubescript import errors, types
from kubescript.cluster import aborts, sending, sockets, tls
from kubescript.request import request
from kubescript_sandbox.host import cancellation

if TYPE_CHECKING:
    import urllib3

__all__ = ["Headers", "Trust", "Web"]

_CONNECT_S: Final = 10.0
"""Seconds that one address may take to accept a connection."""
_CONNECT_OF_SEVERAL_S: Final = 3.0
"""The same for a source of one of several clusters, as `live` has it."""
_POOL: Final = 16
_USER_AGENT: Final = f"kubescript/{kubescript.__version__}"
_REMEDIES: Final = {
    "cluster.tls": (
        "https:// or http:// and the host in `url`, the CA of the source's certificate in `ca_file`, and `cert_file` "
        "with `key_file` if the source asks for a certificate"
    ),
    "cluster.broken": "`url` must lead to the source, or to a proxy that passes whole answers of HTTP/1.1",
}
"""Code of an error → what to check in the settings of a source."""
_ANY_REMEDY: Final = "host and port in `url`, and whether firewalls and NetworkPolicies let this machine reach them"

Headers = Callable[[float, cancellation.Cancellation], Sequence[tuple[str, str]]]
"""Returns the operator's headers of one request, no later than at a deadline (time.monotonic). Raises ClusterError."""


@dataclass(frozen=True, slots=True)
class Trust:
    """The files of TLS; None: the system's CAs, and no client certificate."""

    ca_file: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None

    def version(self) -> tuple[float, ...]:
        """Returns a value that changes with the files."""
        files = (self.ca_file, self.cert_file, self.key_file)
        return tuple(file.stat().st_mtime for file in files if file is not None and file.exists())


class Web:
    """One server. Safe for use from many threads."""

    def __init__(self, name: str, url: str, trust: Trust, headers: Headers, patience_s: float | None = None) -> None:
        """`name` is what messages call the server; `url` has no slash at its end. `patience_s` bounds the wait for an
        answer to begin; None: only the call's timeout bounds it."""
        self._name = name
        self._url = url
        self._trust = trust
        self._headers = headers
        self._patience_s = patience_s or float("inf")
        self._connect_s = _CONNECT_S if patience_s is None else min(_CONNECT_OF_SEVERAL_S, patience_s)
        self._aborts = aborts.Aborts()
        self._pool: urllib3.PoolManager | None = None
        self._version: tuple[float, ...] = ()

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """Sends one GET, see `base.Server`; once more if its connection was stale."""
        now = time.monotonic()
        deadlines = sending.Deadlines(head=now + min(timeout_s, self._patience_s), end=now + timeout_s)
        headers = self._list_headers(call, deadlines.head, cancel)
        pool = self._open_pool()
        try:
            return sending.send_again(lambda: self._send(pool, call, headers, deadlines, cancel))
        except errors.ClusterError as error:
            error.remedy = self._advise(error)
            raise

    def _advise(self, error: errors.ClusterError) -> str:
        """Returns the remedy in the words of the source's settings; empty if the error has none."""
        # The remedies of `http` name the entries of a kubeconfig.
        return error.remedy and f"check [sources.{self._name}]: {_REMEDIES.get(error.code, _ANY_REMEDY)}"

    def close(self) -> None:
        """Aborts every request, and drops every connection."""
        self._aborts.close()
        self.release()

    def release(self) -> None:
        """Closes connections that no call uses; calls that are under way end as they would."""
        if self._pool is not None:
            self._pool.clear()

    def _list_headers(
        self, call: request.Request, deadline: float, cancel: cancellation.Cancellation
    ) -> dict[str, str]:
        """Returns every header of the request; none comes from a script."""
        headers = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip" if call.gzip else "identity",
            "User-Agent": f"{_USER_AGENT} ({call.agent})" if call.agent else _USER_AGENT,
        }
        return headers | dict(self._headers(deadline, cancel))

    def _open_pool(self) -> urllib3.PoolManager:
        """Returns the connections; new ones when a file of TLS has changed."""
        import urllib3  # importing urllib3 must not slow the start

        from kubescript.cluster import connections

        version = self._trust.version()
        if self._pool is None or version != self._version:
            context = tls.make_web_context(self._trust.ca_file, self._trust.cert_file, self._trust.key_file)
            pool = urllib3.PoolManager(ssl_context=context, cert_reqs=context.verify_mode, maxsize=_POOL)
            pool.pool_classes_by_scheme = connections.POOL_CLASSES
            replaced, self._pool, self._version = self._pool, pool, version
            if replaced is not None:
                replaced.clear()
        return self._pool

    def _send(
        self,
        pool: urllib3.PoolManager,
        call: request.Request,
        headers: dict[str, str],
        deadlines: sending.Deadlines,
        cancel: cancellation.Cancellation,
    ) -> types.Response:
        """Performs one exchange that the deadline, the cancellation and `close` can abort."""
        from kubescript.cluster import connections

        exchange = connections.Exchange(deadlines.end, peer=f"{self._name}, the source")
        sockets.OPEN.use(pool)
        release = self._aborts.register(exchange, cancel)
        with aborts.abort_without_head(exchange, deadlines.head):
            return sending.send(pool, self._url, call, headers, exchange, self._connect_s, release)
