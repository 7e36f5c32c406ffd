"""Attacks on the log-in to the team's page at an identity provider: forged and foreign ID tokens, answers that belong to
another log-in or come twice, and sessions that outlive what they rest on."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import ssl
import time
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib import parse

import httpx2
import pytest

from kubescript.auth import provider as auth_provider
from kubescript.changes.page import rates
from kubescript_safety.controlplane import pki
from security_tests import identity_provider, recorder
from security_tests.identity_provider import Provider
from tests.kit import http_server, patience
from tests.kit.team_page import PLANS, Person, Team
from tests.kit.visitor import Answer

pytestmark = pytest.mark.promise("V-05")

ADDRESSES: Final = iter(range(1, 255))
CLIENT: Final = "page"
SETTINGS: Final = """
writes = "plan"
[plans]
store = "{folder}/plans/plans.db"
[plans.login]
client_id = "page"
client_secret_file = "{folder}/secret"
[auth]
issuer = "{issuer}"
audience = ["kubescript-of-these-tests"]
scopes = ["plans"]
"""
LOGIN: Final = "/approvals/login/start"
CALLBACK: Final = "/approvals/callback"


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as opened:
        yield opened


@pytest.fixture(scope="module")
def team(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    """A server whose people log in at the provider; no cluster is called.

    It waits for the provider for a minute, and counts what has failed in an hour: sixty guesses take a slow machine longer
    than the five seconds and the minute of a real one."""
    folder = tmp_path_factory.mktemp("logins")
    (folder / "secret").write_text("client-secret")
    file = folder / "settings.toml"
    file.write_text(SETTINGS.format(folder=folder, issuer=provider.url))
    with recorder.Recorder() as cluster, pytest.MonkeyPatch.context() as patch:
        patch.setattr(auth_provider, "_TIMEOUT_S", 60.0)
        patch.setattr(rates, "_MINUTE_S", 3600.0)
        flags = ("--toolsets", "code", "--kubeconfig", str(cluster.kubeconfig(folder)), "--config", str(file))
        with http_server.serving(flags) as port:
            yield Team(f"http://127.0.0.1:{port}", {})


@dataclass
class Attempt:
    """A log-in that a browser has begun."""

    team: Team
    provider: Provider
    person: Person = field(init=False)
    asked: dict[str, str] = field(init=False)
    """What the browser was sent to the provider with."""

    def __post_init__(self) -> None:
        """Begins it."""
        self.person = Person(self.team)
        # Failed log-ins are counted by address.
        self.person.visitor.source = f"127.0.2.{next(ADDRESSES)}"
        answer = self.person.get(LOGIN)
        assert answer.status == 303, answer.body
        address, _, query = answer.headers["location"].partition("?")
        assert address == f"{self.provider.url}/authorize"
        self.asked = dict(parse.parse_qsl(query))

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Those of a good ID token, with some changed."""
        return self.provider.claims(**{"aud": CLIENT, "nonce": self.asked["nonce"], "typ": "ID", **changed})

    def finish(self, token: str | None = None, scope: str = "openid plans", **changed: str) -> Answer:
        """Comes back with a code for which the provider gives this ID token, or else a good one."""
        code = f"code-{time.monotonic_ns()}"
        token = token if token is not None else self.provider.token(self.claims())
        self.provider.granted[code] = {"id_token": token, "access_token": "x", "token_type": "Bearer", "scope": scope}
        query = {"code": code, "state": self.asked["state"], **changed}
        return self.person.get(f"{CALLBACK}?{parse.urlencode(query)}")

    @property
    def is_in(self) -> bool:
        """Whether the browser may open the page now."""
        return self.person.get(PLANS).status == 200


@pytest.fixture
def attempt(team: Team, provider: Provider) -> Attempt:
    return Attempt(team, provider)


def test_a_person_logs_in_with_a_proof_of_the_browser(attempt: Attempt, provider: Provider, team: Team) -> None:
    """With PKCE and the client's secret; the page that ends the log-in leads to the plans by itself."""
    done = attempt.finish()
    assert done.status == 200 and f"url={PLANS}" in done.body and attempt.is_in
    sent = provider.exchanged[-1]
    challenge = base64.urlsafe_b64encode(hashlib.sha256(sent["code_verifier"].encode()).digest()).rstrip(b"=").decode()
    assert (attempt.asked["code_challenge"], attempt.asked["code_challenge_method"]) == (challenge, "S256")
    assert sent["redirect_uri"] == attempt.asked["redirect_uri"] == f"{team.url}{CALLBACK}"


FORGED: Final[dict[str, dict[str, Any]]] = {
    "another issuer": {"iss": "https://evil.example"},
    "another audience": {"aud": "another-client"},
    "the audience of access tokens": {"aud": identity_provider.AUDIENCE},
    "several audiences and no authorized party": {"aud": [CLIENT, "another-client"]},
    "another authorized party": {"azp": "another-client"},
    "no nonce": {"nonce": None},
    "another nonce": {"nonce": "x" * 43},
    "a nonce that is no text": {"nonce": 1},
    "expired": {"exp": 1},
    "without an end": {"exp": None},
    "an access token": {"typ": "Bearer"},
    "an access token of Cognito": {"token_use": "access"},
    "without a user": {"sub": None},
}


@pytest.mark.parametrize("changed", FORGED.values(), ids=FORGED)
def test_an_id_token_that_is_not_for_this_log_in_opens_nothing(attempt: Attempt, changed: dict[str, Any]) -> None:
    """Although the provider has signed it and gives it for the code."""
    answer = attempt.finish(attempt.provider.token(attempt.claims(**changed)))
    assert answer.status == 403 and not attempt.is_in


@pytest.mark.parametrize("how", ["none", "None", "public key", "secret", "another key", "no token"])
def test_an_id_token_that_the_provider_has_not_signed_opens_nothing(attempt: Attempt, how: str) -> None:
    """No signature, the public key or a public secret as one of HS256, a stranger's key."""
    claims, provider = attempt.claims(), attempt.provider
    if how == "another key":
        token = provider.token(claims, key=provider.stranger)
    elif how == "no token":
        token = ""
    elif how in {"public key", "secret"}:
        secret = provider.pem if how == "public key" else identity_provider.OCT
        token = identity_provider.hs256(secret, {"kid": "one" if how == "public key" else "oct"}, claims)
    else:
        written = identity_provider.written
        token = f"{written({'alg': how, 'kid': 'one'}).decode()}.{written(claims).decode()}."
    assert attempt.finish(token).status == 403 and not attempt.is_in


@pytest.mark.parametrize("changed", [{"state": ""}, {"state": "x" * 43}, {"iss": "https://evil.example"}, {"code": ""}])
def test_an_answer_that_is_not_of_this_log_in_opens_nothing(attempt: Attempt, changed: dict[str, str]) -> None:
    """Another state, another provider's answer (mix-up), a refusal. No code is spent for it."""
    before = len(attempt.provider.exchanged)
    assert attempt.finish(**changed).status == 403 and not attempt.is_in
    assert len(attempt.provider.exchanged) == before


def test_the_answer_of_another_browsers_log_in_opens_nothing(team: Team, provider: Provider) -> None:
    """Attack: a page of another site sends this browser to the end of its own owner's log-in."""
    victim, attacker = Attempt(team, provider), Attempt(team, provider)
    assert victim.finish(state=attacker.asked["state"]).status == 403 and not victim.is_in
    stranger = Attempt(team, provider)
    stranger.person.cookies.clear()
    assert stranger.finish().status == 403 and not stranger.is_in
    assert attacker.finish().status == 200 and attacker.is_in


def test_guessed_codes_are_bounded(team: Team, provider: Provider) -> None:
    """Attack: a stranger begins a log-in, and sends made-up codes to the provider in this server's name. After thirty, no
    more go there; another address logs in meanwhile."""
    guesser = Attempt(team, provider)
    kept, before = dict(guesser.person.cookies), len(provider.exchanged)
    assert [guess(guesser, kept) for _ in range(33)] == [403] * 30 + [429] * 3
    assert len(provider.exchanged) == before + 30
    assert Attempt(team, provider).finish().status == 200


def test_codes_that_are_guessed_at_once_are_bounded(team: Team, provider: Provider) -> None:
    """Attack: they come at the same time, to a provider that takes its time, so that none has failed yet and no one else's
    log-in has a place."""
    guesser, other = Attempt(team, provider), Attempt(team, provider)
    kept, before = dict(guesser.person.cookies), len(provider.exchanged)
    provider.stalled.set()
    with futures.ThreadPoolExecutor(60) as pool:
        guesses = [pool.submit(guess, guesser, kept) for _ in range(60)]
        patience.until(lambda: sum(each.done() for each in guesses) == 30)
        provider.stalled.clear()
        assert other.finish().status == 200
        assert sorted(each.result() for each in guesses) == [403] * 30 + [429] * 30
    assert len(provider.exchanged) == before + 31


def test_another_sites_page_keeps_no_one_from_logging_in(team: Team, provider: Provider) -> None:
    """Attack: it has the browser of a person who logs in come back from the provider again and again: as a picture, which
    brings no cookie, and as a window, which brings it."""
    victim = Attempt(team, provider)
    kept = dict(victim.person.cookies)
    for cookies in ({}, kept):
        victim.person.visitor.cookies = dict(cookies)
        for query in ("", "?state=x&code=x", f"?state={victim.asked['state']}&error=access_denied"):
            assert {victim.person.get(f"{CALLBACK}{query}").status for _ in range(11)} == {403}
    assert victim.person.cookies == kept
    assert victim.finish().status == 200 and victim.is_in


def guess(attempt: Attempt, cookies: dict[str, str]) -> int:
    """The answer to a made-up code, from a browser that keeps its cookies."""
    browser = Person(attempt.team)
    browser.visitor.source, browser.visitor.cookies = attempt.person.visitor.source, dict(cookies)
    query = {"code": "made-up", "state": attempt.asked["state"]}
    return browser.get(f"{CALLBACK}?{parse.urlencode(query)}").status


def test_an_answer_counts_once(attempt: Attempt) -> None:
    """The browser that has logged in has nothing left with which the answer fits."""
    assert attempt.finish().status == 200
    attempt.person.visitor.cookies = {name: value for name, value in attempt.person.cookies.items() if value}
    assert not any(name.endswith("-login") for name in attempt.person.cookies)
    assert attempt.finish().status == 403
    assert attempt.is_in


@pytest.mark.parametrize("where", ["//evil.example", "https://evil.example/", "../../mcp", "x/../../.."])
def test_the_end_of_a_log_in_leads_nowhere_else(attempt: Attempt, where: str) -> None:
    """Also when the browser's own note of where to go on is another one."""
    (name,) = attempt.person.cookies
    secret, _, _ = attempt.person.cookies[name].partition(".")
    attempt.person.cookies[name] = f"{secret}.{where}"
    done = attempt.finish()
    assert done.status == 200 and f'href="{PLANS}"' in done.body and "evil" not in done.body


def test_a_log_in_needs_the_scopes_that_a_token_needs(attempt: Attempt, team: Team, provider: Provider) -> None:
    """What the provider has granted counts, not what was asked for."""
    assert "plans" in attempt.asked["scope"].split()
    assert attempt.finish(scope="openid").status == 403 and not attempt.is_in
    again = Attempt(team, provider)
    assert again.finish().status == 200 and again.is_in


def test_a_session_does_not_outlive_its_id_token(attempt: Attempt) -> None:
    """It ends with the second that the token names."""
    until = int(time.time()) + 4
    attempt.finish(attempt.provider.token(attempt.claims(exp=until)))
    patience.until(lambda: time.time() >= until)
    assert attempt.person.get(PLANS).headers["location"] == "/approvals/login"


def test_a_session_of_a_certificate_needs_it_each_time(provider: Provider, tmp_path: Path) -> None:
    """The cookie alone is worth nothing, nor with another person's certificate; and a certificate alone opens nothing."""
    authority = pki.Authority()
    authority.serving(["localhost"], ["127.0.0.1"]).write(tmp_path, "server")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    (tmp_path / "secret").write_text("client-secret")
    files = f'cert_file = "{tmp_path}/server.crt"\nkey_file = "{tmp_path}/server.key"\n'
    tables = f'[tls]\n{files}client_ca_file = "{tmp_path}/ca.crt"\n'
    (tmp_path / "settings.toml").write_text(SETTINGS.format(folder=tmp_path, issuer=provider.url) + tables)
    with recorder.Recorder() as cluster:
        flags = ("--kubeconfig", str(cluster.kubeconfig(tmp_path)), "--config", str(tmp_path / "settings.toml"))
        with http_server.serving(("--toolsets", "code", *flags)) as port, contextlib.ExitStack() as opened:
            url = f"https://127.0.0.1:{port}"
            names = ("ann", "ben", "")
            ann, ben, nobody = (opened.enter_context(secure(authority, tmp_path, url, name)) for name in names)
            assert ann.get(PLANS).status_code == 303
            assert "as ann" in page(ann.get("/approvals/login").text)
            begun = ann.post("/approvals/login", data={"plan": ""}, headers={"Origin": url})
            assert begun.status_code == 303 and ann.get(PLANS).status_code == 200
            cookie = begun.headers["set-cookie"].partition(";")[0]
            assert cookie.startswith("__Host-kubescript-")
            assert nobody.get(PLANS, headers={"Cookie": cookie}).status_code == 303
            assert ann.get(PLANS).status_code == 303  # the attack has ended it
            ann.post("/approvals/login", data={"plan": ""}, headers={"Origin": url})
            cookie = f"{cookie.partition('=')[0]}={next(iter(ann.cookies.values()))}"
            assert ben.get(PLANS, headers={"Cookie": cookie}).status_code == 303
            assert nobody.post("/approvals/login", data={"plan": ""}, headers={"Origin": url}).status_code == 403


def secure(authority: pki.Authority, folder: Path, url: str, user: str) -> httpx2.Client:
    """A browser with a certificate, where it has a name."""
    context = ssl.create_default_context(cadata=authority.certificate.decode())
    if user:
        authority.client(user, ()).write(folder, user)
        context.load_cert_chain(folder / f"{user}.crt", folder / f"{user}.key")
    return httpx2.Client(base_url=url, verify=context, timeout=60, trust_env=False)


def page(body: str) -> str:
    """The words of a page."""
    return Answer(200, {}, body).page.words


def test_a_clients_token_logs_nobody_in(team: Team, provider: Provider) -> None:
    """Attack: a client logs in with the access token that it has for its calls, and approves its own plan."""
    token = provider.token(provider.claims(scope="plans"))
    person = Person(team)
    assert person.log_in(token).status == 403 and person.get(PLANS).status == 303
    headers = {"Authorization": f"Bearer {token}"}
    assert person.get("/info", **headers).status == 200
    assert person.get(PLANS, **headers).status == 303
