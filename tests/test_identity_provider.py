"""The identity provider of the tests is a real one: Keycloak signs, rotates, expires and revokes as it does for teams."""

from __future__ import annotations

import http.server
import json
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.identity_provider import IdentityProvider, RefusedError

pytestmark = pytest.mark.slow

RESOURCE = "https://kubescript.example.com/mcp"
READ, WRITE = "kubescript:read", "kubescript:write"


@pytest.fixture
def provider(identity_provider: IdentityProvider) -> IdentityProvider:
    """Its tokens are for `RESOURCE`."""
    identity_provider.resource(RESOURCE)
    return identity_provider


def document(url: str) -> Any:
    """What is at a URL of this machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=60) as answer:
        return json.load(answer)


def keys(provider: IdentityProvider) -> dict[str, jwt.PyJWK]:
    """The published keys, found from nothing but the issuer's name."""
    found = document(f"{provider.issuer}/.well-known/openid-configuration")
    assert found["issuer"] == provider.issuer
    assert found["introspection_endpoint"] == provider.introspection_url
    published = jwt.PyJWKSet.from_dict(document(found["jwks_uri"])).keys
    return {str(key.key_id): key for key in published if key.public_key_use == "sig"}


def key_id(token: str) -> str:
    return str(jwt.get_unverified_header(token)["kid"])


def verified(provider: IdentityProvider, token: str) -> dict[str, Any]:
    """The claims of a token, as a stranger verifies it. Raises jwt.InvalidTokenError."""
    claims: dict[str, Any] = jwt.decode(
        token, keys(provider)[key_id(token)], algorithms=["RS256"], audience=RESOURCE, issuer=provider.issuer
    )
    return claims


def test_a_token_verifies_with_the_published_keys(provider: IdentityProvider) -> None:
    """Issuer, audience, signature, groups and scopes are those which were asked for, for each user."""
    for user, groups in {"alice": ["payments", "platform"], "bob": ["payments"], "eve": []}.items():
        claims = verified(provider, provider.token(user, (READ, WRITE)))
        assert claims["preferred_username"] == user
        assert sorted(claims.get("groups", [])) == groups
        assert sorted(claims["scope"].split()) == [READ, WRITE]
        assert claims["exp"] - claims["iat"] == 300
    assert verified(provider, provider.token("eve", (READ,)))["scope"] == READ
    assert not verified(provider, provider.token("eve"))["scope"]
    with pytest.raises(RefusedError, match="invalid_grant"):
        provider.token("mallory")


def test_a_token_is_for_the_resource_that_was_named(provider: IdentityProvider) -> None:
    """A token for another resource does not pass for ours; the next one does."""
    provider.resource("https://elsewhere.example.com/mcp")
    with pytest.raises(jwt.InvalidAudienceError):
        verified(provider, provider.token("alice"))
    provider.resource(RESOURCE)
    assert RESOURCE in verified(provider, provider.token("alice"))["aud"]


def test_a_short_token_expires(provider: IdentityProvider) -> None:
    """A token of one second is refused soon, by its date and by the provider; the next one is good."""
    token = provider.token("alice", seconds=1)
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["exp"] - claims["iat"] == 1
    while time.time() < claims["exp"] + 1:  # good until the end of that second
        time.sleep(0.1)
    with pytest.raises(jwt.ExpiredSignatureError):
        verified(provider, token)
    assert provider.introspect(token) == {"active": False}
    assert provider.introspect(provider.token("alice"))["active"]


def test_introspection_tells_what_a_signature_cannot(provider: IdentityProvider) -> None:
    """Who has logged out has a token that still verifies and is no longer active; another user's stays active."""
    alice, bob = provider.token("alice", (READ,)), provider.token("bob", (READ,))
    said = provider.introspect(alice)
    assert (said["active"], said["username"], said["scope"]) == (True, "alice", READ)
    provider.log_out("alice")
    assert verified(provider, alice)
    assert provider.introspect(alice) == {"active": False}
    assert provider.introspect("no token at all") == {"active": False}
    assert provider.introspect(bob)["active"]
    assert provider.introspect(provider.token("alice"))["active"]


def test_keys_are_rotated(provider: IdentityProvider) -> None:
    """New tokens name the new key. A token from before is good while its key is published, and not when it is gone."""
    old = provider.token("alice")
    fresh = provider.rotate_keys()
    new = provider.token("alice")
    assert fresh == key_id(new) != key_id(old)
    assert verified(provider, old) and verified(provider, new)
    last = provider.rotate_keys(disable_old=True)
    assert set(keys(provider)) == {last}
    assert provider.introspect(new) == {"active": False}
    assert verified(provider, provider.token("alice"))


class Resource(http.server.ThreadingHTTPServer):
    """A protected resource that tells whom it trusts, and keeps the tokens that it is shown."""

    daemon_threads = True

    def __init__(self, issuer: str) -> None:
        super().__init__(("127.0.0.1", 0), Protected)
        self.issuer = issuer
        self.origin = f"http://127.0.0.1:{self.server_port}"
        self.tokens: list[str] = []
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()


class Protected(http.server.BaseHTTPRequestHandler):
    server: Resource

    def do_GET(self) -> None:
        metadata = f"{self.server.origin}/.well-known/oauth-protected-resource"
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if self.path == "/.well-known/oauth-protected-resource":
            self.answer(200, {
                "resource": f"{self.server.origin}/mcp", "authorization_servers": [self.server.issuer],
                "scopes_supported": [READ],
            })  # fmt: skip
        elif scheme == "Bearer":
            self.server.tokens.append(token)
            self.answer(200, {})
        else:
            self.answer(401, {}, f'Bearer resource_metadata="{metadata}"')

    def answer(self, status: int, content: object, challenge: str = "") -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if challenge:
            self.send_header("WWW-Authenticate", challenge)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@pytest.fixture
def resource(provider: IdentityProvider) -> Iterator[Resource]:
    made = Resource(provider.issuer)
    yield made
    made.shutdown()
    made.server_close()


class Memory:
    """What a client keeps."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def test_a_client_of_mcp_registers_itself_and_logs_a_person_in(provider: IdentityProvider, resource: Resource) -> None:
    """From a 401 to a token with nothing configured: discovery, registration, PKCE, the login page, the code."""
    provider.resource(f"{resource.origin}/mcp")
    memory, redirects = Memory(), list[str]()

    async def shown(url: str) -> None:
        redirects.append(await anyio.to_thread.run_sync(provider.log_in, url, "bob"))

    async def returned() -> AuthorizationCodeResult:
        said = {name: values[0] for name, values in urllib.parse.parse_qs(redirects[-1].partition("?")[2]).items()}
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said["iss"])

    async def ask() -> int:
        about = OAuthClientMetadata(client_name="A client", redirect_uris=[AnyUrl("http://127.0.0.1:33418/callback")])
        auth = OAuthClientProvider(f"{resource.origin}/mcp", about, memory, shown, returned)
        async with httpx2.AsyncClient(auth=auth, timeout=60, trust_env=False) as client:
            return (await client.get(f"{resource.origin}/mcp")).status_code

    assert anyio.run(ask) == 200
    assert memory.client is not None
    claims = jwt.decode(
        resource.tokens[-1], keys(provider)[key_id(resource.tokens[-1])], algorithms=["RS256"],
        audience=f"{resource.origin}/mcp", issuer=provider.issuer,
    )  # fmt: skip
    assert claims["azp"] == memory.client.client_id
    assert (claims["preferred_username"], claims["groups"]) == ("bob", ["payments"])
    assert set(claims["scope"].split()) - {"offline_access"} == {READ}
