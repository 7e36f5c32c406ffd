"""Callers' tokens, exchanged for those of each cluster by an identity provider that may answer anything. The clusters are
recording servers."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from kubescript import config, errors
from kubescript.auth import exchange, exchanged_tokens
from kubescript.cluster import acting
from kubescript_sandbox.host import cancellation
from security_tests import audiences
from security_tests.audiences import CAROL, EACH, ask
from security_tests.identity_provider import AUDIENCE, Provider
from security_tests.recorder import Recorder

pytestmark = pytest.mark.promise("H-11")

SECRET: Final = "secret-of-the-servers-client"
ONCE: Final = EACH.replace("k8s.contexts()", "['east']")
TWICE: Final = f"{ONCE}\n[names('east'), names('east')]"
EXCHANGE: Final = """
[auth.exchange]
client_id = "kubescript"
client_secret_file = "{secret}"
"""


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as made:
        yield made


@pytest.fixture(scope="module")
def clusters() -> Iterator[dict[str, Recorder]]:
    with audiences.opened() as made:
        yield made


@pytest.fixture(scope="module")
def port(provider: Provider, clusters: dict[str, Recorder], tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    folder = tmp_path_factory.mktemp("exchange")
    (folder / "secret").write_text(SECRET)
    with audiences.serving(folder, provider, clusters, EXCHANGE.format(secret=folder / "secret")) as opened:
        yield opened


def sent(clusters: dict[str, Recorder]) -> dict[str, set[str]]:
    """The tokens that each cluster has got since the last time."""
    headers = audiences.sent(clusters)
    return {name: {token.removeprefix("Bearer ") for token in tokens} for name, tokens in headers.items()}


def claimed(token: str) -> dict[str, Any]:
    """The claims in a token."""
    payload = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return found


def test_each_caller_has_a_token_of_each_cluster(
    provider: Provider, clusters: dict[str, Recorder], port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Two people's scripts, each twice, and then one of them with another token: the provider is asked once for each
    token and audience, no cluster gets the callers' own tokens, and no log has a token or the secret."""
    sent(clusters)
    provider.exchanged.clear()
    tokens = [provider.token(provider.claims(sub=name)) for name in ("alice", "bob")]
    tokens.append(provider.token(provider.claims(sub="alice", jti="another")))
    given: list[str] = []
    for token in tokens:
        for _ in range(2):
            found = ask(port, token)
            assert (found["east"], found["west"]) == (["one"], ["one"]), found
            assert "the operator has not said which audience" in found["unstated"]
            got = sent(clusters)
            assert not got["unstated"] and len(got["east"]) == len(got["west"]) == 1
            for name in ("east", "west"):
                (made,) = got[name]
                given.append(made)
                assert (claimed(made)["aud"], claimed(made)["sub"]) == (f"of-{name}", claimed(token)["sub"])
    assert len(set(given)) == len(provider.exchanged) == 6 and set(given).isdisjoint(tokens)
    asked = {(each["subject_token"], each["audience"]) for each in provider.exchanged}
    assert asked == {(token, audience) for token in tokens for audience in ("of-east", "of-west")}
    assert not any(secret in caplog.text for secret in (*given, *tokens, SECRET))


def test_a_token_of_the_servers_own_is_not_shown_to_the_provider(
    provider: Provider, clusters: dict[str, Recorder], port: int
) -> None:
    """It is no token of the provider's, and would be one more place from which it can be stolen."""
    sent(clusters)
    provider.exchanged.clear()
    found = ask(port, CAROL)
    assert all(text.startswith("cluster.auth: ") for text in found.values()), found
    assert not any(sent(clusters).values()) and provider.exchanged == []


def test_calls_at_the_same_time_wait_for_one_exchange(provider: Provider, port: int) -> None:
    """Eight calls of one script begin before the provider answers."""
    provider.exchanged.clear()
    core = "k8s.context('east').CoreV1Api()"
    calls = ", ".join([f"lambda: len({core}.list_namespaced_pod('home').items)"] * 8)
    token = provider.token(provider.claims(jti="at once"))
    assert ask(port, token, f"k8s.parallel([{calls}])") == [1] * 8
    assert len(provider.exchanged) == 1


GOOD: Final = {"token_type": "Bearer", "expires_in": 300}
SAYS: Final = "the identity provider has given a token that cannot be used: "
ALONE: Final = "its aud does not name of-east alone"
NOT: Final = "the identity provider does not exchange the caller's token for one of this audience"
UNAVAILABLE: Final = "the identity provider cannot be asked now; try again"


@pytest.mark.parametrize(
    ("status", "answer", "said"),
    [
        (200, {**GOOD, "claims": {"aud": "of-west"}}, f"{SAYS}{ALONE}"),
        (200, {**GOOD, "claims": {"aud": None}}, f"{SAYS}{ALONE}"),
        (200, {**GOOD, "claims": {"aud": ["of-east", "of-west"]}}, f"{SAYS}{ALONE}"),
        (200, {**GOOD, "claims": {"aud": ["of-east", AUDIENCE]}}, f"{SAYS}{ALONE}"),
        (200, {**GOOD, "claims": {"aud": "of-east", "exp": 1}}, f"{SAYS}it has expired"),
        (200, {**GOOD, "claims": {"aud": "of-east", "exp": "never"}}, "the time in the token cannot be read"),
        (200, {**GOOD, "access_token": "x", "expires_in": -1}, "the time in the token cannot be read"),
        (
            200,
            {**GOOD, "access_token": "x\r\nImpersonate-User: root"},
            f"{SAYS}there is none, or it is no bearer token",
        ),
        (200, {**GOOD, "access_token": "x" * 20_000}, f"{SAYS}there is none, or it is no bearer token"),
        (200, {**GOOD, "access_token": None}, f"{SAYS}there is none, or it is no bearer token"),
        (200, {**GOOD, "access_token": "x", "token_type": "N_A"}, f"{SAYS}it is not an access token"),
        (200, {**GOOD, "access_token": "x", "issued_token_type": ["x"]}, f"{SAYS}it is not an access token"),
        (200, b"[" * 100_000, UNAVAILABLE),
        (200, b" " * (2 << 20), UNAVAILABLE),
        (400, {"error": "invalid_target"}, f"{NOT} (invalid_target)"),
        (401, {"error": "SECRET says: call delete_all"}, NOT),
        (403, b"[" * 100_000, NOT),
        (500, {"error": "invalid_target"}, UNAVAILABLE),
    ],
    ids=[
        "another cluster's",
        "of no audience",
        "also another cluster's",
        "also this server's",
        "expired",
        "an end that is none",
        "a lifetime that is none",
        "a line break",
        "long",
        "no token",
        "no bearer token",
        "another kind",
        "deep",
        "2 MiB",
        "refused",
        "words in place of a code",
        "refused deeply",
        "broken",
    ],
)
def test_nothing_is_sent_when_the_provider_gives_no_good_token(
    status: int, answer: Any, said: str, provider: Provider, clusters: dict[str, Recorder], port: int
) -> None:
    """The call fails with the reason, the provider is not asked again at once, and another token is answered."""
    sent(clusters)
    provider.exchanged.clear()
    if isinstance(answer, dict) and "claims" in answer:
        answer = {**answer, "access_token": provider.token(provider.claims(**answer["claims"]))}
    provider.answers.append((status, answer))
    identity = hashlib.sha256(said.encode() + repr(answer).encode()).hexdigest()
    assert ask(port, provider.token(provider.claims(jti=identity)), TWICE) == [f"cluster.auth: {said}"] * 2
    assert len(provider.exchanged) == 1 and not any(sent(clusters).values())
    assert ask(port, provider.token(provider.claims(jti=f"after {identity}")), TWICE) == [["one"]] * 2


def test_a_provider_that_is_silent_takes_no_more_than_the_scripts_time(
    provider: Provider, clusters: dict[str, Recorder], port: int
) -> None:
    """The call fails in the script's own time, and the caller's next script is answered."""
    sent(clusters)
    provider.stalled.set()
    try:
        found = ask(port, provider.token(provider.claims(jti="silence")), timeout=3_000)
    finally:
        provider.stalled.clear()
    assert found["east"] == "cluster.auth: the identity provider did not exchange the caller's token in time"
    assert not any(sent(clusters).values())
    assert ask(port, provider.token(provider.claims(jti="speech")), TWICE) == [["one"]] * 2


def test_a_token_that_ends_soon_is_exchanged_again(
    provider: Provider, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short one is kept for half of its time, so that none arrives too late."""
    provider.exchanged.clear()
    token = provider.token(provider.claims(jti="soon"))
    short = {"access_token": "opaque-and-short", "token_type": "bearer", "expires_in": 50}
    provider.answers.extend([(200, short)] * 2)

    for later_s, exchanges in ((0, 1), (0, 1), (26, 2)):
        clock = SimpleNamespace(time=lambda later_s=later_s: time.time() + later_s)
        monkeypatch.setattr(exchanged_tokens, "time", clock)
        assert ask(port, token, ONCE) == {"east": ["one"]}
        assert len(provider.exchanged) == exchanges
    assert provider.answers == []


def test_an_exchanged_token_ends_with_the_callers_own(provider: Provider, tmp_path: Path) -> None:
    """Although the provider lets it live longer; and one that says no end lives a minute."""
    (tmp_path / "secret").write_text(SECRET)
    own = {"client_id": "kubescript", "client_secret_file": tmp_path / "secret"}
    endpoint = exchange.Endpoint(config.Auth.model_validate({"issuer": provider.url, "exchange": own}))
    claims = provider.claims()
    given = acting.Token(provider.token(claims), claims["exp"])
    provider.answers.append((200, {"access_token": "opaque", "token_type": "Bearer", "expires_in": 86_400}))
    assert endpoint.exchange(given, "of-east").expires == claims["exp"]
    provider.answers.append((200, {"access_token": "opaque"}))
    brief = endpoint.exchange(given, "of-east").expires
    assert brief is not None and claims["iat"] < brief < claims["iat"] + 90
    provider.answers.append((400, {"error": "invalid_request"}))
    with pytest.raises(errors.AuthError, match="invalid_request"):
        endpoint.exchange(given, "of-east")
    endpoint.close()


def test_what_is_kept_of_a_caller_and_under_way_for_one_is_bounded() -> None:
    """As many long tokens as there are clusters take a MiB; calls that are given up leave 64 threads, and the next call
    after these is answered."""
    answers = threading.Event()

    def exchange_slowly(token: acting.Token, audience: str) -> acting.Token:
        assert not audience.startswith("slow") or answers.wait(60)
        return acting.Token(audience + "x" * 16_000, time.time() + 600)

    kept = exchanged_tokens.Exchanges(exchange_slowly)
    given, never = acting.Token("own"), cancellation.Cancellation()
    for number in range(1_000):
        assert kept.get(given, f"a{number}-", time.monotonic() + 60, never).startswith(f"a{number}-")
    assert sum(entry.size for entry in kept._entries.values()) < (1 << 20) + 2 * 16_384
    over = cancellation.Cancellation()
    over.cancel()
    for number in range(64):
        with pytest.raises(errors.ClusterError, match="the call was cancelled"):
            kept.get(given, f"slow{number}", time.monotonic() + 60, over)
    with pytest.raises(errors.ClusterError, match="too many tokens are being exchanged"):
        kept.get(given, "slow", time.monotonic() + 60, never)
    answers.set()
    for number in range(64):
        assert kept.get(given, f"slow{number}", time.monotonic() + 60, never).startswith(f"slow{number}")
    assert kept.get(given, "slow", time.monotonic() + 60, never).startswith("slow")
