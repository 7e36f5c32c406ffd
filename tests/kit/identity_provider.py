"""A real identity provider on this machine: Keycloak, with users, groups and clients as a team would have them.

    with IdentityProvider() as provider:
        provider.resource("http://127.0.0.1:8080/mcp")
        token = provider.token("alice", scopes=("kubescript:read",))

Alice is in the groups `platform` and `payments`, Bob in `payments`, Eve in none. The public client `claude` logs people
in (authorization code with PKCE, redirects to the loopback, or a password for tests); the confidential client
`kubescript` asks about tokens; other clients may register themselves from this machine. See keycloak/realm.py.
"""

from __future__ import annotations

import contextlib
import html
import http.cookiejar
import json
import os
import re
import shutil
import signal
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from pathlib import Path
from typing import Any, Final

from kubescript_safety.controlplane import startable
from tests.kit.keycloak import prepared, realm, server

__all__ = ["IdentityProvider", "RefusedError"]

SECONDS: Final = 300
"""How long a token lives."""


WAIT_SECONDS: Final = 60
_ADMINISTRATOR_SECONDS: Final = 30
"""Half of how long a token of the administrator lives."""


class RefusedError(RuntimeError):
    """The provider has refused; the message has what it said."""


class IdentityProvider(startable.Startable):
    """One Keycloak with its own data, keys and port; it can be stopped and started again, or be silent."""

    client_id: Final = realm.CLIENT
    introspection_client_id: Final = realm.INTROSPECTION
    client_secret: Final = realm.SECRET

    def __init__(self) -> None:
        made = prepared.prepare()
        self.folder = Path(tempfile.mkdtemp(prefix="kubescript-idp-"))
        self._server = made.new(self.folder)
        self._resource = ""
        self._administration = ("", 0.0)

    def start(self) -> None:
        """Starts it, again after `stop`: same URL, data and keys."""
        self._server.start()

    def stop(self) -> None:
        """Stops it in the orderly way."""
        self._server.stop()

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """It takes connections and answers nothing."""
        pid = self._server.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def close(self) -> None:
        """Ends it for good and removes its data."""
        self._server.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def port(self) -> int:
        """Where it listens on this machine, without TLS."""
        return int(self._server.url.rpartition(":")[2])

    @property
    def issuer(self) -> str:
        """What tokens say in `iss`, and where discovery begins."""
        return f"{self._server.url}/realms/{realm.NAME}"

    @property
    def introspection_url(self) -> str:
        """Where `introspection_client_id` asks, with `client_secret`, whether a token is good."""
        return f"{self._endpoints}/token/introspect"

    def resource(self, url: str) -> None:
        """From now on tokens are for this resource: `aud` says so."""
        if url == self._resource:
            return
        scope = self._named("client-scopes", realm.BASIC)
        path = f"client-scopes/{scope['id']}/protocol-mappers/models"
        mapper = self._named(path, realm.AUDIENCE)
        mapper["config"]["included.custom.audience"] = url
        self._administer("PUT", f"{path}/{mapper['id']}", mapper)
        self._resource = url

    def token(self, user: str, scopes: Sequence[str] = (), seconds: int = SECONDS) -> str:
        """An access token that `claude` gets by the user's password, with exactly these scopes of `kubescript:read` and
        `kubescript:write`; it is good for so many seconds. Raises RefusedError.
        """
        fields = {"client_id": self.client_id, "username": user, "password": realm.password(user)}
        if scopes:
            fields["scope"] = " ".join(scopes)
        if seconds == SECONDS:
            return self._granted(realm.NAME, grant_type="password", **fields)
        self._lifespan(seconds)
        try:
            return self._granted(realm.NAME, grant_type="password", **fields)
        finally:
            self._lifespan(SECONDS)

    def add_realm(self, document: Mapping[str, Any]) -> None:
        """Adds another realm, as `--import-realm` reads it. Raises RefusedError."""
        self._administer("POST", "", document)

    def token_of(self, name: str, user: str) -> str:
        """An access token of another realm, whose client `claude` gets it by the user's password. Raises
        RefusedError."""
        fields = {"client_id": self.client_id, "username": user, "password": realm.password(user)}
        return self._granted(name, grant_type="password", **fields)

    def introspect(self, token: str) -> dict[str, Any]:
        """What the provider says about a token when `kubescript` asks."""
        fields = {"client_id": self.introspection_client_id, "client_secret": self.client_secret, "token": token}
        answer: dict[str, Any] = _post(self.introspection_url, fields)
        return answer

    def log_in(self, url: str, user: str) -> str:
        """What a person does to whom a client shows this authorization URL: types name and password. Returns the URL to
        which the browser is sent then, with the code. Raises RefusedError.
        """
        # As browsers do, it keeps secure cookies for the loopback without TLS too.
        policy = http.cookiejar.DefaultCookiePolicy(secure_protocols=("http", "https"))
        browser = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar(policy)),
            _Stays(),
        )
        page = _sent(browser, urllib.request.Request(url))
        form = re.search(r'<form[^>]* action="([^"]+)"', page.body)
        if form is None:
            return page.sent_to()
        data = urllib.parse.urlencode({"username": user, "password": realm.password(user)}).encode()
        return _sent(browser, urllib.request.Request(html.unescape(form[1]), data)).sent_to()

    def log_out(self, user: str) -> None:
        """Ends the user's sessions: tokens of them are no longer active, though their signatures stay good."""
        found = self._administer("GET", f"users?exact=true&username={user}")
        self._administer("POST", f"users/{found[0]['id']}/logout")

    def rotate_keys(self, disable_old: bool = False) -> str:
        """Signs with a new key from now on; returns its id. The old keys stay among the published ones, or disappear
        when they are disabled: no token from before is good then.
        """
        old = self._administer("GET", "components?type=org.keycloak.keys.KeyProvider")
        old = [each for each in old if each["providerId"] == "rsa-generated"]
        highest = max(int(each["config"].get("priority", ["0"])[0]) for each in old)
        config = {"priority": [str(highest + 1)], "enabled": ["true"], "active": ["true"], "algorithm": ["RS256"]}
        self._administer("POST", "components", {
            "name": f"rotated-{highest + 1}", "providerId": "rsa-generated",
            "providerType": "org.keycloak.keys.KeyProvider", "config": config,
        })  # fmt: skip
        for each in old:
            each["config"].update({"active": ["false"], "enabled": [str(not disable_old).lower()]})
            self._administer("PUT", f"components/{each['id']}", each)
        return str(self._administer("GET", "keys")["active"]["RS256"])

    @property
    def _endpoints(self) -> str:
        return f"{self.issuer}/protocol/openid-connect"

    def _lifespan(self, seconds: int) -> None:
        client = self._administer("GET", f"clients?clientId={self.client_id}")[0]
        client["attributes"]["access.token.lifespan"] = str(seconds)
        self._administer("PUT", f"clients/{client['id']}", client)

    def _named(self, path: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(each for each in self._administer("GET", path) if each["name"] == name)
        return found

    def _administer(self, method: str, path: str, content: object = None) -> Any:
        token, until = self._administration
        if time.monotonic() > until:
            identifier, secret = prepared.ADMINISTRATOR
            token = self._granted("master", grant_type="client_credentials", client_id=identifier, client_secret=secret)
            self._administration = token, time.monotonic() + _ADMINISTRATOR_SECONDS
        url = f"{self._server.url}/admin/realms/{realm.NAME}/{path}" if path else f"{self._server.url}/admin/realms"
        body = None if content is None else json.dumps(content).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        return _read(urllib.request.Request(url, body, headers, method=method))

    def _granted(self, name: str, **fields: str) -> str:
        url = f"{self._server.url}/realms/{name}/protocol/openid-connect/token"
        return str(_post(url, fields)["access_token"])


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: Message
    body: str

    def sent_to(self) -> str:
        """Where the browser is sent."""
        if self.status != 302:
            raise RefusedError(f"{self.status} {self.body}")
        return str(self.headers["Location"])


class _Stays(urllib.request.HTTPRedirectHandler):
    """A browser that does not go where it is sent."""

    def redirect_request(self, *_: object) -> None:
        return None


def _post(url: str, fields: Mapping[str, str]) -> Any:
    return _read(urllib.request.Request(url, urllib.parse.urlencode(fields).encode()))


def _read(request: urllib.request.Request) -> Any:
    """The document that is the answer, if there is any."""
    answer = _sent(server.LOCAL, request)
    if answer.status >= 300:
        raise RefusedError(f"{request.get_method()} {request.full_url}: {answer.status} {answer.body}")
    return json.loads(answer.body) if answer.body else None


def _sent(browser: urllib.request.OpenerDirector, request: urllib.request.Request) -> _Answer:
    try:
        opened = browser.open(request, timeout=WAIT_SECONDS)
    except urllib.error.HTTPError as refused:
        opened = refused
    with opened:
        return _Answer(opened.status, opened.headers, opened.read().decode())
