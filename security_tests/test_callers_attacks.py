"""Who would be another caller: forged, stolen and strange tokens, another's sessions, and names that are headers. The
servers are in this process, and answer on ports; their API server is a recorder, which says what reached the cluster."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
from sse_starlette import sse

from kubescript import app, config, errors
from kubescript.auth import authenticator, opaque, user
from kubescript.cluster import live
from kubescript.telemetry import evaluation
from kubescript.transports import authentication, http_connections
from security_tests import identity_provider, recorder
from security_tests.identity_provider import AUDIENCE, Provider
from tests.kit import callers, clients, extent, http_server, patience

READ: Final = "[p.metadata.name for p in k8s.CoreV1Api().list_namespaced_pod('home').items]"
FILE: Final = {"bob": "token-of-bob-0123456789", "mallory": "token-of-mallory-0123456789"}
PING: Final = {"jsonrpc": "2.0", "id": 7, "method": "ping"}
STREAMS: Final = {"Accept": "application/json, text/event-stream"}
# The server ends idle connections, perhaps just when the next request is sent on one.
HTTP: Final = httpx2.Client(timeout=60, limits=httpx2.Limits(max_keepalive_connections=0))
INITIALIZE: Final = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "attack", "version": "1"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as made:
        yield made


@pytest.fixture(scope="module")
def cluster() -> Iterator[recorder.Recorder]:
    with recorder.Recorder() as made:
        yield made


def settings(folder: Path, provider: Provider, more: str = "", top: str = 'acts_as = "impersonate"') -> str:
    """Settings with a provider, and a file of tokens beside it."""
    tokens = folder / "tokens.csv"
    tokens.write_text("".join(f"{token},{name}\n" for name, token in FILE.items()))
    tokens.chmod(0o600)
    return (
        f'{top}\n[auth]\nissuer = "{provider.url}"\naudience = ["{AUDIENCE}"]\ntokens_file = "{tokens}"\n{more}'
        '[impersonation]\ngroup_prefix = "oidc:"\n'
    )


@pytest.fixture(scope="module")
def port(provider: Provider, cluster: recorder.Recorder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A server that impersonates callers of the provider and of a file."""
    folder = tmp_path_factory.mktemp("attacks")
    file = folder / "settings.toml"
    file.write_text(settings(folder, provider))
    with http_server.serving(
        ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(folder)), "--config", str(file))
    ) as opened:
        yield opened


def asked(port: int, *authorizations: str, path: str = "info") -> httpx2.Response:
    """What a request gets that has these Authorization headers."""
    headers = [("Authorization", each) for each in authorizations]
    return HTTP.get(f"http://127.0.0.1:{port}/{path}", headers=headers)


def refused(port: int, cluster: recorder.Recorder, *tokens: str, statuses: frozenset[int] = frozenset({401})) -> None:
    """The tokens are refused, with what a client needs to log in; nothing reaches the cluster; a good one is served."""
    cluster.take()
    for token in tokens:
        answer = asked(port, f"Bearer {token}")
        assert answer.status_code in statuses, (answer.status_code, token[:200])
        assert answer.headers["www-authenticate"].startswith("Bearer resource_metadata="), token[:200]
        assert token[:60] not in answer.text, "a refusal repeats no token"
        run = HTTP.post(
            f"http://127.0.0.1:{port}/mcp", json=INITIALIZE, headers=STREAMS | {"Authorization": f"Bearer {token}"}
        )
        assert run.status_code in statuses
    assert cluster.take() == []
    assert asked(port, f"Bearer {FILE['bob']}").status_code == 200


def said(port: int, token: str, script: str = READ) -> str:
    """What a script answers to a caller."""

    async def ask() -> str:
        async with callers.connected(port, token) as client:
            return clients.text(await clients.evaluate(client, script))

    return anyio.run(ask)


# --- tokens of nobody ---

_Forge = Callable[[Provider], str]
FORGED: Final[dict[str, _Forge]] = {
    "another issuer": lambda p: p.token(p.claims(iss="https://id.example")),
    "an issuer with a slash": lambda p: p.token(p.claims(iss=p.url + "/")),
    "no issuer": lambda p: p.token(p.claims(iss=None)),
    "another audience": lambda p: p.token(p.claims(aud="another-server")),
    "no audience": lambda p: p.token(p.claims(aud=None)),
    "an empty audience": lambda p: p.token(p.claims(aud=[])),
    "an audience that begins like ours": lambda p: p.token(p.claims(aud=AUDIENCE + ".example")),
    "an audience that is an object": lambda p: p.token(p.claims(aud={AUDIENCE: True})),
    "expired": lambda p: p.token(p.claims(exp=int(time.time()) - 60)),
    "without an end": lambda p: p.token(p.claims(exp=None)),
    "an end that is a text": lambda p: p.token(p.claims(exp="never")),
    "an end that is true": lambda p: p.token(p.claims(exp=True)),
    "an end beyond reckoning": lambda p: p.token(json.dumps(p.claims()).replace('"exp": ', '"exp": 1e999, "x": ').encode()),
    "an end that is no number": lambda p: p.token(p.claims(exp=float("nan"))),
    "not valid yet": lambda p: p.token(p.claims(nbf=int(time.time()) + 600)),
    "issued in an hour": lambda p: p.token(p.claims(iat=int(time.time()) + 3_600)),
    "no algorithm": lambda p: unsigned(p, "none"),
    "no Algorithm": lambda p: unsigned(p, "nOnE"),
    "an empty algorithm": lambda p: unsigned(p, ""),
    "an algorithm that is null": lambda p: unsigned(p, None),
    "no signature": lambda p: p.token().rpartition(".")[0] + ".",
    "claims that were changed": lambda p: swapped(p, p.claims(sub="admin")),
    "the public key in PEM as the secret": lambda p: identity_provider.hs256(p.pem, {"kid": "one"}, p.claims()),
    "the public key without its end of line": lambda p: identity_provider.hs256(p.pem.strip(), {"kid": "one"}, p.claims()),
    "the public key as JSON as the secret": lambda p: identity_provider.hs256(
        json.dumps(p.public).encode(), {"kid": "one"}, p.claims()
    ),
    "the modulus as the secret": lambda p: identity_provider.hs256(p.public["n"].encode(), {"kid": "one"}, p.claims()),
    "an empty secret": lambda p: identity_provider.hs256(b"", {"kid": "one"}, p.claims()),
    "a secret that is published": lambda p: identity_provider.hs256(
        identity_provider.OCT, {"kid": "oct"}, p.claims()
    ),
    "a published secret under the name of RS256": lambda p: identity_provider.hs256(
        identity_provider.OCT, {"kid": "oct", "alg": "RS256"}, p.claims()
    ),
    "somebody else's key": lambda p: p.token(key=p.stranger),
    "a key of nobody": lambda p: p.token(header={"kid": "nobody"}, key=p.stranger),
    "no key": lambda p: p.token(header={"kid": None}, key=p.stranger),
    "a list of keys": lambda p: p.token(header={"kid": ["one"]}, key=p.stranger),
    "a key that is a path": lambda p: p.token(header={"kid": "../../../../dev/null"}, key=p.stranger),
    "a key of its own": lambda p: p.token(header={"kid": "stranger", "jwk": key_of(p)}, key=p.stranger),
    "a key of its own under a known name": lambda p: p.token(header={"jwk": key_of(p) | {"kid": "one"}}, key=p.stranger),
    "where its key is": lambda p: p.token(header={"kid": "stranger", "jku": f"{p.url}/stranger"}, key=p.stranger),
    "where its certificate is": lambda p: p.token(header={"kid": "stranger", "x5u": f"{p.url}/stranger"}, key=p.stranger),
    "a certificate of its own": lambda p: p.token(header={"kid": "stranger", "x5c": ["AAAA"]}, key=p.stranger),
    "an extension that nobody knows": lambda p: p.token(header={"crit": ["exp"], "exp": 1}, key=p.stranger),
    "a header that is a list": lambda p: f"{identity_provider.written(['RS256']).decode()}.e30.AAAA",
    "a header without end": lambda p: f"{identity_provider.written(b'[' * 8_000).decode()}.e30.AAAA",
    "claims that are a list": lambda p: p.token([1, 2]),
    "claims that are no JSON": lambda p: p.token(b"\xff\xfe"),
    "claims without end": lambda p: p.token(b"[" * 10_000),
    "claims that are deep": lambda p: p.token(
        json.dumps(p.claims(groups="x")).replace('"x"', "[" * 5_000 + "]" * 5_000).encode()
    ),
    "five parts, as what is encrypted has": lambda p: ".".join(["e30"] * 5),
    "one dot": lambda p: "a.b",
    "dots": lambda p: "." * 2_000,
    "not base64": lambda p: "!!!.???.***",
    "a megabyte less than it may be": lambda p: "x" * 15_000,
}  # fmt: skip


HEADER_KINDS: Final[tuple[object, ...]] = (
    "logout+jwt", "application/logout+jwt", "LOGOUT+JWT", "secevent+jwt", "dpop+jwt", "id_token+jwt", "JWE", 7, [],
)  # fmt: skip
CLAIM_KINDS: Final[tuple[object, ...]] = ("ID", "Refresh", "Offline", "Logout", "Action", ["Bearer"])
LOGOUT: Final = {"events": {"http://schemas.openid.net/event/backchannel-logout": {}}, "jti": "1", "sid": "s"}
OTHERS: Final[dict[str, tuple[dict[str, Any], dict[str, Any]]]] = {
    **{f"a header that says {kind!r}": ({"typ": kind}, {}) for kind in HEADER_KINDS},
    **{f"a claim that says {kind!r}": ({}, {"typ": kind}) for kind in CLAIM_KINDS},
    "a logout token with the header of others": ({}, LOGOUT),
    **{f"a use of {use!r}": ({}, {"token_use": use}) for use in ("id", "refresh_token", 1)},
    "the hash that an ID token has": ({}, {"at_hash": "x"}),
}
"""Tokens that the provider has signed for this audience, and that are no access tokens."""
ACCESS: Final = ("JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt", None)
"""Headers of access tokens: of RFC 9068, and as providers write them."""


@pytest.mark.promise("H-01")
@pytest.mark.parametrize("name", OTHERS)
def test_a_token_for_something_else_than_access_is_nobodys(
    name: str, provider: Provider, port: int, cluster: recorder.Recorder
) -> None:
    """Whether its header or its claims say so; access tokens with every header that providers write are served."""
    header, claims = OTHERS[name]
    refused(port, cluster, provider.token(provider.claims(**claims), header=header))
    assert asked(port, f"Bearer {provider.token(provider.claims(typ='Bearer'))}").status_code == 200


@pytest.mark.promise("H-01")
@pytest.mark.parametrize("kind", ACCESS)
def test_an_access_token_is_known_by_every_header_that_providers_write(
    kind: str | None, provider: Provider, port: int
) -> None:
    """The names of media types know no case, and RFC 7515 lets issuers leave out what they begin with."""
    assert asked(port, f"Bearer {provider.token(header={'typ': kind})}").status_code == 200


def introspecting(folder: Path, provider: Provider) -> Path:
    """Settings of a server that asks the provider about tokens."""
    secret, file = folder / "secret", folder / "settings.toml"
    secret.write_text("s")
    endpoint = (
        f'[auth.introspection]\nurl = "{provider.url}/introspect"\nclient_id = "k"\nclient_secret_file = "{secret}"\n'
    )
    file.write_text(settings(folder, provider, endpoint))
    return file


@pytest.mark.promise("H-01")
def test_what_introspection_calls_active_and_no_access_token_is_nobodys(
    provider: Provider, cluster: recorder.Recorder, tmp_path: Path
) -> None:
    """As Keycloak calls a refresh token; the access token of the same user is served."""
    file = introspecting(tmp_path, provider)
    provider.active["opaque-refresh-token"] = provider.claims(typ="Refresh")
    provider.active["opaque-access-token"] = provider.claims(typ="Bearer")
    flags = ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--config", str(file))
    with http_server.serving(flags) as port:
        assert asked(port, "Bearer opaque-refresh-token").status_code == 401
        assert asked(port, "Bearer opaque-access-token").status_code == 200
        for begin in (int(time.time()) + 600, "now", True):  # one whose time has not come, and times that are none
            provider.active[f"opaque-{begin}"] = provider.claims(nbf=begin)
            assert asked(port, f"Bearer opaque-{begin}").status_code == 401
        provider.active["opaque-begun"] = provider.claims(nbf=int(time.time()) - 1)
        assert asked(port, "Bearer opaque-begun").status_code == 200


def as_json(token: str) -> str:
    """The same token as JSON, with its claims between two dots."""
    head, claims, signature = token.split(".")
    return json.dumps({"payload": claims, "protected": head, "signature": signature, "x": f".{claims}."})


OTHER_SPELLINGS: Final[dict[str, _Forge]] = {
    "unused bits": lambda p: (good := p.token())[:-1] + chr(ord(good[-1]) + 1),
    "a space": lambda p: p.token().replace(".", ". "),
    "a dot more": lambda p: p.token() + ".",
    "JSON": lambda p: as_json(p.token()),
    "the other alphabet": lambda p: p.token().rpartition(".")[0] + "." + "+/" * 171,
    "a slash after the issuer": lambda p: p.token(p.claims(iss=p.url + "/")),
    "claims too deep for one reader": FORGED["claims that are deep"],
    "claims with a number too long for one reader": lambda p: p.token(
        json.dumps(p.claims(x=0)).replace('"x": 0', '"x": ' + "9" * 5_000).encode()
    ),
}
"""Tokens that a lenient reader takes for the issuer's own, and that are refused here."""


@pytest.mark.promise("H-01")
def test_what_may_be_a_token_of_the_issuer_is_asked_about_nowhere(
    provider: Provider, cluster: recorder.Recorder, tmp_path: Path
) -> None:
    """So that no reader accepts what is refused here: an API server asks for no scope. All others are asked about."""
    file = introspecting(tmp_path, provider)
    flags = ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--config", str(file))
    tokens = {name: forge(provider) for name, forge in OTHER_SPELLINGS.items()}
    asked_about = provider.token(provider.claims(iss="https://id.example"))
    with http_server.serving(flags) as port:
        for token in (*tokens.values(), asked_about, "opaque.of.no-issuer.at~all="):
            provider.active[token] = provider.claims()
        before = provider.asked["/introspect"]
        found = {name: asked(port, f"Bearer {token}").status_code for name, token in tokens.items()}
        assert found == dict.fromkeys(tokens, 401)
        assert provider.asked["/introspect"] == before
        for token in (asked_about, "opaque.of.no-issuer.at~all=", provider.token()):
            assert asked(port, f"Bearer {token}").status_code == 200


def unsigned(provider: Provider, algorithm: object) -> str:
    """A token with no signature that says so."""
    head = identity_provider.written({"alg": algorithm, "kid": "one"})
    return f"{head.decode()}.{identity_provider.written(provider.claims()).decode()}."


def swapped(provider: Provider, claims: dict[str, Any]) -> str:
    """A good token's signature under other claims."""
    head, _, signature = provider.token().split(".")
    return f"{head}.{identity_provider.written(claims).decode()}.{signature}"


def key_of(provider: Provider) -> dict[str, Any]:
    """The stranger's key as JSON."""
    found = provider.document("/stranger")
    assert found is not None
    key: dict[str, Any] = found["keys"][0]
    return key


@pytest.mark.promise("H-01")
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_token_is_nobodys(name: str, provider: Provider, port: int, cluster: recorder.Recorder) -> None:
    """It is refused, its own words about keys are not followed, and the good one is served."""
    assert asked(port, f"Bearer {provider.token()}").status_code == 200
    refused(port, cluster, FORGED[name](provider))
    assert provider.asked["/stranger"] == 0
    assert asked(port, f"Bearer {provider.token()}").status_code == 200


@pytest.mark.promise("H-01")
def test_a_token_with_one_of_two_wanted_scopes_is_refused(
    provider: Provider, cluster: recorder.Recorder, tmp_path: Path
) -> None:
    """What the operator wants of a token is wanted whole; one that has more is good."""
    auth = {"issuer": provider.url, "audience": [AUDIENCE], "scopes": ["kubescript:read", "kubescript:write"]}
    kubeconfig = cluster.kubeconfig(tmp_path)
    ways = authenticator.Authenticator(
        config.Settings.model_validate({"auth": auth}), (), lambda: live.Live(kubeconfig)
    )
    with contextlib.closing(ways):
        for scope in ("kubescript:read", "kubescript:write openid", "openid", None):
            with pytest.raises(errors.AuthError, match="lacks a scope") as caught:
                anyio.run(ways.bearer, provider.token(provider.claims(scope=scope)))
            assert caught.value.code == "auth.scope"
        good = provider.token(provider.claims(scope="openid kubescript:write kubescript:read"))
        assert anyio.run(ways.bearer, good).user.name == "alice"


HEADERS: Final = {
    "none": (),
    "two good ones": (f"Bearer {FILE['bob']}", f"Bearer {FILE['mallory']}"),
    "a good one and a bad one": (f"Bearer {FILE['bob']}", "Bearer x"),
    "the same twice": (f"Bearer {FILE['bob']}", f"Bearer {FILE['bob']}"),
    "two in one": (f"Bearer {FILE['bob']}, Bearer {FILE['mallory']}",),
    "Basic": ("Basic Ym9iOmJvYg==",),
    "no scheme": (FILE["bob"],),
    "half a token": (f"Bearer {FILE['bob'][:-1]}",),
    "a token and more": (f"Bearer {FILE['bob']} x",),
    "a longer token": (f"Bearer {FILE['bob']}x",),
    "in capitals": (f"Bearer {FILE['bob'].upper()}",),
    "20 KB": ("Bearer " + "x" * 20_000,),
}


@pytest.mark.promise("H-01")
@pytest.mark.parametrize("name", HEADERS)
def test_a_header_that_two_readers_might_read_differently_is_nobodys(name: str, port: int) -> None:
    """Neither of two tokens counts, and no token but a whole one does; a query has none."""
    assert asked(port, *HEADERS[name]).status_code == 401
    assert asked(port, path=f"info?access_token={FILE['bob']}").status_code == 401
    assert asked(port, f"bearer {FILE['bob']}").status_code == 200


@pytest.mark.promise("H-02")
def test_a_thousand_keys_of_nobody_are_a_few_questions(provider: Provider, port: int) -> None:
    """However many tokens name keys that are not there, the provider is asked every few seconds at most."""
    assert asked(port, f"Bearer {provider.token()}").status_code == 200
    before, began = provider.asked["/keys"], time.monotonic()
    with httpx2.Client(timeout=60) as client:
        for number in range(1_000):
            token = provider.token(header={"kid": f"nobody-{number}"}, key=provider.stranger) if number < 20 else (
                f"{identity_provider.written({'alg': 'RS256', 'kid': str(number)}).decode()}."
                f"{identity_provider.written(provider.claims()).decode()}.AAAA"
            )  # fmt: skip
            answer = client.get(f"http://127.0.0.1:{port}/info", headers={"Authorization": f"Bearer {token}"})
            assert answer.status_code == 401
    assert provider.asked["/keys"] - before <= 2 + (time.monotonic() - began) / 5
    assert asked(port, f"Bearer {provider.token()}").status_code == 200


# --- names ---

STRANGE: Final[dict[str, dict[str, Any]]] = {
    "a number": {"sub": 7},
    "a list": {"sub": ["alice"]},
    "an object": {"sub": {"name": "alice"}},
    "true": {"sub": True},
    "empty": {"sub": ""},
    "missing": {"sub": None},
    "an end of line": {"sub": "alice\r\nImpersonate-Group: system:masters"},
    "a nul": {"sub": "alice\0"},
    "a space that is none": {"sub": "alice\u00a0"},
    "a lone surrogate": {"sub": "alice\ud800"},
    "1,000 letters": {"sub": "a" * 1_000},
    "groups that are a number": {"groups": 7},
    "groups that are an object": {"groups": {"system:masters": True}},
    "groups with a number": {"groups": ["shop", 7]},
    "groups in groups": {"groups": [["shop"]]},
    "an end of line in a group": {"groups": ["shop\r\nImpersonate-User: admin"]},
    "600 groups": {"groups": [f"g{number}" for number in range(600)]},
    "an empty group": {"groups": [""]},
}


@pytest.mark.promise("H-03")
@pytest.mark.parametrize("name", STRANGE)
def test_strange_claims_name_nobody(name: str, provider: Provider, port: int, cluster: recorder.Recorder) -> None:
    """A token of the provider's whose user or groups are of another form is refused."""
    refused(port, cluster, provider.token(provider.claims(**STRANGE[name])))


RESERVED: Final = (
    "system:admin", "SYSTEM:admin", "system:serviceaccount:kube-system:default", " system:admin", "admin ", "\u0430lice",
)  # fmt: skip
"""Users whom no cluster is told of."""


@pytest.mark.promise("H-03")
@pytest.mark.parametrize("name", RESERVED)
def test_no_token_makes_its_user_one_of_kubernetes_own(
    name: str, provider: Provider, port: int, cluster: recorder.Recorder
) -> None:
    """Where a name cannot be told to the cluster, nothing is sent."""
    cluster.take()
    assert "you cannot be named to the cluster" in said(port, provider.token(provider.claims(sub=name)))
    assert cluster.take() == []
    assert said(port, provider.token()) == '["one"]'


@pytest.mark.promise("H-03")
def test_every_request_names_the_caller_and_his_groups_with_their_prefix(
    provider: Provider, port: int, cluster: recorder.Recorder
) -> None:
    """Lists, pages, logs, watches, discovery, custom resources and errors: no request goes out as the server itself."""
    cluster.take()
    cluster.faults = [("home/pods", 401), ("home/pods", 429), ("/pods/one ", 401), ("/pods/one/log", 401)]
    groups = ["system:masters", "shop", "a, b", "shop: x"]
    script = """
core = k8s.CoreV1Api()
core.list_namespaced_pod('home'), core.read_namespaced_pod('one', 'home')
core.read_namespaced_pod_log('one', 'home')
k8s.get('things.core.example', namespace='home')
for event in watch.Watch().stream(core.list_namespaced_pod, 'home', timeout_seconds=1):
    break
k8s.api_resources() if hasattr(k8s, 'api_resources') else None
core.get_api_resources()
'done'
"""
    assert said(port, provider.token(provider.claims(groups=groups)), script) == "done"
    seen = cluster.take()
    assert len(seen) >= 10 and cluster.faults == [], "what is sent again is among them"
    for one in seen:
        assert one.header("Impersonate-User") == ["alice"], one
        assert sorted(one.header("Impersonate-Group")) == sorted(f"oidc:{group}" for group in groups), one
        assert one.header("Authorization") == [f"Bearer {recorder.TOKEN}"], one
        assert {key.lower() for key, _ in one.headers if key.lower().startswith("impersonate-")} == {
            "impersonate-user", "impersonate-group",
        }  # fmt: skip


@pytest.mark.promise("H-03")
def test_groups_without_a_prefix_are_never_kubernetes_own(
    provider: Provider, cluster: recorder.Recorder, tmp_path: Path
) -> None:
    """What a provider calls system:masters is left out, in whatever case; an address nobody has verified names nobody."""
    file = tmp_path / "settings.toml"
    given = settings(tmp_path, provider, 'user_claim = "email"\n').replace(
        'group_prefix = "oidc:"', 'user_prefix = "id:"'
    )
    file.write_text(given)
    flags = ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--config", str(file))
    with http_server.serving(flags) as port:
        for verified in (None, False, "true", 1):
            claims = provider.claims(email="alice@example.com", email_verified=verified)
            refused(port, cluster, provider.token(claims))
        groups = ["system:masters", "System:Masters", "system:nodes", "shop"]
        claims = provider.claims(email="alice@example.com", email_verified=True, groups=groups)
        assert said(port, provider.token(claims)) == '["one"]'
        seen = cluster.take()
        assert seen
        for one in seen:
            assert one.header("Impersonate-User") == ["id:alice@example.com"]
            assert one.header("Impersonate-Group") == ["shop"]


# --- opaque tokens ---


@pytest.mark.sampled
@pytest.mark.promise("H-02")
def test_random_tokens_neither_flood_the_provider_nor_keep_known_callers_out(
    provider: Provider, cluster: recorder.Recorder, tmp_path: Path
) -> None:
    """Strangers' tokens about which the provider never answers: a caller it knows is served meanwhile, and the questions
    are bounded."""
    file = introspecting(tmp_path, provider)
    provider.active["good-opaque-token"] = provider.claims(sub="carol")
    provider.asked.clear()
    flags = ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--config", str(file))
    with (
        http_server.serving(flags) as port,
        httpx2.Client(timeout=60) as client,
        futures.ThreadPoolExecutor(100) as pool,
    ):
        url = f"http://127.0.0.1:{port}/info"
        carol = {"Authorization": "Bearer good-opaque-token"}
        assert client.get(url, headers=carol).status_code == 200
        provider.stalled.set()
        began = time.monotonic()
        ended = threading.Event()

        def stranger(number: int) -> set[int]:
            found: set[int] = set()
            with httpx2.Client(timeout=60) as other:
                while not ended.is_set():
                    token = f"Bearer random-{number}-{time.monotonic_ns()}"
                    found.add(other.get(url, headers={"Authorization": token}).status_code)
            return found

        attackers = [pool.submit(stranger, number) for number in range(90)]
        while time.monotonic() < began + extent.count(4, 1):
            assert client.get(url, headers=carol).status_code == 200
            assert asked(port, f"Bearer {provider.token()}").status_code == 200
            time.sleep(0.1)
        questions = provider.asked["/introspect"]
        ended.set()
        provider.stalled.clear()
        assert set().union(*(each.result() for each in attackers)) <= {401, 503}
        assert questions <= 100
        assert client.get(url, headers=carol).status_code == 200


class Clock:
    """A clock that a test moves on."""

    now = 1_000.0

    def monotonic(self) -> float:
        """The time."""
        return self.now


@pytest.mark.promise("H-02")
def test_an_answer_that_is_out_of_date_is_asked_for_ahead_of_strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all of the strangers' threads hang and their queue is full, a known caller is asked about at once, also
    after the provider was down; one who is revoked, or whom nobody can be asked about, is refused."""
    clock = Clock()
    monkeypatch.setattr(opaque, "time", clock)  # an answer is out of date when the test says so
    hang = threading.Event()
    answers: dict[str, user.Credential | errors.AuthError] = {"good": user.Credential(user.User("carol"))}
    asked: list[str] = []

    def way(token: str) -> user.Credential:
        asked.append(token)
        if token.startswith("random"):
            hang.wait(60)
        found = answers.get(token, errors.AuthError("nobody's"))
        if isinstance(found, errors.AuthError):
            raise found
        return found

    async def attack() -> None:
        known = opaque.Opaque([way])
        assert (await known.find("good")).user.name == "carol"
        try:
            async with anyio.create_task_group() as tasks:
                for number in range(1_000):
                    tasks.start_soon(stranger, known, f"random-{number}")
                await anyio.wait_all_tasks_blocked()
                assert len(asked) < 20
                for _ in range(3):
                    clock.now += opaque.KNOWN_S
                    assert (await known.find("good")).user.name == "carol"
                assert asked.count("good") == 4
                clock.now += opaque.KNOWN_S
                carol, answers["good"] = answers["good"], errors.AuthError("down", code="auth.unavailable")
                with pytest.raises(errors.AuthError, match="down"):
                    await known.find("good")
                answers["good"] = carol
                clock.now += opaque._REFUSED_S
                assert (await known.find("good")).user.name == "carol"
                clock.now += opaque.KNOWN_S
                answers["good"] = errors.AuthError("revoked")
                with pytest.raises(errors.AuthError, match="revoked"):
                    await known.find("good")
                hang.set()
        finally:
            hang.set()
        assert len(asked) < 100

    async def stranger(known: opaque.Opaque, token: str) -> None:
        with pytest.raises(errors.AuthError):
            await known.find(token)

    anyio.run(attack)


@pytest.mark.promise("H-02")
def test_many_good_tokens_of_one_caller_push_no_other_out() -> None:
    """The provider calls 2,100 tokens of mallory good; then strangers take all questions, and carol is still known."""
    asked: list[str] = []

    def way(token: str) -> user.Credential:
        asked.append(token)
        return user.Credential(user.User("carol" if token == "good" else "mallory"))

    async def attack() -> None:
        known = opaque.Opaque([way])
        monkey = known._strangers
        known._strangers = opaque.Questions()
        await known.find("good")
        for number in range(2_100):
            await known.find(f"good-{number}")
        known._strangers = monkey
        asked.clear()
        assert (await known.find("good")).user.name == "carol"
        assert asked == []
        assert (await known.find("good-2099")).user.name == "mallory"
        assert asked == []

    anyio.run(attack)


@pytest.mark.promise("H-02")
def test_questions_about_one_callers_many_tokens_leave_places_for_others() -> None:
    """Answers about 200 tokens of mallory are out of date, and the provider hangs over them; about carol's it is asked at
    once, and about mallory's when it goes on."""
    hangs, may_go_on, asked = threading.Event(), threading.Event(), threading.Semaphore(0)

    def way(token: str) -> user.Credential:
        if hangs.is_set() and token != "good":
            asked.release()
            may_go_on.wait(60)
        return user.Credential(user.User("carol" if token == "good" else "mallory"))

    async def attack() -> None:
        known = opaque.Opaque([way], known_s=0.01)
        many = [f"good-{number}" for number in range(200)]
        for token in ("good", *many):
            await known.find(token)
        await anyio.sleep(0.02)
        hangs.set()
        served = []

        async def use(token: str) -> None:
            with contextlib.suppress(errors.AuthError):  # more wait than may
                served.append((await known.find(token)).user.name)

        async with anyio.create_task_group() as tasks:
            try:
                for token in many:
                    tasks.start_soon(use, token)
                await anyio.to_thread.run_sync(asked.acquire)
                await anyio.wait_all_tasks_blocked()
                assert served == []
                with anyio.fail_after(60):
                    assert (await known.find("good")).user.name == "carol"
            finally:
                may_go_on.set()
        assert set(served) == {"mallory"}

    anyio.run(attack)


# --- another caller's sessions ---


def session(port: int, token: str) -> dict[str, str]:
    """The headers of a new session."""
    headers = STREAMS | {"Authorization": f"Bearer {token}"}
    answer = HTTP.post(f"http://127.0.0.1:{port}/mcp", json=INITIALIZE, headers=headers, timeout=60)
    assert answer.status_code == 200, answer.text
    found = headers | {"Mcp-Session-Id": answer.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert HTTP.post(f"http://127.0.0.1:{port}/mcp", json=ready, headers=found).status_code == 202
    return found


@pytest.mark.promise("H-04")
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_the_id_of_another_callers_session_is_nobodys(method: str, port: int) -> None:
    """It can be neither used, listened to, resumed nor ended, and its owner goes on."""
    own = session(port, FILE["bob"])
    url = f"http://127.0.0.1:{port}/mcp"
    body = PING if method == "POST" else None
    for token, status in ((FILE["mallory"], 404), ("x" * 20, 401)):
        stolen = own | {"Authorization": f"Bearer {token}"}
        assert HTTP.request(method, url, headers=stolen, timeout=30, json=body).status_code == status
    stolen.pop("Authorization")
    assert HTTP.request(method, url, headers=stolen, timeout=30, json=body).status_code == 401
    assert HTTP.post(url, json=PING, headers=own).status_code == 200


@pytest.mark.promise("H-05")
def test_a_caller_is_one_whatever_scopes_his_tokens_have(provider: Provider, port: int) -> None:
    """Where no rule names a scope, none makes him another caller, with limits of his own: his sessions stay his."""
    own = session(port, provider.token(provider.claims(scope="openid")))
    for number in range(20):
        token = provider.token(provider.claims(scope=f"openid scope-{number}"))
        headers = own | {"Authorization": f"Bearer {token}"}
        assert HTTP.post(f"http://127.0.0.1:{port}/mcp", json=PING, headers=headers).status_code == 200


@pytest.mark.promise("H-05", "H-08", "H-09")
def test_a_caller_has_one_share_whatever_scopes_a_rule_names(
    provider: Provider, cluster: recorder.Recorder, tmp_path: Path
) -> None:
    """Where rules make others of tokens with other scopes and groups, his limits are those of one all the same."""
    rules = "".join(f'[[access]]\nscopes = ["scope-{number}"]\n' for number in range(4))
    file = tmp_path / "settings.toml"
    file.write_text(settings(tmp_path, provider) + f"[http]\nrequests_per_minute = 3\n{rules}[[access]]\n")
    flags = ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--config", str(file))
    with http_server.serving(flags) as port:
        tokens = [
            provider.token(provider.claims(scope=f"scope-{number}", groups=[f"group-{number}"])) for number in range(4)
        ]
        assert [asked(port, f"Bearer {token}").status_code for token in tokens] == [200, 200, 200, 429]
        assert asked(port, f"Bearer {FILE['bob']}").status_code == 200


@pytest.mark.promise("H-09")
def test_a_caller_of_many_scopes_leaves_seats_to_others(
    provider: Provider, cluster: recorder.Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where rules name scopes, each set of them is a seat: streams on all that one caller may have leave room."""
    monkeypatch.setattr(http_connections, "most", lambda _: (200, 8))
    rules = "".join(f'[[access]]\nscopes = ["scope-{number}"]\n' for number in range(12))
    file = tmp_path / "settings.toml"
    file.write_text(settings(tmp_path, provider) + f"{rules}[[access]]\n")
    flags = ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--config", str(file))
    with http_server.serving(flags) as port, contextlib.ExitStack() as stack:
        statuses = []
        for number in range(12):
            token = provider.token(provider.claims(scope=f"scope-{number}"))
            headers = {"Authorization": f"Bearer {token}"}
            stream = HTTP.stream("GET", f"http://127.0.0.1:{port}/sse", headers=headers)
            statuses.append(stack.enter_context(stream).status_code)
        assert set(statuses) == {200, 503}
        assert asked(port, f"Bearer {FILE['bob']}").status_code == 200
        assert asked(port, f"Bearer {FILE['mallory']}").status_code == 200
        stack.close()
        patience.until(lambda: asked(port, f"Bearer {token}").status_code == 200)


@pytest.mark.promise("H-05")
def test_probes_are_answered_whatever_is_counted(
    provider: Provider, cluster: recorder.Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller who has sent too much hears that the server is healthy, and nothing more; metrics are made once a second,
    however many ask."""
    made: list[bytes] = []
    scrape = app.Application.scrape

    def count(opened: app.Application, present: evaluation.Presence) -> bytes:
        made.append(scrape(opened, present))
        return made[-1]

    monkeypatch.setattr(app.Application, "scrape", count)
    file = tmp_path / "settings.toml"
    file.write_text(settings(tmp_path, provider) + "[http]\nrequests_per_minute = 2\nopen_metrics = true\n")
    flags = ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--config", str(file))
    with http_server.serving(flags) as port:
        bob = f"Bearer {FILE['bob']}"
        assert [asked(port, bob).status_code for _ in range(3)] == [200, 200, 429]
        probe = asked(port, bob, path="health")
        assert (probe.status_code, probe.json()) == (200, {"status": "healthy"})
        began = time.monotonic()
        for _ in range(200):
            assert asked(port, path="metrics").status_code == 200
        assert 1 <= len(made) <= 2 + time.monotonic() - began
        assert asked(port, f"Bearer {FILE['mallory']}").status_code == 200


@pytest.mark.promise("H-05")
def test_a_caller_may_send_so_many_bytes_in_a_minute(
    provider: Provider, cluster: recorder.Recorder, tmp_path: Path
) -> None:
    """Few large requests are as many as many small ones; another caller's are his own."""
    file = tmp_path / "settings.toml"
    file.write_text(settings(tmp_path, provider) + "[http]\nrequests_per_minute = 100\n")
    flags = ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--config", str(file))
    large = PING | {"params": {"a": "x" * 1_500_000}}
    with http_server.serving(flags) as port:

        def send(name: str) -> int:
            headers = {"Accept": "application/json", "Authorization": f"Bearer {FILE[name]}"}
            return HTTP.post(f"http://127.0.0.1:{port}/mcp", json=large, headers=headers).status_code

        assert [send("mallory") for _ in range(7)] == [200] * 5 + [429] * 2
        assert send("bob") == 200


@pytest.mark.promise("H-04")
def test_the_events_of_another_callers_session_are_not_resumed(port: int) -> None:
    """An id of an event that another has got replays nothing, in a session of one's own or in his."""
    call = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
        "name": "evaluate_script", "arguments": {"script": "'words of bob'"},
    }}  # fmt: skip
    own, other = session(port, FILE["bob"]), session(port, FILE["mallory"])
    url = f"http://127.0.0.1:{port}/mcp"
    answer = HTTP.post(url, json=call, headers=own, timeout=60)
    assert "words of bob" in answer.text
    events = [line.removeprefix("id: ").strip() for line in answer.text.splitlines() if line.startswith("id: ")]
    assert events
    for event in events:
        for headers in (other, other | {"Mcp-Session-Id": own["Mcp-Session-Id"]}):
            assert "words of bob" not in heard(url, headers | {"Last-Event-ID": event})
    assert "words of bob" in heard(url, own | {"Last-Event-ID": events[0]}, "words of bob")


@pytest.mark.promise("H-04")
def test_a_resumed_stream_has_no_event_of_another_session(port: int) -> None:
    """Two clients of one caller count their requests from the same number: who resumes hears his own answer, and
    neither the other's answer nor, by an id that he was told, any event of the other's stream."""
    own, other = session(port, FILE["bob"]), session(port, FILE["bob"])
    url = f"http://127.0.0.1:{port}/mcp"
    said = []
    for headers, words in ((own, "own words"), (other, "words of bob")):
        call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
            "name": "evaluate_script", "arguments": {"script": repr(words)},
        }}  # fmt: skip
        said.append(HTTP.post(url, json=call, headers=headers, timeout=60).text)
    first, foreign = (text.partition("id: ")[2].split()[0] for text in said)
    assert "own words" in heard(url, own | {"Last-Event-ID": first}, "own words")
    assert "words of bob" not in heard(url, own | {"Last-Event-ID": first})
    assert "words of bob" not in heard(url, own | {"Last-Event-ID": foreign})
    assert "words of bob" in heard(url, other | {"Last-Event-ID": foreign}, "words of bob")


def heard(url: str, headers: dict[str, str], words: str = "") -> str:
    """What a stream says until it has said these words, or else until it is silent for a second."""
    text, seconds = "", 60.0 if words else 1.0
    with (
        contextlib.suppress(httpx2.TimeoutException),
        HTTP.stream("GET", url, headers=headers, timeout=seconds) as stream,
    ):
        for line in stream.iter_lines():
            text += line
            if words and words in line:
                break
    return text


@pytest.mark.promise("H-04")
def test_the_stream_of_another_caller_takes_no_message(port: int) -> None:
    """Of the older SSE: whoever knows the id of a session cannot speak in it, nor can who sends two ids."""
    bob = {"Authorization": f"Bearer {FILE['bob']}"}
    mallory = {"Authorization": f"Bearer {FILE['mallory']}"}
    base = f"http://127.0.0.1:{port}"
    with HTTP.stream("GET", f"{base}/sse", headers=bob, timeout=30) as stream:
        lines = stream.iter_lines()
        path = next(line.removeprefix("data: ") for line in lines if line.startswith("data: /messages"))
        for headers, status in ((mallory, 404), ({}, 401), ({"Authorization": "Bearer x"}, 401)):
            assert HTTP.post(base + path, json=INITIALIZE, headers=headers).status_code == status
        twice = f"{path}&session_id={'0' * 32}&sessionId={'0' * 32}"
        assert HTTP.post(base + twice, json=INITIALIZE, headers=mallory).status_code == 404
        own = session(port, FILE["mallory"])
        stolen = own | {"Mcp-Session-Id": path.rpartition("=")[2]}
        assert HTTP.post(f"{base}/mcp", json=PING, headers=stolen).status_code == 404
        assert HTTP.post(base + path, json=INITIALIZE, headers=bob).status_code == 202
        assert "protocolVersion" in next(line for line in lines if line.startswith('data: {"jsonrpc'))


@pytest.mark.promise("H-04")
def test_a_caller_is_told_of_no_stream_of_anothers(port: int) -> None:
    """Neither /info nor /sse-status counts another's: who watches them would learn when somebody works."""
    bob, mallory = ({"Authorization": f"Bearer {FILE[name]}"} for name in ("bob", "mallory"))
    base = f"http://127.0.0.1:{port}"

    def counts(headers: dict[str, str]) -> tuple[int, int]:
        statistics = HTTP.get(f"{base}/info", headers=headers).json()["statistics"]
        status = HTTP.get(f"{base}/sse-status", headers=headers).json()
        return statistics["activeSSEConnections"], status["activeConnections"]

    with HTTP.stream("GET", f"{base}/sse", headers=bob, timeout=30) as stream:
        lines = stream.iter_lines()
        assert "event: endpoint" in next(lines)
        assert counts(bob) == (1, 1)
        assert counts(mallory) == (0, 0)


@pytest.mark.promise("H-01")
@pytest.mark.parametrize("path", ["mcp", "sse"])
def test_a_stream_ends_with_the_token_that_opened_it(
    path: str, provider: Provider, cluster: recorder.Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the stream is idle. The streams of other callers go on."""
    monkeypatch.setattr(authentication, "_VERIFIED_S", 0.1)
    monkeypatch.setattr(sse.EventSourceResponse, "DEFAULT_PING_INTERVAL", 1)
    file = tmp_path / "settings.toml"
    file.write_text(settings(tmp_path, provider))
    flags = ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--config", str(file))
    with http_server.serving(flags) as port, contextlib.ExitStack() as stack:
        opened = []
        for name in ("mallory", "bob"):
            headers = session(port, FILE[name])
            stream = stack.enter_context(HTTP.stream("GET", f"http://127.0.0.1:{port}/{path}", headers=headers))
            assert stream.status_code == 200
            opened.append(stream.iter_lines())
        revoked, other = opened
        assert any(revoked) and any(other), "both are pinged"
        tokens = tmp_path / "tokens.csv"
        tokens.write_text(f"{FILE['bob']},bob\n")
        heard = list(itertools.islice(revoked, 60))  # to its end, and without an error of the connection
        assert len(heard) < 60, heard
        assert any(other) and any(other)
        assert asked(port, f"Bearer {FILE['mallory']}").status_code == 401


# --- web pages ---


@pytest.mark.promise("W-05")
@pytest.mark.parametrize("token", [FILE["bob"], ""])
def test_a_page_of_another_site_gets_no_answer_even_with_a_token(token: str, port: int) -> None:
    """Wrong Host and wrong Origin are refused before anybody looks at who asks."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    for path in ("mcp", "sse", "messages", "info", "tools", "health", ".well-known/oauth-protected-resource"):
        url = f"http://127.0.0.1:{port}/{path}"
        assert HTTP.get(url, headers=headers | {"Host": "page.example"}).status_code == 421, path
        assert HTTP.get(url, headers=headers | {"Origin": "http://page.example"}).status_code == 403, path
    assert asked(port, f"Bearer {FILE['bob']}").status_code == 200
