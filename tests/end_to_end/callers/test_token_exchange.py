"""Callers' tokens are exchanged for those of a cluster: by a real Keycloak, for a real API server that trusts it and takes
another audience than this server; and in the form of Microsoft's documentation, by a recorded exchange."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import threading
import time
import urllib.parse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import anyio
import pytest

from kubescript import config, errors
from kubescript.auth import exchange, exchanged_tokens
from kubescript.cluster import acting
from kubescript_safety.controlplane import pki
from kubescript_sandbox.host import cancellation
from tests.kit import callers, clients, http_server, tls_relay
from tests.kit.controlplane.server import ControlPlane
from tests.kit.identity_provider import IdentityProvider
from tests.kit.keycloak import realm

pytestmark = pytest.mark.timeout(600)

REALM: Final = "exchange"
AUDIENCE: Final = "https://kubescript.example/mcp"
CLUSTER: Final = "prod-eu"
"""The audience of the API server."""
SETTINGS: Final = f"""
acts_as = "caller"
[auth]
issuer = "{{issuer}}"
audience = ["{AUDIENCE}"]
ca_file = "{{ca}}"
user_claim = "preferred_username"
[auth.exchange]
client_id = "{realm.INTROSPECTION}"
client_secret_file = "{{secret}}"
[contexts.test]
audience = "{CLUSTER}"
[contexts.lab]
context = "test"
audience = "lab"
"""
WHO: Final = "k8s.context({!r}).authenticationV1().create_self_subject_review({{}}).status.user_info"


def document(frontend: str) -> dict[str, Any]:
    """The realm at this URL: `claude`'s tokens are for this server, whose client may exchange them for the cluster's."""
    made = realm.document()
    public, confidential, _ = made["clients"]
    confidential["attributes"] = {"standard.token.exchange.enabled": "true"}
    cluster = {"clientId": CLUSTER, "publicClient": False, "standardFlowEnabled": False}
    audience = realm.audience("cluster", {"included.client.audience": CLUSTER})
    confidential["protocolMappers"] = [audience]
    public["protocolMappers"] = [realm.audience("server", {"included.custom.audience": AUDIENCE})]
    return {**made, "realm": REALM, "clients": [public, confidential, cluster], "attributes": {"frontendUrl": frontend}}


@dataclass(frozen=True)
class Place:
    """A server, the identity provider of its callers, and the issuer's URL."""

    port: int
    provider: IdentityProvider

    def ask(self, user: str, script: str) -> str:
        """What a user's script answers."""
        token = self.provider.token_of(REALM, user)

        async def evaluate() -> str:
            async with callers.connected(self.port, token) as client:
                return clients.text(await clients.evaluate(client, script))

        return anyio.run(evaluate)


@pytest.fixture(scope="module")
def place(identity_provider: IdentityProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("exchange")
    authority = pki.Authority()
    ca = folder / "ca.crt"
    ca.write_bytes(authority.certificate)
    (folder / "secret").write_text(realm.SECRET)
    relay = tls_relay.Relay(identity_provider.port, folder, authority)
    frontend = f"https://127.0.0.1:{relay.port}"
    identity_provider.add_realm(document(frontend))
    issuer = f"{frontend}/realms/{REALM}"
    flags = (
        f"--oidc-issuer-url={issuer}", f"--oidc-ca-file={ca}", f"--oidc-client-id={CLUSTER}",
        "--oidc-username-claim=preferred_username", "--oidc-username-prefix=oidc:", "--oidc-groups-claim=groups",
    )  # fmt: skip
    settings = folder / "settings.toml"
    settings.write_text(SETTINGS.format(issuer=issuer, ca=ca, secret=folder / "secret"))
    with ControlPlane(flags) as plane:
        given = ("--toolsets", "code", "--kubeconfig", str(plane.kubeconfig), "--config", str(settings))
        with http_server.serving(given) as port:
            yield Place(port, identity_provider)
    relay.close()


def test_a_cluster_knows_callers_by_the_tokens_that_the_provider_has_made_for_it(place: Place) -> None:
    """Each under the own name, with the own groups; the next script of the same caller too."""
    for user, groups in (("alice", {"platform", "payments"}), ("bob", {"payments"}), ("alice", {"platform"})):
        found = json.loads(
            place.ask(user, f"who = {WHO.format('test')}\n[who.username, list(who.groups)]").splitlines()[0]
        )
        assert found[0] == f"oidc:{user}" and groups <= set(found[1])


def test_an_audience_that_the_provider_does_not_give_is_an_error_that_names_its_reason(place: Place) -> None:
    """And the cluster beside it answers."""
    refused = place.ask("alice", WHO.format("lab"))
    assert "the identity provider does not exchange the caller's token for one of this audience (invalid_" in refused
    assert place.ask("alice", f"{WHO.format('test')}.username").splitlines()[0] == "oidc:alice"


# As in the examples of Microsoft's documentation ("Microsoft identity platform and OAuth 2.0 On-Behalf-Of flow", first
# case): a request with a shared secret and its answer, and a refusal. The scope is that of AKS in place of Graph's, and
# the tokens are made up. It was never tried with Entra itself.
ENTRA_REQUEST: Final = {
    "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
    "client_id": "535fb089-9ff3-47b6-9bfb-4f1264799865",
    "client_secret": "sampleCredentials",
    "assertion": "eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiIsImtpZCI6InowMzl6ZHNGdWl6cEJmQlZLMVRuMjVRSFlPMCJ9.e30.c2ln",
    "scope": "6dae42f8-4368-4678-94ff-3960e28e3630/.default",
    "requested_token_use": "on_behalf_of",
}
ENTRA_ANSWER: Final = {
    "token_type": "Bearer",
    "scope": "6dae42f8-4368-4678-94ff-3960e28e3630/user.read",
    "expires_in": 3269,
    "ext_expires_in": 0,
    "access_token": "EwCQAsAHuXOqAAAAAAAAAAABIAAAAAAAA",
    "refresh_token": "OAQABAAAAAABnfiG",
}
ENTRA_REFUSAL: Final = {
    "error": "interaction_required",
    "error_description": "AADSTS50079: Due to a configuration change made by your administrator, you must enroll in MFA.",
    "error_codes": [50079],
    "claims": '{"access_token":{"polids":{"essential":true,"values":["9ab03e19-ed42-4168-b6b7-7001fb3e933a"]}}}',
}


class Answering(http.server.BaseHTTPRequestHandler):
    """Answers each question as written down, and the last ones likewise; remembers what it was asked."""

    asked: ClassVar[list[tuple[str | None, dict[str, str]]]] = []
    answers: ClassVar[list[tuple[int, dict[str, Any]]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append((self.headers["Authorization"], dict(urllib.parse.parse_qsl(body, strict_parsing=True))))
        status, answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextlib.contextmanager
def asking(folder: Path, *answers: tuple[int, dict[str, Any]], **fields: str) -> Iterator[exchange.Endpoint]:
    """An endpoint that gives these answers, with these settings."""
    (folder / "secret").write_text(ENTRA_REQUEST["client_secret"] + "\n")
    Answering.asked.clear()
    Answering.answers[:] = answers
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering) as provider:
        threading.Thread(target=provider.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        settings = config.Auth.model_validate({"exchange": {
            "url": f"http://127.0.0.1:{provider.server_port}/organizations/oauth2/v2.0/token",
            "client_id": ENTRA_REQUEST["client_id"], "client_secret_file": folder / "secret", **fields,
        }})  # fmt: skip
        with contextlib.closing(exchange.Endpoint(settings)) as endpoint:
            yield endpoint
        provider.shutdown()


def test_on_behalf_of_asks_as_microsoft_documents_it(tmp_path: Path) -> None:
    """The request has the fields of the example and no other, and both of its answers are understood."""
    given = acting.Token(ENTRA_REQUEST["assertion"])
    audience = ENTRA_REQUEST["scope"].removesuffix("/.default")
    with asking(tmp_path, (200, ENTRA_ANSWER), (400, ENTRA_REFUSAL), form="on-behalf-of") as endpoint:
        assert endpoint.exchange(given, audience).text == ENTRA_ANSWER["access_token"]
        assert Answering.asked == [(None, ENTRA_REQUEST)]
        with pytest.raises(errors.AuthError, match=r"\(interaction_required\)$"):
            endpoint.exchange(given, audience)


def jwt_of(header: object, claims: object, signature: str = "c2ln") -> str:
    """A token of these parts."""
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (header, claims))
    return f"{'.'.join(parts)}.{signature}"


def test_a_token_that_is_not_for_the_cluster_is_not_taken_for_an_exchanged_one(tmp_path: Path) -> None:
    """Neither the caller's own opaque one, given back, nor a JWT for another audience or one that cannot be read. The
    next answer is good, and taken."""
    own, other = "opaque-token-of-the-caller", {"aud": "prod-us"}
    wrong = [
        own,
        jwt_of({"alg": "RS256"}, other),
        jwt_of({"alg": "RS256", "kid": 5}, other),
        jwt_of({"alg": "RS256", "b64": False}, other),
        jwt_of({"alg": "RS256"}, other, signature="c"),
        jwt_of({"alg": "RS256"}, {}),
    ]
    good = jwt_of({"alg": "RS256"}, {"aud": CLUSTER})
    given = acting.Token(own, time.time() + 600, frozenset({AUDIENCE}))
    with asking(tmp_path, *((200, {"access_token": text}) for text in (*wrong, good))) as endpoint:
        for _ in wrong:
            with pytest.raises(errors.AuthError, match=r"the caller's own$|its aud does not name prod-eu alone$"):
                endpoint.exchange(given, CLUSTER)
        assert endpoint.exchange(given, CLUSTER).text == good


@pytest.mark.parametrize("lives_s", [300, 25])
def test_many_requests_with_one_token_cost_one_exchange(lives_s: int, tmp_path: Path) -> None:
    """Also with a token that soon expires; another audience costs one more."""
    given = acting.Token("opaque", time.time() + lives_s, frozenset({AUDIENCE}))
    with asking(tmp_path, (200, {"access_token": "exchanged"})) as endpoint:
        kept = exchanged_tokens.Exchanges(endpoint.exchange)
        for audience in ["prod-eu"] * 20 + ["prod-us"]:
            asked = kept.get(given, audience, time.monotonic() + 60, cancellation.Cancellation())
            assert asked == "exchanged"
    assert [fields["audience"] for _, fields in Answering.asked] == ["prod-eu", "prod-us"]
