"""A live API server: credentials from kubeconfig or service account, requests as bytes. The only user of the `kubernetes` package.

That package costs 0.3 s to import and is loaded with the first call. It reads kubeconfigs, runs credential plugins and refreshes
tokens; the requests themselves go through our own urllib3 pool built from its Configuration, because its models are slow and its
methods take headers and hosts from the caller. Nothing a caller passes can name a header or a host here.
"""

from __future__ import annotations

import logging
import os
import shutil
import ssl
import tempfile
import threading
import time
import urllib.parse
import warnings
from collections.abc import Callable, Iterator
from concurrent import futures
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import kubescript
from kubescript import cancellation, errors, request, types
from kubescript.cluster import kubeconfig

if TYPE_CHECKING:
    import urllib3

    from kubescript.cluster import wire

__all__ = ["Live", "contexts"]

log = logging.getLogger(__name__)

contexts = kubeconfig.contexts

_POOL: Final = 32
"""Kept-alive connections: as many scripts as run at once, twice."""
_RETRIES: Final = 3
"""Times a GET is repeated when the server says 429 or 5xx with Retry-After, as client-go does (it up to 10 times)."""
_PLUGIN_S: Final = 60.0
"""Seconds a credential plugin may take, when the call itself has more."""
_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_USER_AGENT: Final = f"kubescript/{kubescript.__version__}"


@dataclass(frozen=True, slots=True)
class _Session:
    """A configuration and the pool built from it; replaced as a whole when credentials are read anew."""

    configuration: Any
    manager: urllib3.PoolManager
    base: str


class Live:
    """One cluster. Raises ClusterError (cluster.config) at once when the kubeconfig or the context does not exist."""

    def __init__(self, path: Path | None = None, context: str | None = None) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._session: _Session | None = None
        self._loading: futures.Future[_Session] | None = None
        self._lines: set[wire.Line] = set()
        self._alarm: wire.Alarm | None = None
        self._context = None if self._in_cluster(path, context) else kubeconfig.choose(path, context)

    @property
    def name(self) -> str:
        """The kubeconfig context; "in-cluster" with a service account."""
        return self._context.name if self._context is not None else "in-cluster"

    @property
    def namespace(self) -> str:
        """The context's namespace, or the pod's own."""
        if self._context is not None:
            return self._context.namespace
        try:
            return (_ACCOUNT / "namespace").read_text("utf-8").strip() or "default"
        except OSError:
            return "default"

    def perform(self, call: request.Request, timeout_s: float, cancel: cancellation.Cancellation) -> types.Response:
        """See `base.Cluster`. A GET is repeated once on a stale connection or after a 401 with fresh credentials, and up to three
        times when the server asks for patience (Retry-After) and the time allows; nothing else is ever sent twice."""
        deadline = time.monotonic() + timeout_s
        response = self._attempt(call, deadline, cancel)
        if response.status == 401:
            response = self._with_fresh_credentials(call, deadline, cancel, response)
        for _ in range(_RETRIES):
            pause = _pause(call, response)
            if pause is None or time.monotonic() + pause >= deadline:
                break
            response.close()
            _sleep(pause, cancel)
            response = self._attempt(call, deadline, cancel)
        return response

    def close(self) -> None:
        """Cut every call and drop every connection. A later call opens new ones."""
        with self._lock:
            session, self._session = self._session, None
            lines = list(self._lines)
        for line in lines:
            line.cut("closed")
        if session is not None:
            session.manager.clear()

    def _attempt(self, call: request.Request, deadline: float, cancel: cancellation.Cancellation) -> types.Response:
        session = self._ready(deadline, cancel)
        headers = self._headers(session, call, deadline, cancel)
        try:
            return self._send(session, call, headers, deadline, cancel)
        except _Stale:
            return self._send(session, call, headers, deadline, cancel)

    def _send(
        self, session: _Session, call: request.Request, headers: dict[str, str], deadline: float, cancel: cancellation.Cancellation
    ) -> types.Response:
        """One exchange on a line that the deadline, the cancellation and `close` can cut."""
        from kubescript.cluster import exchange, wire  # noqa: PLC0415 - urllib3 is part of what start-up must not pay

        line = wire.Line(deadline)
        release = self._guard(line, cancel)
        try:
            response = exchange.send(session.manager, session.base, call, headers, line)
        except errors.ClusterError as error:
            release()
            if error.code == "cluster.broken" and line.reused and call.method == "GET" and not line.reason:
                raise _Stale from None
            raise
        except BaseException:
            release()
            raise
        return replace(response, chunks=_then(response.chunks, release), close=_both(response.close, release))

    def _guard(self, line: wire.Line, cancel: cancellation.Cancellation) -> Callable[[], None]:
        """Hang the line on everything that may cut it; returns what takes it off again."""
        from kubescript.cluster import wire  # noqa: PLC0415

        with self._lock:
            self._alarm = alarm = self._alarm or wire.Alarm()
            self._lines.add(line)
        clear = alarm.at(line.deadline, lambda: line.cut("timeout"))
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
        self, call: request.Request, deadline: float, cancel: cancellation.Cancellation, refused: types.Response
    ) -> types.Response:
        """A token may have been rotated on disk, a plugin's have expired early: read everything anew, once."""
        if call.method != "GET":
            self._forget()
            return refused
        refused.close()
        self._forget()
        return self._attempt(call, deadline, cancel)

    def _forget(self) -> None:
        with self._lock:
            self._session = None

    def _headers(self, session: _Session, call: request.Request, deadline: float, cancel: cancellation.Cancellation) -> dict[str, str]:
        headers = {"Accept": call.accept, "Accept-Encoding": "identity", "User-Agent": _USER_AGENT}
        if call.body is not None:
            headers["Content-Type"] = call.content_type
        if self._context is not None and self._context.plugin:
            authorization = _in_time(_start(lambda: _authorization(session.configuration)), deadline, cancel)
        else:
            authorization = _authorization(session.configuration)
        if authorization:
            headers["Authorization"] = authorization
        return headers

    def _ready(self, deadline: float, cancel: cancellation.Cancellation) -> _Session:
        """The session, loading it first. Callers at the same time share one load: a plugin is not started five times."""
        with self._lock:
            if self._session is not None:
                return self._session
            if self._loading is None or self._loading.done():
                self._loading = _start(self._load)
            loading = self._loading
        session: _Session = _in_time(loading, deadline, cancel)
        return session

    def _load(self) -> _Session:
        configuration = _configuration(self._path, self._context)
        manager = _manager(configuration)
        session = _Session(configuration, manager, configuration.host.rstrip("/"))
        with self._lock:
            self._session = session
        return session

    @staticmethod
    def _in_cluster(path: Path | None, context: str | None) -> bool:
        return context is None and kubeconfig.source(path) is None and bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


class _Stale(Exception):
    """A kept-alive connection turned out to be closed before any answer came."""


def _configuration(path: Path | None, context: kubeconfig.Context | None) -> Any:
    """Read the credentials. Raises ClusterError in our words: the client's own texts quote kubeconfig entries, tokens included."""
    import kubernetes.client  # noqa: PLC0415 - 0.3 s
    import kubernetes.config  # noqa: PLC0415

    configuration = kubernetes.client.Configuration()
    try:
        if context is None:
            kubernetes.config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        else:
            _load_context(kubernetes.config, configuration, path, context)
    except errors.ClusterError:
        raise
    except Exception as error:
        raise errors.ClusterError(
            f"the credentials of {context.name if context else 'the service account'} cannot be loaded ({type(error).__name__})",
            code="cluster.config",
            remedy="check that cluster, user and the files they name exist: `kubectl config view`, `kubectl version`",
        ) from None
    if context is not None and context.plugin and not (_authorization(configuration) or configuration.cert_file):
        raise errors.ClusterError(
            f"the credential plugin of context {context.name} gave no credentials",
            code="cluster.auth",
            remedy="run `kubectl get --raw /version` in a terminal: the plugin may need a login",
        )
    return configuration


def _load_context(config: Any, configuration: Any, path: Path | None, context: kubeconfig.Context) -> None:
    # the client writes certificates and keys from the kubeconfig to files; these live until the SSL context has read them
    folder = tempfile.mkdtemp(prefix="kubescript-")
    try:
        config.load_kube_config(
            config_file=kubeconfig.source(path), context=context.name, client_configuration=configuration, temp_file_path=folder
        )
        configuration.kubescript_ssl = _ssl(configuration)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _ssl(configuration: Any) -> ssl.SSLContext:
    """TLS from the kubeconfig alone: its CA, or the system's when it names none; never REQUESTS_CA_BUNDLE."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        log.warning("the API server's certificate is not verified (insecure-skip-tls-verify)")
    elif configuration.ssl_ca_cert:
        context.load_verify_locations(configuration.ssl_ca_cert)
    else:
        context.load_default_certs()
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


def _manager(configuration: Any) -> urllib3.PoolManager:
    """The pool of connections, through the configured proxy if the host is not exempt from it."""
    import urllib3  # noqa: PLC0415
    from kubernetes.client import rest  # noqa: PLC0415

    from kubescript.cluster import wire  # noqa: PLC0415

    context = getattr(configuration, "kubescript_ssl", None) or _ssl(configuration)
    warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)  # said once, by _ssl
    options: dict[str, Any] = {"ssl_context": context, "cert_reqs": context.verify_mode, "maxsize": _POOL}
    if configuration.tls_server_name:
        options["server_hostname"] = configuration.tls_server_name
    manager: urllib3.PoolManager
    if configuration.proxy and not rest.should_bypass_proxies(configuration.host, configuration.no_proxy or ""):
        manager = _proxied(configuration, options)
    else:
        manager = urllib3.PoolManager(**options)
    manager.pool_classes_by_scheme = wire.POOL_CLASSES
    return manager


def _proxied(configuration: Any, options: dict[str, Any]) -> urllib3.PoolManager:
    import urllib3  # noqa: PLC0415

    proxy = urllib.parse.urlsplit(configuration.proxy)
    headers = dict(configuration.proxy_headers or {})
    if proxy.username:
        headers |= urllib3.make_headers(proxy_basic_auth=f"{proxy.username}:{proxy.password or ''}")
    try:
        return urllib3.ProxyManager(
            configuration.proxy, proxy_headers=headers, proxy_ssl_context=configuration.proxy_ssl_context, **options
        )
    except Exception:
        raise errors.ClusterError(
            f"the proxy scheme {proxy.scheme!r} is not supported", code="cluster.config", remedy="use an http:// or https:// proxy-url"
        ) from None


_refreshing = threading.Lock()


def _authorization(configuration: Any) -> str:
    """The Authorization header of now: the client re-reads token files and re-runs plugins when the old token has expired."""
    with _refreshing:
        try:
            setting = configuration.auth_settings().get("BearerToken") or {}
        except Exception as error:
            raise errors.ClusterError(
                f"the credentials could not be refreshed ({type(error).__name__})",
                code="cluster.auth",
                remedy="check the service account token file or the credential plugin",
            ) from None
    return str(setting.get("value") or "").strip()


def _start(work: Callable[[], Any]) -> futures.Future[Any]:
    """Run `work` in a thread of its own: a credential plugin may hang, and no caller waits longer than its time."""
    future: futures.Future[Any] = futures.Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="kubescript-credentials", daemon=True).start()
    return future


def _in_time(future: futures.Future[Any], deadline: float, cancel: cancellation.Cancellation) -> Any:
    """The result, or ClusterError when it does not come in time or is cancelled."""
    stopped: futures.Future[None] = futures.Future()
    with cancel.closing(lambda: stopped.set_result(None)):
        left = max(0.001, min(_PLUGIN_S, deadline - time.monotonic()))
        done, _ = futures.wait((future, stopped), left, futures.FIRST_COMPLETED)
    if future in done:
        return future.result()
    if cancel.cancelled:
        raise errors.ClusterError("the call was cancelled", code="cluster.cancelled")
    raise errors.ClusterError(
        "the credentials were not ready in time", code="cluster.auth", remedy="a credential plugin hangs or waits for input: run kubectl"
    )


def _sleep(seconds: float, cancel: cancellation.Cancellation) -> None:
    woken = threading.Event()
    with cancel.closing(woken.set):
        if woken.wait(seconds) or cancel.cancelled:
            raise errors.ClusterError("the call was cancelled", code="cluster.cancelled")


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
