"""The cluster and user of the calls: a context that is chosen once, and its credentials, which are read when a call
needs them. Called by `live`.

A credential plugin may hang; no caller waits for it longer than the caller's own time allows.
"""

from __future__ import annotations

import os
import threading
import time
from concurrent import futures
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from kubescript import errors
from kubescript.cluster import background, credentials, kubeconfig
from kubescript_sandbox.host import cancellation

if TYPE_CHECKING:
    from kubescript.cluster import gke

__all__ = ["Identity", "in_cluster"]

_T = TypeVar("_T")

_THREAD: Final = "kubescript-credentials"

_PLUGIN_S: Final = 60.0
"""Seconds that a credential plugin may take, even if the call itself has more."""
_SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""The mount point of a pod's own credentials."""


class Identity:
    """One entry of a kubeconfig, or the pod's service account.

    Unless `choose` has read it, the kubeconfig is read when the first call needs it: a missing or broken one fails that
    call (ClusterError, cluster.config), and the next call reads it again. A chosen context stays, even after `kubectl
    config use-context`: a server never changes its cluster on its own.
    """

    def __init__(self, path: Path | bytes | None, context: str | None, *, anonymous: bool = False) -> None:
        """With `anonymous`, the identity has no credentials, only the cluster."""
        self._anonymous = anonymous
        self._path = path
        self._context_name = context
        self._context: kubeconfig.Context | None = None
        self._lock = threading.Lock()
        self._server: credentials.ApiServer | None = None
        self._loading: futures.Future[credentials.ApiServer] | None = None
        self._tokens: gke.Tokens | None = None
        """The credentials after `log_in`, in place of the kubeconfig's."""
        self._login: futures.Future[None] | None = None

    @property
    def name(self) -> str:
        """The kubeconfig context; "in-cluster" with a service account."""
        if self.context is None:
            return "in-cluster"
        return self.context.name

    @property
    def namespace(self) -> str:
        """The context's namespace, or the pod's own."""
        if self.context is not None:
            return self.context.namespace
        try:
            return (_SERVICE_ACCOUNT / "namespace").read_text("utf-8").strip() or "default"
        except OSError:
            return "default"

    @property
    def context(self) -> kubeconfig.Context | None:
        """The kubeconfig context; None inside a cluster. Raises ClusterError, which says what is wrong."""
        if self._context is None and not in_cluster(self._path, self._context_name):
            self._context = kubeconfig.choose(self._path, self._context_name)
        return self._context

    def choose(self) -> None:
        """Chooses the context now. Raises ClusterError if there is no context, or if a pod has no token."""
        if self.context is None and not (_SERVICE_ACCOUNT / "token").is_file():
            raise errors.ClusterError(
                "this pod has no service account token, and there is no kubeconfig",
                code="cluster.config",
                remedy="set automountServiceAccountToken: true for the pod, or pass --kubeconfig",
            )

    def log_in(self) -> futures.Future[None]:
        """Begins to log in to GKE, or joins a login in progress; later calls use its tokens. Raises ClusterError if
        calls are not made with the server's credentials.

        The result raises ClusterError if the context is not GKE's, or nothing on this machine gives a token.
        """
        if self._anonymous:
            raise errors.ClusterError("you act on the cluster with your own token; there is nothing to log in to")
        # Attack: a client asks and cancels a thousand times, to start a thousand plugins.
        with self._lock:
            if self._login is None or self._login.done():
                self._login = background.start(_THREAD, self._log_in)
            return self._login

    def _log_in(self) -> None:
        from kubescript.cluster import gke

        context = self.context
        plugin = context.gke_plugin if context is not None else None
        tokens = gke.log_in(self.name, plugin)
        server = credentials.load(self._path, context, tokens)
        with self._lock:
            self._tokens = tokens
            self._server = server

    def api_server(self, deadline: float, cancel: cancellation.Cancellation) -> credentials.ApiServer:
        """Returns the credentials and their connections, loading them at the first call."""
        # Concurrent callers share one load, and so one start of a plugin.
        with self._lock:
            if self._server is not None:
                return self._server
            if self._loading is None or self._loading.done():
                self._loading = background.start(_THREAD, self._load)
            loading = self._loading
        return _result_in_time(loading, deadline, cancel)

    def authorization(self, server: credentials.ApiServer, deadline: float, cancel: cancellation.Cancellation) -> str:
        """Returns the Authorization header to send now; empty if there is none. Raises ClusterError."""
        if self._anonymous:
            return ""
        if self._tokens is None and (self.context is None or not self.context.plugin):
            return credentials.authorization(server)
        future = background.start(_THREAD, lambda: credentials.authorization(server))
        return _result_in_time(future, deadline, cancel)

    def forget(self) -> credentials.ApiServer | None:
        """Makes the next call reload everything; returns the forgotten server."""
        with self._lock:
            server = self._server
            self._server = None
        if self._tokens is not None:
            self._tokens.expire()
        return server

    def _load(self) -> credentials.ApiServer:
        tokens = self._tokens
        server = credentials.load(self._path, self.context, tokens, anonymous=self._anonymous)
        with self._lock:
            # After a login, a server loaded with the kubeconfig's credentials is outdated.
            if tokens is not self._tokens:
                return server
            self._server = server
        return server


def in_cluster(path: Path | bytes | None, context: str | None) -> bool:
    """Says whether to use the pod's service account: no context is named, no kubeconfig exists, and this is a pod."""
    if context is not None or isinstance(path, bytes) or kubeconfig.source(path) is not None:
        return False
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def _result_in_time(future: futures.Future[_T], deadline: float, cancel: cancellation.Cancellation) -> _T:
    """Returns the result. Raises ClusterError when it is late or the call is cancelled."""
    try:
        return background.wait(future, min(deadline, time.monotonic() + _PLUGIN_S), cancel)
    except TimeoutError:
        raise errors.ClusterError(
            "the credentials were not ready in time",
            code="cluster.auth",
            remedy="a credential plugin hangs or waits for input: run kubectl",
        ) from None
