"""A live API server: it sends a request as bytes, repeats it where that is safe, and aborts it when asked. The broker
calls it.

Requests go through our own urllib3 pool, not the official client's methods, whose models are slow and which take
headers and hosts from the caller. Here no caller can set a header or a host. `identity` has the cluster and the
credentials.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import kubescript
from kubescript import errors, types
from kubescript.cluster import aborts, acting, identity, outages, sending, sockets
from kubescript.request import request
from kubescript_sandbox.host import cancellation

if TYPE_CHECKING:
    from concurrent import futures

    from kubescript.cluster import connections, credentials

__all__ = ["Live"]

log = logging.getLogger(__name__)

# How often a GET is repeated when the server answers with 429 or 5xx and Retry-After. client-go repeats up to 10 times.
_RETRIES: Final = 3
_CONNECT_S: Final = 10.0
"""Seconds that one address may take to accept a connection."""
_CONNECT_OF_SEVERAL_S: Final = 3.0
"""The same for one of several clusters: the kernel repeats a lost packet after one second."""
_MOST_OF_IT: Final = 0.9
_NO_CONNECTION: Final = frozenset({"cluster.timeout", "cluster.unreachable"})
"""Codes of the faults that say, if nothing was sent, that a server took no connection."""
_USER_AGENT: Final = f"kubescript/{kubescript.__version__}"


class Live:
    """One cluster.

    Unless `choose` has read it, the kubeconfig is read when the first call needs it, see `identity.Identity`: a missing
    or broken one fails that call, and the next call reads it again.
    """

    def __init__(
        self,
        path: Path | bytes | None = None,
        context: str | None = None,
        patience_s: float | None = None,
        caller: acting.Acting | None = None,
    ) -> None:
        """`path` names the kubeconfig, or is its content in JSON. `patience_s` bounds the wait for an answer to begin,
        including retries; None: only the call's timeout bounds it. Requests are sent on behalf of `caller`; None: as
        the server itself."""
        self._caller = caller
        self._identity = identity.Identity(path, context, anonymous=caller is not None and not caller.with_credentials)
        self._patience_s = patience_s or float("inf")
        self._is_one_of_several = patience_s is not None
        self._origin = f"{context} {hashlib.sha256(path).hexdigest() if isinstance(path, bytes) else path}"
        self._connect_s = min(_CONNECT_OF_SEVERAL_S, self._patience_s) if self._is_one_of_several else _CONNECT_S
        self._aborts = aborts.Aborts()
        self._address = ""

    @property
    def name(self) -> str:
        """The kubeconfig context; "in-cluster" with a service account."""
        return self._identity.name

    @property
    def context(self) -> str | None:
        """The kubeconfig context; None inside a cluster. Raises ClusterError."""
        chosen = self._identity.context
        return chosen.name if chosen is not None else None

    @property
    def namespace(self) -> str:
        """The context's namespace, or the pod's own."""
        return self._identity.namespace

    @property
    def is_named_by_data(self) -> bool:
        """False: the kubeconfig is the operator's."""
        return False

    @property
    def address(self) -> str:
        """See `base.Cluster`; without a digest for the system's CAs, and empty before the first call."""
        return self._address

    def choose(self) -> None:
        """Chooses the context, without connecting. Raises ClusterError if no kubeconfig has such a context, or if a pod
        has no token."""
        self._identity.choose()

    def log_in(self) -> futures.Future[None]:
        """Begins to log in to GKE, see `identity.Identity.log_in`."""
        return self._identity.log_in()

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """Sends one request, see `base.Cluster`.

        A GET is repeated once on a stale connection, once with fresh credentials after a 401, and up to three times
        when the server asks to wait (Retry-After) and the time allows it. Nothing else is ever sent twice.
        """
        deadlines = self._begin(timeout_s)
        response = self._attempt(call, deadlines, cancel)
        if response.status == 401:
            response = self._with_fresh_credentials(call, deadlines, cancel, response)
        if response.status == 401:
            log.warning(
                "%s refuses our credentials (401): they may have expired; try `kubectl get --raw /api`", self.name
            )
        for _ in range(_RETRIES):
            pause = _retry_after(call, response)
            if pause is None or time.monotonic() + pause >= deadlines.head:
                break
            response.close()
            if cancel.wait(pause):
                raise errors.ClusterError("the call was cancelled", code="cluster.cancelled")
            response = self._attempt(call, deadlines, cancel)
        return response

    def perform_through_proxy(
        self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation
    ) -> types.Response:
        """Sends one GET that another server answers through the API server's proxy, see `base.Server`."""
        # Attack: a Service answers 401, or asks to wait. Neither says anything of our credentials or the API server.
        return self._attempt(call, self._begin(timeout_s), cancel)

    def identify(self, deadline: float, cancel: cancellation.Cancellation) -> tuple[str, str]:
        """Returns the API server's address, see `base.Cluster`, and the value of the Authorization header that the
        server's own requests have; empty without a token. Calls nothing but a credential plugin. Raises
        ClusterError."""
        server = self._identity.api_server(deadline, cancel)
        return _address(server), self._identity.authorization(server, deadline, cancel)

    def close(self) -> None:
        """Aborts every call and drops every connection. A later call opens new ones."""
        server = self._identity.forget()
        self._aborts.close()
        if server is not None:
            server.pool.clear()

    def release(self) -> None:
        """Closes connections that no call uses, and forgets credentials; calls that are under way end as they would."""
        server = self._identity.forget()
        if server is not None:
            server.pool.clear()

    def _begin(self, timeout_s: float) -> sending.Deadlines:
        now = time.monotonic()
        return sending.Deadlines(head=now + min(timeout_s, self._patience_s), end=now + timeout_s)

    def _attempt(
        self, call: request.Request, deadlines: sending.Deadlines, cancel: cancellation.Cancellation
    ) -> types.Response:
        """Sends the request with the current credentials, once more if the connection was stale."""
        try:
            server = self._identity.api_server(deadlines.head, cancel)
            self._check_outage(server)
            headers = self._headers(server, call, deadlines.head, cancel)
        except errors.ClusterError as error:
            error.is_unsent = True
            raise
        self._address = _address(server)
        return sending.send_again(lambda: self._send(server, call, headers, deadlines, cancel))

    def _send(
        self,
        server: credentials.ApiServer,
        call: request.Request,
        headers: Mapping[str, str],
        deadlines: sending.Deadlines,
        cancel: cancellation.Cancellation,
    ) -> types.Response:
        """Performs one exchange that the deadline, the cancellation and `close` can abort."""
        from kubescript.cluster import connections  # importing urllib3 must not slow the start

        place, began = self._place(server), time.monotonic()
        exchange = connections.Exchange(deadlines.end, call.send_by, call.is_withdrawn)
        sockets.OPEN.use(server.pool)
        release = self._aborts.register(exchange, cancel)
        try:
            with aborts.abort_without_head(exchange, deadlines.head):
                response = sending.send(server.pool, server.url, call, headers, exchange, self._connect_s, release)
        except errors.ClusterError as error:
            self._note_outage(place, exchange, error, began)
            raise
        outages.KNOWN.end(place)
        return response

    def _check_outage(self, server: credentials.ApiServer) -> None:
        """Raises ClusterError if the server took no connection a moment ago."""
        from kubescript.cluster import http  # importing urllib3 must not slow the start

        again_s = outages.KNOWN.seconds_left(self._place(server)) if self._is_one_of_several else 0.0
        if again_s:
            raise http.explain_outage(server.url, again_s)

    def _note_outage(
        self, place: outages.Place, exchange: connections.Exchange, error: errors.ClusterError, began: float
    ) -> None:
        """Has later calls not wait for a server that took no connection in the time for it."""
        # A script's own time may be shorter, which says nothing about the server.
        took_most = time.monotonic() - began > _MOST_OF_IT * self._connect_s
        if self._is_one_of_several and exchange.is_unsent and took_most and error.code in _NO_CONNECTION:
            outages.KNOWN.begin(place, began)

    def _place(self, server: credentials.ApiServer) -> outages.Place:
        return self._origin, server.url, str(server.pool.proxy or "")

    def _with_fresh_credentials(
        self,
        call: request.Request,
        deadlines: sending.Deadlines,
        cancel: cancellation.Cancellation,
        refused: types.Response,
    ) -> types.Response:
        """Reloads the credentials, and repeats a GET once with them."""
        # A token may have been rotated on disk, or a plugin's token may have expired early.
        if call.method != "GET":
            self._identity.forget()
            return refused
        refused.close()
        self._identity.forget()
        return self._attempt(call, deadlines, cancel)

    def _headers(
        self,
        server: credentials.ApiServer,
        call: request.Request,
        deadline: float,
        cancel: cancellation.Cancellation,
    ) -> Mapping[str, str]:
        """Returns every header of the request; none comes from a script."""
        from urllib3 import HTTPHeaderDict  # importing urllib3 must not slow the start

        encoding = "gzip" if call.gzip else "identity"
        headers = HTTPHeaderDict(Accept=call.accept)
        headers["Accept-Encoding"] = encoding
        headers["User-Agent"] = _user_agent(call)
        if call.audit_id:
            headers["Audit-ID"] = call.audit_id
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        authorization = self._identity.authorization(server, deadline, cancel)
        if authorization:
            headers["Authorization"] = authorization
        if self._caller is not None:
            for name, value in self._caller.headers(_address(server), deadline, cancel):
                headers.add(name, value)  # a name may occur several times
        return headers


def _address(server: credentials.ApiServer) -> str:
    """Returns a server's address and trust, see `base.Cluster`."""
    # Attack: several clusters are behind one address, which tells them apart by the name that TLS asks for.
    name = server.configuration.tls_server_name
    # Attack: two networks have one private address, and a proxy each. A token for one cluster is sent to the other.
    proxy = server.pool.proxy
    through = proxy._replace(auth=None).url if proxy is not None else ""
    parts = {"": server.url, " ca-sha256:": server.authority, " tls-server-name:": name, " proxy:": through}
    return "".join(f"{key}{value}" for key, value in parts.items() if value)


def _user_agent(call: request.Request) -> str:
    """Returns our name, and in brackets the broker's text about the script."""
    if not call.agent:
        return _USER_AGENT
    return f"{_USER_AGENT} ({call.agent})"


def _retry_after(call: request.Request, response: types.Response) -> float | None:
    """Returns the seconds that the server asks to wait before repeating a GET; None if it does not ask."""
    after = response.headers.get("retry-after", "")
    is_overloaded = response.status == 429 or response.status >= 500
    if call.method != "GET" or not is_overloaded:
        return None
    if not after.isdecimal():
        return None
    return float(after[:6])
