"""Callers log in at a real identity provider: Keycloak, which signs, rotates, expires and revokes as it does for teams."""

from __future__ import annotations

import contextlib
import hashlib
import json
import secrets
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jwt
import pytest
from mcp.client import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from kubescript.auth import claims as token_claims
from kubescript.auth import keys as token_keys
from kubescript.auth import provider as token_provider
from kubescript.transports import ending, status
from tests.kit import clients, echoing, http_server, patience, trails
from tests.kit.identity_provider import IdentityProvider, RefusedError

RESOURCE = "https://kubescript.example.com/mcp"
READ, WRITE = "kubescript:read", "kubescript:write"
SETTINGS = """
[auth]
issuer = "{issuer}"
user_claim = "preferred_username"
scopes = ["kubescript:read"]

[[access]]
scopes = ["kubescript:write"]

[[access]]
groups = ["payments"]
toolsets = ["code", "openstack"]
"""


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


@pytest.fixture(scope="module")
def served(identity_provider: IdentityProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server whose callers log in at the provider."""
    folder = tmp_path_factory.mktemp("logins")
    settings = folder / "settings.toml"
    settings.write_text(SETTINGS.format(issuer=identity_provider.issuer))
    flags = ["--toolsets", "code,kubectl,openstack", "--snapshot", str(trails.snapshot(folder))]
    with echoing.toolsets(), http_server.serving([*flags, "--config", str(settings)]) as port:
        yield port


@pytest.fixture
def port(identity_provider: IdentityProvider, served: int) -> int:
    """Tokens are for that server."""
    identity_provider.resource(f"http://127.0.0.1:{served}/mcp")
    return served


@pytest.mark.parametrize(
    ("path", "tool", "arguments", "answer"),
    [("/mcp", "evaluate_script", {"script": trails.COUNT}, "1"), ("/openstack/", "openstack-cli", {}, "{}")],
)
def test_a_client_of_mcp_registers_itself_and_logs_a_person_in(
    identity_provider: IdentityProvider, port: int, path: str, tool: str, arguments: dict[str, str], answer: str
) -> None:
    """From a 401 to an answered call with nothing configured: where to log in, registration, PKCE, the login page,
    the code."""
    memory, redirects = Memory(), list[str]()

    async def shown(url: str) -> None:
        redirects.append(await anyio.to_thread.run_sync(identity_provider.log_in, url, "bob"))

    async def returned() -> AuthorizationCodeResult:
        said = {name: values[0] for name, values in urllib.parse.parse_qs(redirects[-1].partition("?")[2]).items()}
        return AuthorizationCodeResult(code=said["code"], state=said["state"], iss=said["iss"])

    async def ask() -> str:
        url = f"http://127.0.0.1:{port}{path}"
        about = OAuthClientMetadata(client_name="A client", redirect_uris=[AnyUrl("http://127.0.0.1:33418/callback")])
        auth = OAuthClientProvider(url, about, memory, shown, returned)
        async with (
            httpx2.AsyncClient(auth=auth, timeout=60, trust_env=False) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            assert [listed.name for listed in (await client.list_tools()).tools] == [tool]
            return clients.text(await client.call_tool(tool, arguments))

    assert anyio.run(ask) == answer
    assert memory.client is not None


def test_scopes_and_groups_say_what_a_caller_has(identity_provider: IdentityProvider, port: int) -> None:
    """A scope of the token opens a second toolset; who is in no group that a rule names is not let in."""
    assert tools(port, identity_provider.token("bob", (READ, WRITE))) == {"evaluate_script", "kubectl_get"}
    assert tools(port, identity_provider.token("bob", (READ,))) == {"evaluate_script"}
    refused = asked(port, identity_provider.token("eve", (READ,)))
    assert (refused.status_code, "[[access]]" in refused.text) == (403, True)


def test_a_token_without_the_scope_is_told_which_one_it_needs(identity_provider: IdentityProvider, port: int) -> None:
    answer = asked(port, identity_provider.token("bob"))
    assert answer.status_code == 403
    assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
    assert f'scope="{READ}"' in answer.headers["www-authenticate"]


def test_a_token_for_another_server_is_refused(identity_provider: IdentityProvider, port: int) -> None:
    identity_provider.resource(RESOURCE)
    answer = asked(port, identity_provider.token("bob", (READ,)))
    assert (answer.status_code, "another audience" in answer.text) == (401, True)


@pytest.mark.parametrize("audience", ["/mcp", "/openstack", "/openstack/"])
def test_a_token_for_one_endpoint_is_good_at_the_others(
    identity_provider: IdentityProvider, port: int, audience: str
) -> None:
    """They are one server with one set of rules."""
    identity_provider.resource(f"http://127.0.0.1:{port}{audience}")
    token = identity_provider.token("bob", (READ,))
    for path in ("/mcp", "/openstack/"):
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        url = f"http://127.0.0.1:{port}{path}"
        assert httpx2.post(url, headers=headers, json=echoing.LIST, timeout=60).status_code == 200


def test_a_token_is_refused_once_it_has_expired(
    identity_provider: IdentityProvider, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_claims, "LEEWAY_S", 1)  # clocks may differ by ten seconds
    token = identity_provider.token("bob", (READ,), seconds=1)
    patience.until(lambda: asked(port, token).status_code != 200)
    assert "expired" in asked(port, token).text
    assert asked(port, identity_provider.token("bob", (READ,))).status_code == 200


def test_keys_may_be_rotated_while_callers_are_served(identity_provider: IdentityProvider, port: int) -> None:
    """Tokens of the new key are taken at once; those of a key that is withdrawn, once the published keys are read."""
    before = identity_provider.token("bob", (READ,))
    assert asked(port, before).status_code == 200
    identity_provider.rotate_keys(disable_old=True)
    after = identity_provider.token("bob", (READ,))
    patience.until(lambda: asked(port, after).status_code == 200)  # keys that were fetched a moment ago are kept
    assert asked(port, before).status_code == 401


def test_the_provider_may_be_asked_about_tokens_instead(identity_provider: IdentityProvider, tmp_path: Path) -> None:
    """By introspection: a token of a session that is over is refused, and one of a new session is not."""
    secret = tmp_path / "secret"
    secret.write_text(identity_provider.client_secret)
    settings = tmp_path / "settings.toml"
    settings.write_text(
        f'[auth]\naudience = ["{RESOURCE}"]\nuser_claim = "preferred_username"\n'
        f'[auth.introspection]\nurl = "{identity_provider.introspection_url}"\n'
        f'client_id = "{identity_provider.introspection_client_id}"\nclient_secret_file = "{secret}"\n'
    )
    snapshot = trails.snapshot(tmp_path)
    identity_provider.resource(RESOURCE)
    with http_server.serving(["--toolsets", "code", "--snapshot", str(snapshot), "--config", str(settings)]) as port:
        over = identity_provider.token("bob")
        identity_provider.log_out("bob")
        assert asked(port, over).status_code == 401
        assert asked(port, identity_provider.token("bob")).status_code == 200
        assert asked(port, "no token at all").status_code == 401


def test_callers_are_served_while_the_provider_is_away(identity_provider: IdentityProvider, port: int) -> None:
    """Its keys are known; who has a token keeps it."""
    token = identity_provider.token("bob", (READ,))
    assert asked(port, token).status_code == 200
    with identity_provider.silent():
        assert asked(port, token).status_code == 200
    assert asked(port, identity_provider.token("eve")).status_code == 403


def test_a_provider_that_gives_no_keys_is_seen(
    identity_provider: IdentityProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any caller comes, in /ready, which stays ready, and in the metric; once it gives them, all is well."""
    for module, name in ((status, "_READY_S"), (status, "_METRICS_S"), (token_keys, "_COOLDOWN_S")):
        monkeypatch.setattr(module, name, 0.1)
    monkeypatch.setattr(token_provider, "_TIMEOUT_S", 0.5)
    monkeypatch.setattr(ending, "_TICKS", 0)  # no balancer asks /ready
    token = secrets.token_hex(32)
    digest = hashlib.sha256(token.encode()).hexdigest()
    settings = tmp_path / "settings.toml"
    settings.write_text(SETTINGS.format(issuer=identity_provider.issuer) + f'[auth.tokens]\nann = "sha256:{digest}"\n')
    flags = ("--toolsets", "code", "--snapshot", str(trails.snapshot(tmp_path)), "--config", str(settings))
    with contextlib.ExitStack() as silence:
        silence.enter_context(identity_provider.silent())
        with http_server.serving(flags) as port:

            def found(path: str) -> str:
                headers = {"authorization": f"Bearer {token}"}
                return httpx2.get(f"http://127.0.0.1:{port}/{path}", headers=headers, timeout=60).text

            patience.until(lambda: "the identity provider cannot be asked now" in found("ready"))
            assert '"status":"ready"' in found("ready")
            patience.until(lambda: 'kubescript_check_ok{check="callers"} 0.0' in found("metrics"))
            silence.close()
            patience.until(lambda: '"callers":"ok"' in found("ready"))
            patience.until(lambda: 'kubescript_check_ok{check="callers"} 1.0' in found("metrics"))


def asked(port: int, token: str) -> httpx2.Response:
    """What a caller with this token gets for a ping."""
    headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    return httpx2.post(f"http://127.0.0.1:{port}/mcp", headers=headers, json=call, timeout=60)


def tools(port: int, token: str) -> set[str]:
    """Some of the caller's tools."""
    headers = {"authorization": f"Bearer {token}"}
    found = httpx2.get(f"http://127.0.0.1:{port}/tools", headers=headers, timeout=60).json()["result"]["tools"]
    return {tool["name"] for tool in found} & {"evaluate_script", "kubectl_get"}
