"""Tokens for GKE clusters: from google-auth and its application-default credentials, or from GKE's credential plugin.

Called by `identity`. A token stays in this process, and goes only to the server that it is for. The messages of
Google's library and of the plugin are never passed on, because they may quote credentials.
"""

from __future__ import annotations

import datetime
import functools
import logging
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from kubescript import errors, installation
from kubescript.cluster import kubeconfig
from kubescript.wire import messages

__all__ = ["Tokens", "log_in"]

log = logging.getLogger(__name__)

_SCOPES: Final = (
    "https://www.googleapis.com/auth/cloud-platform",
    "https://www.googleapis.com/auth/userinfo.email",
)
"""Scopes that GKE requires of a token; its plugin requests the same."""
_FETCH_S: Final = 30
"""Seconds that Google, or the plugin, may take for a token."""
_EARLY_S: Final = 60
"""How many seconds before its expiry a token is replaced."""
_UNKNOWN_LIFE_S: Final = 300
"""How many seconds a token without an expiry is used."""
_EXEC_INFO: Final = (
    '{"apiVersion":"client.authentication.k8s.io/v1beta1","kind":"ExecCredential","spec":{"interactive":false}}'
)


class Token(NamedTuple):
    """A bearer token and its expiry, in seconds since 1970."""

    value: str
    expires: float


Fetch = Callable[[], Token]
"""Requests a new token."""


class Tokens:
    """One user's token, which is replaced before it expires. Safe for use from many threads."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._token = Token("", 0)

    def current(self) -> str:
        """Returns an unexpired token. Raises what requesting one raises."""
        with self._lock:
            token = self._token  # read once, since `expire` may replace it
            if token.expires - _EARLY_S < time.time():
                token = self._token = self._fetch()
            return token.value

    def expire(self) -> None:
        """Makes the next `current` request a new token: an API server has refused this one."""
        self._token = Token("", 0)  # without the lock, which is held during requests

    def attach(self, configuration: Any) -> None:
        """Makes a configuration of the official client use the current token for each call.

        Raises ClusterError for a server that is not proven by a certificate.
        """
        # Google's token is valid beyond this cluster.
        if not (configuration.host.startswith("https://") and configuration.verify_ssl):
            raise errors.ClusterError(
                messages.text("gke_unverified"), code="cluster.config", remedy=messages.text("action_unverified")
            )

        def refresh(own: Any) -> None:
            own.api_key["BearerToken"] = f"Bearer {self.current()}"

        configuration.api_key["BearerToken"] = ""
        configuration.refresh_api_key_hook = refresh


class _Unavailable(Exception):
    """A source gives no token; the message is ours and says why."""


def log_in(cluster: str, plugin: kubeconfig.Plugin | None) -> Tokens:
    """Returns the tokens of the first source that gives one. `plugin` is None for a user that is not GKE's. Raises
    ClusterError."""
    if plugin is None:
        raise errors.ClusterError(
            messages.text("gke_other", cluster=cluster), code="cluster.auth", remedy=messages.text("action_other")
        )
    reasons = []
    for name, source in _sources(plugin):
        try:
            tokens = Tokens(source())
            tokens.current()
        except _Unavailable as error:
            reasons.append(str(error))
        except Exception as error:
            reasons.append(messages.text("gke_no_token", source=name, error=type(error).__name__))
        else:
            log.info("logged in to Google through %s", name, extra={"event": "cluster.gke"})
            return tokens
    action = messages.text("action_gke", command=installation.suggest_extra("gke"))
    raise errors.ClusterError("; ".join(reasons), code="cluster.auth", remedy=action)


def _sources(plugin: kubeconfig.Plugin) -> list[tuple[str, Callable[[], Fetch]]]:
    """Returns possible sources of a token for this user, with their names."""
    own = (plugin.command, lambda: _plugin(plugin))
    # Attack: a user's entry chooses an account with few rights, but google-auth, which ignores the entry, gives a token
    # of an account with many.
    if plugin.arguments or plugin.variables:
        return [own]
    return [("google-auth", _google_auth), own]


def _google_auth() -> Fetch:
    """Returns a function that asks google-auth, with this machine's application-default credentials."""
    try:
        import google.auth
        import google.auth.exceptions
        from google.auth.transport import requests
    except ImportError:
        raise _Unavailable(messages.text("gke_no_library")) from None
    # This transport uses the proxy that the environment names.
    request: Any = functools.partial(requests.Request(), timeout=_FETCH_S)
    found: Any
    try:
        found, _ = google.auth.default(scopes=_SCOPES, request=request)
    except google.auth.exceptions.DefaultCredentialsError:
        raise _Unavailable(messages.text("gke_no_credentials")) from None

    def fetch() -> Token:
        found.refresh(request)
        return Token(found.token, _seconds(found.expiry))

    return fetch


def _plugin(plugin: kubeconfig.Plugin) -> Fetch:
    """Returns a function that runs GKE's credential plugin, as kubectl does."""
    path = shutil.which(plugin.command)
    # Attack: an MCP client starts the server in a stranger's folder, where a relative path, or a relative entry of
    # PATH, finds a program.
    if path is None or not Path(path).is_absolute():
        raise _Unavailable(messages.text("gke_no_plugin", program=plugin.command))

    def fetch() -> Token:
        done = subprocess.run(  # noqa: S603  the operator's kubeconfig names it
            [path, *plugin.arguments],
            env={**os.environ, **dict(plugin.variables), "KUBERNETES_EXEC_INFO": _EXEC_INFO},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_FETCH_S,
            check=True,
        )
        status: dict[str, Any] = msgspec.json.decode(done.stdout)["status"]
        expiry = status.get("expirationTimestamp")
        return Token(status["token"], _seconds(datetime.datetime.fromisoformat(expiry) if expiry else None))

    return fetch


def _seconds(expiry: datetime.datetime | None) -> float:
    """Returns a time in seconds since 1970. A time without a zone is UTC, as in google-auth."""
    if expiry is None:
        return time.time() + _UNKNOWN_LIFE_S
    if not expiry.tzinfo:
        expiry = expiry.replace(tzinfo=datetime.UTC)
    return expiry.timestamp()
