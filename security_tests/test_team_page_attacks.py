"""Attacks on the page of a server for a team: by people who are not logged in, by callers, and by other sites."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib import parse

import pytest
from kubernetes import client

from tests.kit import callers, clients, patience, webhooks
from tests.kit.controlplane import shared
from tests.kit.team_page import PLANS, Person, Team, make

pytestmark = pytest.mark.promise("V-05")

PAYMENTS: Final = callers.NAMESPACES["alice"]
SHOP: Final = callers.NAMESPACES["bob"]
SETTINGS: Final = f"""
writes = "plan"
[[write_policy.approvals]]
namespaces = ["{SHOP}"]
count = 2
[[approvers]]
users = ["bob"]
namespaces = ["{PAYMENTS}"]
[[approvers]]
groups = ["platform"]
namespaces = ["{SHOP}"]
"""
ELSEWHERE: Final[dict[str, dict[str, str]]] = {
    "another site": {"Origin": "https://evil.example"},
    "a sandboxed frame": {"Origin": "null"},
    "another port": {"Origin": "http://127.0.0.1:1"},
    "no origin": {"Origin": ""},
    "a cross-site form": {"Sec-Fetch-Site": "cross-site"},
    "a form of another port": {"Sec-Fetch-Site": "same-site"},
}


@pytest.fixture(scope="module")
def known(run_folder: Any, run_process: int, tmp_path_factory: pytest.TempPathFactory) -> callers.Callers:
    scratch = shared.attach("scratch", run_folder, run_process)
    return callers.Callers(scratch.kubeconfig, tmp_path_factory.mktemp("team"))


@pytest.fixture(scope="module")
def chat() -> Iterator[webhooks.Webhook]:
    with webhooks.opened() as opened:
        yield opened


@pytest.fixture(scope="module")
def team(known: callers.Callers, chat: webhooks.Webhook) -> Iterator[Team]:
    """Alice and Bob make plans. Bob may approve what is for Alice's namespace; Alice what is for Bob's, which takes two
    people; Eve nothing."""
    (known.folder / "webhook").write_text(chat.url)
    store = f'[plans]\nstore = "{known.folder / "plans" / "plans.db"}"\n'
    store += f'[plans.notify]\nurl_file = "{known.folder / "webhook"}"\n'
    with known.serving(SETTINGS, known.tokens(), store) as port:
        yield Team(f"http://127.0.0.1:{port}", known.secrets)


@pytest.fixture(scope="module")
def waiting(team: Team) -> str:
    """A plan of Alice's on which nobody decides."""
    return team.plan("alice", make(PAYMENTS, "undecided"))


def exists(known: callers.Callers, namespace: str, name: str) -> bool:
    """Whether a ConfigMap was made."""
    core: Any = client.CoreV1Api(known.api)
    return name in {each.metadata.name for each in core.list_namespaced_config_map(namespace).items}


def waits(team: Team, plan: str) -> bool:
    """Whether an attack has come to nothing."""
    return "Waits for a decision" in team.person("alice").get(f"{PLANS}/{plan}").page.words


def test_a_person_logs_in_and_approves_what_another_one_asked_for(
    team: Team, known: callers.Callers, chat: webhooks.Webhook
) -> None:
    """The plan waits on the approver's page, and is applied after the approval. The team's chat hears of both, and of no
    value."""
    made = team.plan("alice", make(PAYMENTS, "approved", "a-value-of-the-plan"))
    bob = team.person("bob")
    shown = bob.get()
    assert made in shown.body and "Log out" in shown.page.words
    assert bob.decide(made).status == 303
    patience.until(lambda: "Applied" in bob.get(f"{PLANS}/{made}").page.words)
    assert exists(known, PAYMENTS, "approved")
    assert "user bob" in team.person("alice").get(f"{PLANS}/{made}").page.words
    patience.until(lambda: [each["plan"] for each in chat.documents].count(made) == 2)
    own = [each for each in chat.documents if each["plan"] == made]
    assert [(each["event"], each["state"]) for each in own] == [("waiting", "pending"), ("ended", "applied")]
    assert own[0]["link"] == f"{team.url}{PLANS}/{made}" and own[0]["author"] == "user alice"
    change = {"verb": "create", "resource": "configmaps", "namespace": PAYMENTS, "count": 1}
    assert own[0]["changes"] == [change]
    assert not any(b"a-value-of-the-plan" in body for _, body in chat.sent)


def test_another_persons_plan_is_as_unknown_as_one_that_does_not_exist(team: Team, waiting: str) -> None:
    """To read it, to decide on it, and in the list; also with a form's fields that another session has got."""
    eve = team.person("eve")
    unknown = "p-" + "0" * 32
    fields = {**team.person("bob").form(waiting), "decision": "decline"}
    for answer, other in (
        (eve.get(f"{PLANS}/{waiting}"), eve.get(f"{PLANS}/{unknown}")),
        (eve.post(f"{PLANS}/{waiting}", fields), eve.post(f"{PLANS}/{unknown}", fields)),
    ):
        assert (answer.status, answer.body) == (other.status, other.body)
        assert answer.status == 404
    assert waiting not in eve.get().body
    assert waits(team, waiting)


def test_the_author_is_none_of_two_people_who_must_approve(team: Team, known: callers.Callers) -> None:
    """By the page too, where the author has another session than the client; the other person's answer counts."""
    made = team.plan("bob", make(SHOP, "by-two"))
    refused = team.person("bob").decide(made)
    assert refused.status == 409 and "of 2 other people" in refused.page.words
    alice = team.person("alice")
    assert alice.decide(made).status == 303
    again = alice.decide(made)
    assert again.status == 409 and "already" in again.page.words
    assert waits(team, made) and not exists(known, SHOP, "by-two")


@pytest.mark.parametrize("headers", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_form_of_another_site_does_nothing(team: Team, waiting: str, headers: dict[str, str]) -> None:
    """It decides on nothing, logs nobody in and nobody out, although cookie and token are right."""
    bob = team.person("bob")
    fields = {**bob.form(waiting), "decision": "decline"}
    leaving = bob.get().page.hidden_fields
    assert bob.post(f"{PLANS}/{waiting}", fields, **headers).status == 403
    assert bob.post("/approvals/logout", leaving, **headers).status == 403
    stranger = Person(team)
    assert stranger.post("/approvals/login", {"token": team.secrets["eve"]}, **headers).status == 403
    assert stranger.cookies == {}
    assert bob.get(f"{PLANS}/{waiting}").status == 200 and waits(team, waiting)


def test_a_form_of_another_session_plan_or_hash_does_nothing(team: Team, waiting: str) -> None:
    """A token is for one session, one plan, and what was shown of it."""
    other = team.plan("alice", make(PAYMENTS, "other"))
    bob, again = team.person("bob"), team.person("bob")
    form = {**bob.form(waiting), "decision": "decline"}
    wrong = [
        form | {"token": ""},
        form | {"token": again.form(waiting)["token"]},
        form | {"token": bob.form(other)["token"]},
        form | {"token": bob.get().page.hidden_fields["token"]},
        form | {"token": "\N{SNOWMAN}\x00"},
        form | {"hash": bob.form(other)["hash"]},
        form | {"decision": "Decline"},
        {"decision": "decline"},
    ]
    assert [bob.post(f"{PLANS}/{waiting}", fields).status for fields in wrong] == [403] * len(wrong)
    assert waits(team, waiting) and waits(team, other)


def test_a_log_in_begins_a_session_of_a_new_name(team: Team) -> None:
    """Whatever a browser had before is worth nothing afterwards; the earlier session has ended."""
    bob = team.person("bob")
    ((cookie, first),) = bob.cookies.items()
    for planted in ("chosen-by-somebody-else", first):
        victim = Person(team)
        victim.cookies[cookie] = planted
        assert victim.log_in(team.secrets["alice"]).status == 303
        assert victim.cookies[cookie] not in {planted, first}
        victim.cookies[cookie] = planted
        assert victim.get().status == 303
    assert bob.get().status == 303


def test_the_cookie_is_for_this_page_alone(team: Team, known: callers.Callers) -> None:
    """No script reads it and no other site's request has it; where there is TLS, no other server of the domain sets
    it, nor one whose name only looks the same after a blank that browsers do not know. A browser's own spelling of the
    address is the one that counts."""
    set_here = Person(team).log_in(team.secrets["bob"]).headers["set-cookie"].lower()
    assert "httponly" in set_here and "samesite=strict" in set_here and "path=/approvals;" in set_here
    url = '[http]\nurl = "https://Team.example.com:443/tools/mcp"\n'
    with known.serving('writes = "plan"\n', known.tokens(), url) as port:
        behind = Person(Team(f"http://127.0.0.1:{port}", known.secrets))
        origin = {"Host": "team.example.com", "Origin": "https://team.example.com"}
        answer = behind.post("/approvals/login", {"token": known.secrets["bob"]}, **origin)
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-kubescript=") and answer.headers["location"] == "/tools/approvals/plans"
        assert {"secure", "httponly", "samesite=strict", "path=/"} <= set(cookie.lower().split("; "))
        own = f"__Host-kubescript={behind.cookies['__Host-kubescript']}"
        planted = [f"a=b; {blank}{own}" for blank in ("\xa0", "\x85", "\t")]
        cookies = [*planted, f"{own}; {own}x", f"{own}x; {own}", f"a=b; {own};c"]
        statuses = [behind.get(PLANS, Cookie=each, **origin).status for each in cookies]
        assert statuses == [303] * 5 + [200]


def test_no_other_page_frames_it_and_nothing_keeps_it(team: Team, waiting: str) -> None:
    """Each answer says so, also a refusal."""
    bob = team.person("bob")
    for answer in (
        bob.get(f"{PLANS}/{waiting}"),
        bob.get(f"{PLANS}/x"),
        Person(team).get(),
        bob.get("/approvals/login"),
    ):
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY" and answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "where", ["//evil.example", "https://evil.example", "/\\evil.example", "../../mcp", "a\r\nX: y"]
)
def test_a_log_in_leads_nowhere_else(team: Team, where: str) -> None:
    """A plan's id is all that a request may say about where to go on."""
    person = Person(team)
    answer = person.log_in(team.secrets["bob"], where)
    assert (answer.status, answer.headers["location"]) == (303, PLANS)
    assert [person.get(path).status for path in ("/approvals", "/approvals/", "/approvals//evil.example")] == [
        200,
        200,
        404,
    ]
    assert "evil" not in person.get(f"/approvals/login?plan={parse.quote(where)}").body


def test_a_session_and_a_token_open_each_its_own_door(team: Team, waiting: str) -> None:
    """A client's token alone opens no page, and a person's session calls no tool."""
    bearer = {"Authorization": f"Bearer {team.secrets['bob']}"}
    assert Person(team).get(f"{PLANS}/{waiting}", **bearer).status == 303
    bob = team.person("bob")
    fields = {**bob.form(waiting), "decision": "decline"}
    assert Person(team).post(f"{PLANS}/{waiting}", fields, **bearer).status == 403
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    for path in ("/mcp", "/approvals/../mcp", "/approvals/%2e%2e/mcp", "//approvals/mcp", "/approvalsmcp"):
        answer = bob.visitor.send(
            "POST", path, ping, {"Content-Type": "application/json", "Accept": "application/json"}
        )
        assert answer.status in {401, 404, 405}, path
    assert waits(team, waiting)


def test_a_persons_sessions_are_bounded(team: Team) -> None:
    """Attack: one person logs in until the store is full. The oldest sessions end, and only that person's."""
    alice = team.person("alice")
    sessions = [team.person("eve") for _ in range(21)]
    assert [each.get().status for each in (sessions[0], sessions[1], sessions[-1], alice)] == [303, 200, 200, 200]


def test_a_persons_requests_are_bounded(known: callers.Callers) -> None:
    """As a caller's calls are; another person's are answered."""
    with known.serving('writes = "plan"\n', known.tokens(), "[http]\nrequests_per_minute = 3\n") as port:
        own = Team(f"http://127.0.0.1:{port}", known.secrets)
        eve = own.person("eve")
        assert [eve.get().status for _ in range(4)] == [200, 200, 200, 429]
        assert own.person("eve").get().status == 429 and own.person("bob").get().status == 200


def test_a_log_out_ends_the_session_itself(team: Team) -> None:
    """Not only the browser's cookie: a copy of it is worth nothing either."""
    bob = team.person("bob")
    copied = dict(bob.cookies)
    assert bob.post("/approvals/logout", bob.get().page.hidden_fields).status == 200
    thief = Person(team)
    thief.cookies.update(copied)
    assert thief.get().status == 303
    assert team.person("bob").get().status == 200


def test_guesses_of_tokens_are_bounded_and_keep_nobody_out(team: Team) -> None:
    """After thirty wrong ones at an address it gets no further answer for a minute; sessions go on."""
    bob, guesser = team.person("bob"), Person(team)
    guesser.visitor.source = "127.0.0.9"
    statuses = [guesser.log_in(f"guess-{number:016}").status for number in range(31)]
    assert statuses == [403] * 30 + [429]
    assert guesser.log_in(team.secrets["bob"]).status == 429
    assert bob.get().status == 200 and team.person("alice").get().status == 200


def test_large_and_odd_requests_are_refused(team: Team, waiting: str) -> None:
    """A form without end, a head without end, another host's name; the next request is answered."""
    bob = team.person("bob")
    fields = {**bob.form(waiting), "decision": "decline"}
    assert bob.post(f"{PLANS}/{waiting}", {**fields, "reason": "x" * 300_000}).status == 403
    assert bob.post(f"{PLANS}/{waiting}", {**fields, "override": ["1"] * 20_000}).status == 403
    assert Person(team).log_in("x" * 300_000).status == 403
    assert bob.get(PLANS, Padding="x" * 80_000).status == 431
    for host in ("evil.example", "127.0.0.1.evil.example", "127.0.0.1:x@evil.example"):
        assert bob.get(PLANS, Host=host).status in {400, 421}
    assert waits(team, waiting) and bob.get().status == 200


def test_no_text_is_markup(team: Team) -> None:
    """Neither a plan's, nor a name's, nor a token's."""
    hostile = "<script>window.pwned=1</script>"
    made = team.plan("alice", make(PAYMENTS, "hostile", hostile))
    for answer in (team.person("bob").get(f"{PLANS}/{made}"), Person(team).log_in(hostile), team.person("bob").get()):
        assert "<script" not in answer.body
    assert hostile in team.person("bob").get(f"{PLANS}/{made}").page.text


def test_a_person_who_loses_the_token_loses_the_session(team: Team, known: callers.Callers) -> None:
    """It is verified again with each request; the others' sessions go on."""
    eve, bob = team.person("eve"), team.person("bob")
    file = known.folder / "tokens.csv"
    kept = file.read_text()
    assert eve.get().status == 200
    file.write_text("".join(line for line in kept.splitlines(keepends=True) if ",eve," not in line))
    try:
        patience.until(lambda: eve.get().status == 303)
        assert bob.get().status == 200
    finally:
        file.write_text(kept)
    patience.until(lambda: Person(team).log_in(team.secrets["eve"]).status == 303)
    assert eve.get().status == 303


def test_a_reload_takes_a_right_away_from_open_sessions(known: callers.Callers, tmp_path: Path) -> None:
    """The plan that a person was reading is then unknown to that person, whose form no longer counts."""
    file = tmp_path / "kubescript.toml"
    store = f'[plans]\nstore = "{tmp_path / "plans" / "plans.db"}"\n'
    file.write_text(SETTINGS + known.tokens() + store)
    flags = ("--toolsets", "code", "--kubeconfig", str(known.kubeconfig), "--config", str(file))
    with clients.running(flags) as (port, process):
        own = Team(f"http://127.0.0.1:{port}", known.secrets)
        made = own.plan("alice", make(PAYMENTS, "reloaded"))
        bob = own.person("bob")
        form = {**bob.form(made), "decision": "approve"}
        file.write_text(SETTINGS.replace('users = ["bob"]', 'users = ["nobody"]') + known.tokens() + store)
        os.kill(process, signal.SIGHUP)
        patience.until(lambda: bob.get(f"{PLANS}/{made}").status == 404)
        assert bob.post(f"{PLANS}/{made}", form).status == 404
        assert waits(own, made) and bob.get().status == 200
