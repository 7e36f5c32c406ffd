"""Credentials and connections from a kubeconfig or a service account. The only module that uses the `kubernetes`
package.

That package takes 0.3 s to import, so it is loaded with the first call. It reads kubeconfigs, runs credential plugins
and refreshes tokens. Its error texts are never passed on, because they quote kubeconfig entries, including tokens.
Called by `identity`.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import json
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
from kubescript.cluster import kubeconfig, temporary, tls

if TYPE_CHECKING:
    import urllib3

    from kubescript.cluster import gke

__all__ = ["ApiServer", "authorization", "load"]

log = logging.getLogger(__name__)

# Kept-alive connections: twice as many as scripts that run at once.
_POOL: Final = 32
_SERVICE_ACCOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True, slots=True)
class ApiServer:
    """An API server, our credentials for it, and the connection pool made from them.

    It is replaced as a whole when the credentials are reloaded.
    """

    configuration: Any
    """The official client's configuration object."""
    pool: urllib3.PoolManager
    url: str
    """The server's URL, without a trailing slash."""
    authority: str
    """SHA-256 of the CA's certificates, in hexadecimal; empty for the system's CAs, or without verification."""
    refresh_lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while a token is requested. One per cluster, so that a hanging plugin delays no other cluster."""


def load(
    path: Path | bytes | None,
    context: kubeconfig.Context | None,
    tokens: gke.Tokens | None = None,
    *,
    anonymous: bool = False,
) -> ApiServer:
    """Reads the credentials of `context` (None: the pod's service account). It may run a credential plugin.

    `tokens` replace the kubeconfig's credentials, and with `anonymous` there are none; the kubeconfig's are then not
    read. Raises ClusterError with our own text.
    """
    # The client writes certificates and keys from the kubeconfig to files, which exist until the TLS context has read
    # them.
    folder = temporary.folder("credentials")
    try:
        with _renewal_lock(path, context):
            configuration = _configuration(path, context, str(folder), tokens, anonymous=anonymous)
            tls_context = tls.make_context(configuration)
            if not configuration.verify_ssl:
                log.warning("the API server's certificate is not verified (insecure-skip-tls-verify)")
            pool = _connection_pool(configuration, tls_context)
            authority = tls.authority(configuration, tls_context)
    except errors.ClusterError:
        raise
    except Exception as error:
        raise _unloadable(error, context) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    _check_server(configuration.host, context)
    server = ApiServer(configuration, pool, configuration.host.rstrip("/"), authority)
    if not anonymous:
        _check_plugin(server, context)
    return server


def _unloadable(error: Exception, context: kubeconfig.Context | None) -> errors.ClusterError:
    """Returns the error for credentials that the client cannot load; it quotes none of the client's own text."""
    whose = context.name if context else "the pod"
    why = type(error).__name__
    # The entry is named, but not its value: it may be a token, given by mistake in place of a file.
    if context and isinstance(error, OSError):  # the client opens no other file
        why = f"tokenFile: {error.strerror}"
    elif str(error).startswith("File does not exist: "):
        why = "certificate-authority, client-certificate or client-key: No such file or directory"
    remedy = "check that user, keys and the files they name exist: `kubectl config view`, `kubectl version`"
    if context is None:
        remedy = f"look at {_SERVICE_ACCOUNT} in the pod: automountServiceAccountToken: true mounts token and ca.crt"
    return errors.ClusterError(
        f"the credentials of {whose} cannot be loaded ({why})", code="cluster.config", remedy=remedy
    )


def _configuration(
    path: Path | bytes | None,
    context: kubeconfig.Context | None,
    folder: str,
    tokens: gke.Tokens | None,
    *,
    anonymous: bool,
) -> Any:
    """Returns the official client's configuration, which writes inline certificates and keys to `folder`."""
    import kubernetes.client
    import kubernetes.config
    from kubernetes.config import kube_config

    kube_config._create_temp_file_with_content = _write_temporary_file
    configuration = kubernetes.client.Configuration()
    if context is None:
        kubernetes.config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        if anonymous:
            configuration.api_key = {}
            configuration.refresh_api_key_hook = None
        return configuration
    given: dict[str, Any] = {"filename": None, "config_dict": None}
    if isinstance(path, bytes):
        given["config_dict"] = json.loads(path)
    else:
        given |= {"filename": kubeconfig.source(path), "persist_config": _can_be_written(path)}
    loader = kube_config._get_kube_config_loader(  # type: ignore[no-untyped-call]
        active_context=context.name, temp_file_path=folder, **given
    )
    if tokens is not None or anonymous:
        loader._user = None  # so that no plugin runs: it may be missing
    loader.load_and_set(configuration)
    if tokens is not None:
        tokens.attach(configuration)
    return configuration


def _write_temporary_file(content: str | bytes, temp_file_path: str | None = None, force_recreate: bool = False) -> str:
    """Writes a file and returns its name. It replaces the client's own function."""
    # The client's function caches a file by its content before writing it: when two contexts with the same inline CA
    # are loaded at once, one finds the other's file empty or deleted.
    data = content.encode() if isinstance(content, str) else content
    descriptor, name = tempfile.mkstemp(dir=temp_file_path)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    if temp_file_path is None:  # the CA of an identity provider, which only the client reads
        atexit.register(Path(name).unlink, missing_ok=True)
    return name


def _can_be_written(path: Path | None) -> bool:
    """Says whether renewed tokens can be written back to the kubeconfig."""
    # A mounted Secret cannot be written, and must not make the renewal fail.
    source = kubeconfig.source(path) or ""
    files = [part for part in source.split(os.pathsep) if part]
    return all(os.access(file, os.W_OK) for file in files)


_renewal_locks: Final[collections.defaultdict[str, threading.Lock]] = collections.defaultdict(threading.Lock)
"""Kubeconfig → lock that is held while its tokens are renewed."""
_RENEWAL_S: Final = 30.0
"""Seconds to wait for another context's renewal."""


@contextlib.contextmanager
def _renewal_lock(path: Path | bytes | None, context: kubeconfig.Context | None) -> Iterator[None]:
    """Lets one context of a file at a time read the file and write it back."""
    # The client writes back everything that it read. Without the lock it would overwrite another context's changes in
    # between, including refresh tokens that can be used only once.
    if context is None or not context.renews or isinstance(path, bytes):
        yield
        return
    lock = _renewal_locks[kubeconfig.source(path) or ""]
    if not lock.acquire(timeout=_RENEWAL_S):
        raise errors.ClusterError(
            "another context of this kubeconfig is renewing its token and has not finished in time",
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
    whose, remedy = "the pod", "check KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT"
    if context is not None:
        whose, remedy = f"cluster {context.cluster!r}", "set `server: https://host:port` in the kubeconfig"
    raise errors.ClusterError(
        f"the server of {whose} is not the address of an API server", code="cluster.config", remedy=remedy
    )


def _check_plugin(server: ApiServer, context: kubeconfig.Context | None) -> None:
    """Refuses a plugin that gave no credentials."""
    # The client only logs the plugin's failure, and would continue as system:anonymous.
    if context is None or not context.plugin:
        return
    if not authorization(server) and not server.configuration.cert_file:
        raise errors.ClusterError(
            f"the credential plugin of context {context.name} gave no credentials",
            code="cluster.auth",
            remedy="run `kubectl get --raw /version` in a terminal: the plugin may need a login; if that works, give "
            "the server the same PATH (MCP clients start it with a short one)",
        )


def _connection_pool(configuration: Any, context: ssl.SSLContext) -> urllib3.PoolManager:
    """Returns the connection pool, through the configured proxy unless the host is exempt from it."""
    import urllib3
    from kubernetes.client import rest

    from kubescript.cluster import connections

    warnings.simplefilter("ignore", urllib3.exceptions.InsecureRequestWarning)  # logged once, by `load`
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
    """Returns a pool behind the proxy. Raises ClusterError when urllib3 does not support the proxy's scheme."""
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
    """Returns the Authorization header to send now.

    When the old token has expired, the client rereads token files and reruns plugins.
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
