"""Credentials and connections from a kubeconfig or a service account. The only user of the `kubernetes` package.

That package costs 0.3 s to import, so it is loaded with the first call. It reads kubeconfigs, runs credential plugins
and refreshes tokens. Its error texts are never passed on, because they quote kubeconfig entries, tokens included.
Called by `identity`.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import logging
import os
import shutil
import ssl
import tempfile
import threading
import urllib.parse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kubescript import errors
from kubescript.cluster import kubeconfig

if TYPE_CHECKING:
    import urllib3

__all__ = ["ApiServer", "authorization", "load"]

log = logging.getLogger(__name__)

_POOL: Final = 32
"""Kept-alive connections: twice as many as scripts run at once."""


@dataclass(frozen=True, slots=True)
class ApiServer:
    """An API server with our credentials for it, and the pool built from them.

    It is replaced as a whole when credentials are read anew.
    """

    configuration: Any
    """The official client's."""
    pool: urllib3.PoolManager
    url: str
    """Without a slash at its end."""
    refresh_lock: threading.Lock = field(default_factory=threading.Lock)
    """One call at a time asks for the token: a hanging plugin must hold up its own cluster's calls only."""


def load(path: Path | None, context: kubeconfig.Context | None) -> ApiServer:
    """Reads the credentials of `context` (None: the pod's service account).

    May run a plugin. Raises ClusterError in our words.
    """
    # the client writes certificates and keys of the kubeconfig to files; they live until the TLS context has read them
    folder = tempfile.mkdtemp(prefix="kubescript-")
    try:
        with _renewal_lock(path, context):
            configuration = _configuration(path, context, folder)
            tls_context = _tls_context(configuration)
            pool = _connection_pool(configuration, tls_context)
    except errors.ClusterError:
        raise
    except Exception as error:
        whose = context.name if context else "the pod"
        raise errors.ClusterError(
            f"the credentials of {whose} cannot be loaded ({type(error).__name__})",
            code="cluster.config",
            remedy="check that cluster, user and the files they name exist: `kubectl config view`, `kubectl version`",
        ) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _check_server(configuration.host, context)
    server = ApiServer(configuration, pool, configuration.host.rstrip("/"))
    _check_plugin(server, context)
    return server


def _configuration(path: Path | None, context: kubeconfig.Context | None, folder: str) -> Any:
    """The official client's configuration; it writes inline certificates and keys to `folder`."""
    import kubernetes.client
    import kubernetes.config
    from kubernetes.config import kube_config

    kube_config._create_temp_file_with_content = _write_temporary_file
    configuration = kubernetes.client.Configuration()
    if context is None:
        kubernetes.config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        return configuration
    kubernetes.config.load_kube_config(  # type: ignore[no-untyped-call]
        config_file=kubeconfig.source(path),
        context=context.name,
        client_configuration=configuration,
        temp_file_path=folder,
        persist_config=_can_be_written(path),
    )
    return configuration


def _write_temporary_file(content: str | bytes, temp_file_path: str | None = None, force_recreate: bool = False) -> str:
    """Writes a file and returns its name, in place of the client's function.

    The client's remembers files by content before it has written them: two contexts with the same inline CA, loaded at
    the same time, would read each other's files empty, or gone.
    """
    data = content.encode() if isinstance(content, str) else content
    descriptor, name = tempfile.mkstemp(dir=temp_file_path)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    if temp_file_path is None:  # an identity provider's CA, which is asked for by nobody but the client
        atexit.register(Path(name).unlink, missing_ok=True)
    return name


def _can_be_written(path: Path | None) -> bool:
    """Whether renewed tokens can be kept: a mounted Secret cannot be written, and must not make the renewal fail."""
    source = kubeconfig.source(path) or ""
    files = [part for part in source.split(os.pathsep) if part]
    return all(os.access(Path(file).expanduser(), os.W_OK) for file in files)


_renewal_locks: Final[collections.defaultdict[str, threading.Lock]] = collections.defaultdict(threading.Lock)
"""Kubeconfig ▶ held by whoever renews tokens in it now."""
_RENEWAL_S: Final = 30.0
"""Seconds to wait for another context's renewal."""


@contextlib.contextmanager
def _renewal_lock(path: Path | None, context: kubeconfig.Context | None) -> Iterator[None]:
    """Admits one context of a file at a time, from reading the file to writing it back.

    The client writes all of what it read, and would undo what another context has written meanwhile, refresh tokens
    that are good for one use included.
    """
    if context is None or not context.renews:
        yield
        return
    lock = _renewal_locks[kubeconfig.source(path) or ""]
    if not lock.acquire(timeout=_RENEWAL_S):
        raise errors.ClusterError(
            "another context of this kubeconfig is renewing its token, and does not come to an end",
            code="cluster.auth",
            remedy="check that the identity provider answers",
        )
    try:
        yield
    finally:
        lock.release()


def _check_server(server: str, context: kubeconfig.Context | None) -> None:
    """Refuses an address without scheme or host, which would be looked up as something else."""
    with contextlib.suppress(ValueError):
        address = urllib.parse.urlsplit(server)
        has_host = address.scheme in {"http", "https"} and bool(address.hostname)
        if has_host and address.port != 0:  # `port` checks its range
            return
    whose = f"cluster {context.cluster!r}" if context is not None else "the pod"
    raise errors.ClusterError(
        f"the server of {whose} is no address of an API server",
        code="cluster.config",
        remedy="set `server: https://host:port` in the kubeconfig",
    )


def _check_plugin(server: ApiServer, context: kubeconfig.Context | None) -> None:
    """Refuses a plugin without result: the client only logs the failure, and would go on as system:anonymous."""
    if context is None or not context.plugin:
        return
    if not authorization(server) and not server.configuration.cert_file:
        raise errors.ClusterError(
            f"the credential plugin of context {context.name} gave no credentials",
            code="cluster.auth",
            remedy="run `kubectl get --raw /version` in a terminal: the plugin may need a login",
        )


def _tls_context(configuration: Any) -> ssl.SSLContext:
    """TLS from the kubeconfig alone: its CA, or the system's when it names none; never REQUESTS_CA_BUNDLE."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        log.warning("the API server's certificate is not verified (insecure-skip-tls-verify)")
    elif configuration.ssl_ca_cert:
        with _blame("certificate-authority(-data)"):
            context.load_verify_locations(configuration.ssl_ca_cert)
    else:
        context.load_default_certs()
    if configuration.cert_file:
        with _blame("client-certificate(-data) and client-key(-data)"):
            context.load_cert_chain(configuration.cert_file, configuration.key_file)
    return context


@contextlib.contextmanager
def _blame(what: str) -> Iterator[None]:
    """Says which entry is at fault, and nothing of its content."""
    try:
        yield
    except (OSError, ValueError):
        raise errors.ClusterError(
            f"{what} of the kubeconfig cannot be used",
            code="cluster.config",
            remedy="it must be readable PEM, the key fitting the certificate: `kubectl version` tells more",
        ) from None


def _connection_pool(configuration: Any, context: ssl.SSLContext) -> urllib3.PoolManager:
    """The pool of connections, through the configured proxy if the host is not exempt from it."""
    import urllib3
    from kubernetes.client import rest

    from kubescript.cluster import connections

    warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)  # logged once, by _tls_context
    options: dict[str, Any] = {"ssl_context": context, "cert_reqs": context.verify_mode, "maxsize": _POOL}
    if configuration.tls_server_name:
        options["server_hostname"] = configuration.tls_server_name
    exempt = configuration.no_proxy or ""
    pool: urllib3.PoolManager
    if configuration.proxy and not rest.should_bypass_proxies(configuration.host, exempt):
        pool = _proxy_pool(configuration, options)
    else:
        pool = urllib3.PoolManager(**options)
    pool.pool_classes_by_scheme = connections.POOL_CLASSES
    return pool


def _proxy_pool(configuration: Any, options: dict[str, Any]) -> urllib3.PoolManager:
    """A pool behind the proxy. Raises ClusterError when urllib3 does not know the proxy's scheme."""
    import urllib3

    proxy = urllib.parse.urlsplit(configuration.proxy)
    headers = dict(configuration.proxy_headers or {})
    if proxy.username:
        basic = f"{proxy.username}:{proxy.password or ''}"
        headers |= urllib3.make_headers(proxy_basic_auth=basic)
    try:
        return urllib3.ProxyManager(
            configuration.proxy,
            proxy_headers=headers,
            proxy_ssl_context=configuration.proxy_ssl_context,
            **options,
        )
    except Exception:
        raise errors.ClusterError(
            f"the proxy scheme {proxy.scheme!r} is not supported",
            code="cluster.config",
            remedy="use an http:// or https:// proxy-url",
        ) from None


def authorization(server: ApiServer) -> str:
    """The Authorization header of now.

    The client re-reads token files and re-runs plugins when the old token has expired.
    """
    with server.refresh_lock:
        try:
            setting = server.configuration.auth_settings().get("BearerToken") or {}
        except Exception as error:
            raise errors.ClusterError(
                f"the credentials could not be refreshed ({type(error).__name__})",
                code="cluster.auth",
                remedy="check the service account token file or the credential plugin",
            ) from None
    return str(setting.get("value") or "").strip()
