"""Attacks on who counts as whom on the page of a server for a team: second names, and namesakes of another issuer."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib import parse

import pytest

from security_tests.identity_provider import Provider
from tests.kit import callers, patience, trails
from tests.kit.controlplane import shared
from tests.kit.team_page import PLANS, Person, Team, make

pytestmark = pytest.mark.promise("V-05")

SHOP: Final = callers.NAMESPACES["bob"]
SETTINGS: Final = """
writes = "plan"
[plans]
store = "{folder}/plans-{name}/plans.db"
[plans.login]
client_id = "page"
client_secret_file = "{folder}/secret"
"""
AUTH: Final = """
issuer = "{issuer}"
audience = ["kubescript-of-these-tests"]
user_claim = "{claim}"
"""


@pytest.fixture(scope="module")
def known(run_folder: Any, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> callers.Callers:
    scratch = shared.attach("scratch", run_folder, run_process)
    return callers.Callers(scratch.kubeconfig, tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with Provider() as opened:
        yield opened


@contextlib.contextmanager
def serving(
    known: callers.Callers, provider: Provider, claim: str, tables: str, auth: str = "[auth]", flags: Sequence[str] = ()
) -> Iterator[Team]:
    """A server whose people log in at the provider, which says their name in this claim, and in the ways of `auth`."""
    (known.folder / "secret").write_text("client-secret")
    settings = SETTINGS.format(folder=known.folder, name=secrets.token_hex(4))
    with known.serving(settings, auth, AUTH.format(issuer=provider.url, claim=claim), tables, flags=flags) as port:
        yield Team(f"http://127.0.0.1:{port}", dict(known.secrets))


def log_in(team: Team, provider: Provider, **claims: Any) -> Person:
    """A person of whom the provider claims this."""
    person = Person(team)
    asked = dict(parse.parse_qsl(person.get("/approvals/login/start").headers["location"].partition("?")[2]))
    told = provider.claims(**{"aud": "page", "nonce": asked["nonce"], "typ": "ID", **claims})
    provider.granted["good"] = {"id_token": provider.token(told), "access_token": "x", "scope": "openid"}
    answer = person.get(f"/approvals/callback?code=good&state={asked['state']}")
    assert answer.status == 200, answer.body
    return person


def waits(person: Person, plan: str) -> bool:
    """Whether an attack has come to nothing."""
    return "Waits for a decision" in person.get(f"{PLANS}/{plan}").page.words


def test_one_person_under_several_names_is_one_person(known: callers.Callers, provider: Provider) -> None:
    """Attack: the author of a plan that two others must approve has other e-mail addresses afterwards. Each is refused; so
    is another person's second one. Two other people decide."""
    tables = f"""
[[write_policy.approvals]]
namespaces = ["{SHOP}"]
count = 2
[[approvers]]
users = ["*@example.com"]
namespaces = ["{SHOP}"]
"""
    with serving(known, provider, "email", tables) as team:

        def person(account: str, name: str) -> Person:
            return log_in(team, provider, sub=account, email=f"{name}@example.com", email_verified=True)

        mallory = provider.claims(sub="u-mallory", email="mallory@example.com", email_verified=True)
        team.secrets = {"mallory": provider.token(mallory)}
        made = team.plan("mallory", make(SHOP, f"by-names-{secrets.token_hex(3)}"))
        for name in ("mallory", "m.allory"):
            refused = person("u-mallory", name).decide(made)
            assert refused.status == 409 and "of 2 other people" in refused.page.words
        assert person("u-ann", "ann").decide(made).status == 303
        again = person("u-ann", "ann.smith").decide(made)
        assert again.status == 409 and "already" in again.page.words
        ben = person("u-ben", "ben")
        assert waits(ben, made) and ben.decide(made).status == 303
        assert not waits(ben, made)


def test_a_namesake_of_another_issuer_is_no_approver_and_no_second_person(
    known: callers.Callers, provider: Provider
) -> None:
    """Attack: at a provider where people choose their names, a stranger is called like an approver of the tokens file. The
    table that names the issuer is not for the stranger, who is called otherwise in what other tables permit. Attack: the
    author, and one who has approved, come by the other way. One name is one person; another one's approval counts."""
    tables = f"""
[[write_policy.approvals]]
namespaces = ["{SHOP}"]
count = 2
[[approvers]]
users = ["bob"]
issuer = "tokens_file"
namespaces = ["{SHOP}"]
[[approvers]]
groups = ["trusted"]
namespaces = ["{SHOP}"]
"""
    with serving(known, provider, "preferred_username", tables, known.tokens()) as team:
        made = team.plan("alice", make(SHOP, f"by-namesakes-{secrets.token_hex(3)}"))
        stranger = log_in(team, provider, sub="u-1", preferred_username="bob")
        assert made not in stranger.get().body and stranger.get(f"{PLANS}/{made}").status == 404
        other = log_in(team, provider, sub="u-2", preferred_username="bob", groups=["trusted"])
        assert other.decide(made).status == 303
        bob = team.person("bob")
        again = bob.decide(made)
        assert (
            again.status == 409 and f"user bob of {provider.url} has approved plan {made} already" in again.page.words
        )
        author = log_in(team, provider, sub="u-3", preferred_username="alice", groups=["trusted"])
        refused = author.decide(made)
        assert refused.status == 409 and "of 2 other people" in refused.page.words and waits(bob, made)
        carol = log_in(team, provider, sub="u-4", preferred_username="carol", groups=["trusted"])
        assert carol.decide(made).status == 303
        assert not waits(bob, made)


@pytest.mark.promise("A-12")
def test_a_plan_and_the_record_name_the_issuer_of_its_authors_name(
    known: callers.Callers, provider: Provider, tmp_path: Path
) -> None:
    """Attack: a stranger who is called like a caller of the tokens file, or like such a caller with the issuer, asks for a
    change. What is said of the file's own caller reads otherwise."""
    record = tmp_path / "audit.jsonl"
    tables = f"""
[[approvers]]
users = ["bob"]
issuer = "tokens_file"
namespaces = ["{SHOP}"]
"""
    flags = ("--audit", str(record))
    with serving(known, provider, "preferred_username", tables, known.tokens(), flags) as team:
        bob = team.person("bob")
        own = team.plan("alice", make(SHOP, "of-alice"))
        team.secrets = {"alice": provider.token(provider.claims(sub="u-1", preferred_username="alice"))}
        strange = team.plan("alice", make(SHOP, "of-a-namesake"))
        imitation = "alice of tokens_file"
        team.secrets = {"alice": provider.token(provider.claims(sub="u-2", preferred_username=imitation))}
        imitated = team.plan("alice", make(SHOP, "of-an-imitation"))
        for made, author in {
            own: "alice of tokens_file",
            strange: f"alice of {provider.url}",
            imitated: f"alice%20of%20tokens_file of {provider.url}",
        }.items():
            assert f"for user {author}," in bob.get(f"{PLANS}/{made}").page.words
    for kind in ("script", "call", "sent", "plan"):
        told = {(each["user"], each["issuer"], each["subject"]) for each in trails.records(record, kind)}
        assert told == {
            ("alice", "tokens_file", "uid-alice"),
            ("alice", provider.url, "u-1"),
            (imitation, provider.url, "u-2"),
        }, kind


def test_an_author_who_may_not_plan_any_more_approves_nothing_of_before(
    known: callers.Callers, provider: Provider
) -> None:
    """Although a table of approvers names the author, since it is for other callers' plans. Back in the group, the author
    may."""
    tables = f"""
[[access]]
groups = ["platform"]
[[access]]
writes = "off"
[[approvers]]
users = ["alice"]
namespaces = ["{SHOP}"]
"""
    with serving(known, provider, "sub", tables) as team:
        team.secrets = {"alice": provider.token(provider.claims(sub="alice", groups=["platform"]))}
        made = team.plan("alice", make(SHOP, f"of-before-{secrets.token_hex(3)}"))
        author, member = (log_in(team, provider, sub="alice", groups=groups) for groups in ([], ["platform"]))
        fields = {**member.form(made), "decision": "approve"}
        assert author.post(f"{PLANS}/{made}", fields).status == 403
        assert author.decide(made).status == 403 and waits(author, made)
        assert member.decide(made).status == 303 and not waits(member, made)


def test_an_approval_counts_no_more_when_its_approver_may_not_approve(
    known: callers.Callers, provider: Provider
) -> None:
    """Attack: somebody approves with a stolen token, which the operator then takes out of the file. The plan waits on after
    the other person's approval, and says whose has fallen away; with the right given back, that person approves anew."""
    tables = f"""
[[write_policy.approvals]]
namespaces = ["{SHOP}"]
count = 2
[[approvers]]
users = ["alice", "bob"]
namespaces = ["{SHOP}"]
"""
    with serving(known, provider, "sub", tables, known.tokens()) as team:
        made = team.plan("eve", make(SHOP, f"by-who-was-{secrets.token_hex(3)}"))
        assert team.person("bob").decide(made).status == 303
        file = known.folder / "tokens.csv"
        kept = file.read_text()
        file.write_text("".join(line for line in kept.splitlines(keepends=True) if ",bob," not in line))
        alice = team.person("alice")
        assert alice.decide(made).status == 303
        assert waits(alice, made) and "No longer approved by user bob" in alice.get(f"{PLANS}/{made}").page.words
        file.write_text(kept)
        patience.until(lambda: Person(team).log_in(team.secrets["bob"]).status == 303)
        assert team.person("bob").decide(made).status == 303
        assert not waits(alice, made)
