"""The page on which a person approves a plan, over real HTTP with the real store."""

from __future__ import annotations

import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from kubescript import errors
from kubescript.changes import plan, planner
from kubescript.changes.page import access, links, page, serving
from kubescript.changes.store import record
from tests.kit import approval_page
from tests.kit.visitor import Visitor

OWNER: Final = "tests"


@pytest.fixture(scope="module")
def served_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[approval_page.Served]:
    with approval_page.served(tmp_path_factory.mktemp("page")) as serving:
        yield serving


@pytest.fixture
def served(served_once: approval_page.Served) -> approval_page.Served:
    """The page with a store of its own, which has plans of other tests too."""
    served_once.approved.clear()
    return served_once


@pytest.fixture
def visitor(served: approval_page.Served) -> Visitor:
    return Visitor(served)


def scaled(served: approval_page.Served) -> plan.Plan:
    """A plan without findings."""
    return served.add(approval_page.release()[0])


def finished(served: approval_page.Served, state: str) -> plan.Plan:
    """A plan that has come to this state."""
    made = served.add(
        approval_page.release()[0],
        approval_page.release()[3],
        expires=time.time() + (-1 if state == "expired" else 600),
    )
    store = served.plans
    if state in {"pending", "expired"}:
        return made
    decision = record.Decision("uid 1 (bob)", "terminal", state != "declined", made.hash, reason="looked at it")
    store.decide(made.id, decision)
    if state in {"declined", "approved"}:
        return made
    store.claim(made.id, OWNER, 600)
    store.mark(made.id, OWNER, 0, record.Application("done", "a-1", "7", 200, text="scaled"))
    if state == "applied":
        store.mark(made.id, OWNER, 1, record.Application("done", "a-2", "8", 200))
        store.finish(made.id, OWNER, "applied", "2 of 2 changes applied")
    if state == "stopped":
        store.mark(made.id, OWNER, 1, record.Application("failed", "a-2", "8", 409, text="the object has changed"))
        store.finish(made.id, OWNER, "stopped", "1 of 2 changes applied")
    return made


def test_a_link_leads_to_the_page_and_is_not_in_its_address(served: approval_page.Served, visitor: Visitor) -> None:
    made = scaled(served)
    onward = visitor.get(served.link(made))
    assert onward.status == 303
    assert served.url + onward.headers["location"] == served.address(made)
    shown = visitor.get(onward.headers["location"])
    assert shown.status == 200
    asked = 'asked for by client "claude-code" with evaluate_script'
    assert f"1 change to 1 object in namespace shop of cluster kind-dev, {asked}" in shown.page.words
    assert "key=" not in shown.body


def test_the_cookie_is_for_this_page_alone(served: approval_page.Served, visitor: Visitor) -> None:
    cookie = visitor.get(served.link(scaled(served))).headers["set-cookie"]
    attributes = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert attributes == {"httponly", "samesite=strict", f"path={served.keys.path}"}


def test_a_link_that_was_opened_says_so_and_how_to_get_another(served: approval_page.Served, visitor: Visitor) -> None:
    made = scaled(served)
    link = served.link(made)
    visitor.get(link)
    second = Visitor(served).get(link)
    assert second.status == 403
    assert "This link has been opened before." in second.page.words
    assert f"kubescript plans link {made.id}" in second.page.words
    # Whoever has opened it may use it again, as a bookmark.
    assert visitor.get(link).status == 303


def test_a_link_is_good_until_its_plan_expires(served: approval_page.Served, visitor: Visitor) -> None:
    made = scaled(served)
    late = access.Link(served.url, served.keys.secret).to(made.id, time.time() - 1)
    assert "This link is too old." in visitor.get(late).page.words
    assert visitor.open(made).status == 200


def test_without_a_link_nothing_is_shown(served: approval_page.Served, visitor: Visitor) -> None:
    made = scaled(served)
    for address in (served.address(made), f"{served.url}{served.keys.path}/plans"):
        answer = visitor.get(address)
        assert answer.status == 403
        assert "This page opens with a plan's link" in answer.page.words
        assert "replicas" not in answer.body and "claude-code" not in answer.body


def test_approval_is_recorded_and_applied_once(served: approval_page.Served, visitor: Visitor) -> None:
    made = scaled(served)
    answer = visitor.decide(made, "approve", reason="  weekly release ")
    assert answer.status == 303
    found = served.plans.get(made.id)
    assert found.state == "approved"
    (given,) = found.decisions
    assert (given.approver, given.channel, given.approves, given.hash, given.reason) == (
        planner.local_user(),
        "page",
        True,
        made.hash,
        "weekly release",
    )
    assert served.approved == [made.id]
    assert visitor.decide(made, "approve").status == 403  # its page has no form any more
    assert served.approved == [made.id]


def test_a_person_has_one_name_whatever_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    name = planner.local_user()
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(variable, "somebody-else")
    assert planner.local_user() == name


def test_a_decline_is_recorded_with_its_reason_and_nothing_is_applied(
    served: approval_page.Served, visitor: Visitor
) -> None:
    made = scaled(served)
    visitor.decide(made, "decline", reason="not on a Friday\x1b[2J")
    found = served.plans.get(made.id)
    assert found.state == "declined"
    assert found.decisions[0].reason == "not on a Friday"
    assert served.approved == []
    assert "Declined: nothing was changed" in visitor.open(made).page.words


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({}, "1 critical finding not overridden"),
        ({"reason": "it is our registry"}, "1 critical finding not overridden"),
        ({"override": ["7", "x", "-1"], "reason": "it is our registry"}, "1 critical finding not overridden"),
        ({"override": ["9" * 5_000], "reason": "it is our registry"}, "1 critical finding not overridden"),
        ({"override": ["0"], "reason": "  "}, "only with a reason"),
    ],
)
def test_a_critical_finding_takes_a_tick_and_a_reason(
    served: approval_page.Served, visitor: Visitor, fields: dict[str, str | list[str]], complaint: str
) -> None:
    made = served.add(*approval_page.release())
    answer = visitor.decide(made, "approve", **fields)
    assert answer.status == 422
    assert complaint in answer.page.words
    assert served.plans.get(made.id).state == "pending"
    # What was filled in is still there.
    ticks = [box for box in answer.page.attributes("input") if box.get("type") == "checkbox"]
    assert ["checked" in box for box in ticks] == [fields.get("override") == ["0"]]
    assert visitor.decide(made, "approve", override=["0"], reason="it is our registry").status == 303
    assert served.plans.get(made.id).decisions[0].overrides == ("writes.registry",)
    assert served.approved == [made.id]


def test_each_finding_of_one_rule_is_overridden_by_itself(served: approval_page.Served, visitor: Visitor) -> None:
    """One with the same words about two changes stands once, with a link to each of them."""
    image = approval_page.release()[1]
    (finding,) = image.findings
    other = msgspec.structs.replace(finding, message="the image is old")
    made = served.add(
        image,
        msgspec.structs.replace(image, name="worker"),
        msgspec.structs.replace(image, name="other", findings=(other,)),
    )
    shown = visitor.open(made)
    assert len([box for box in shown.page.attributes("input") if box.get("type") == "checkbox"]) == 2
    assert "change 1: deployments.apps shop/web, change 2: deployments.apps shop/worker" in shown.page.words
    for ticked in (["0"], ["1"]):
        assert visitor.decide(made, "approve", override=ticked, reason="ours").status == 422
    assert visitor.decide(made, "approve", override=["0", "1"], reason="ours").status == 303


def test_a_plan_that_takes_two_people_is_not_applied_after_one(served: approval_page.Served, visitor: Visitor) -> None:
    made = served.add(approval_page.release()[0], approvals=2, author=plan.Author("uid 77 (carol)"))
    assert "0 of 2 approvals are given" in visitor.open(made).page.words
    visitor.decide(made, "approve")
    assert served.plans.get(made.id).state == "pending"
    again = visitor.decide(made, "approve")
    assert again.status == 409
    assert "it needs another person's approval" in again.page.words
    assert served.approved == []


def test_an_answer_that_comes_too_late_says_so(tmp_path: Path) -> None:
    now = time.time()
    with approval_page.served(tmp_path, clock=lambda: now) as served:
        visitor = Visitor(served)
        made = scaled(served)
        form = visitor.open(made).page.hidden_fields
        now += 100_000
        answer = visitor.post(made, {**form, "decision": "approve"})
    assert answer.status == 409
    assert "has expired, and nothing of it was sent" in answer.page.words
    assert served.approved == []


def test_a_link_is_for_one_plan_and_others_can_only_be_read(served: approval_page.Served, visitor: Visitor) -> None:
    mine, other = scaled(served), scaled(served)
    form = visitor.open(mine).page.hidden_fields
    shown = visitor.get(served.address(other))
    assert shown.status == 200
    assert "This browser may read the plan, but not decide it" in shown.page.words
    assert shown.page.attributes("form") == []
    assert visitor.post(other, {**form, "hash": other.hash, "decision": "approve"}).status == 403
    # The same browser opens the other one's link, and may decide both.
    visitor.open(other)
    assert visitor.decide(mine, "approve").status == 303
    assert visitor.decide(other, "approve").status == 303


TITLES: Final = {
    "pending": "Waits for a decision",
    "approved": "Approved, and about to be applied",
    "applying": "Being applied",
    "applied": "Applied",
    "declined": "Declined: nothing was changed",
    "expired": "Expired: nothing was changed",
    "stopped": "Stopped before its end",
}


@pytest.mark.parametrize("state", TITLES)
def test_the_page_says_what_became_of_a_plan(served: approval_page.Served, visitor: Visitor, state: str) -> None:
    reader = scaled(served)
    made = finished(served, state)
    visitor.open(reader)
    shown = visitor.get(served.address(made))
    assert f'<div role="status"><h1>{TITLES[state]}</h1></div>' in shown.body
    follows = [meta for meta in shown.page.attributes("meta") if meta.get("http-equiv") == "refresh"]
    assert [meta["content"] for meta in follows] == (["2"] if state in {"approved", "applying"} else [])
    if state in {"applying", "applied", "stopped"}:
        assert "✓ done" in shown.page.words and "scaled, HTTP 200, audit id a-1" in shown.page.words
    if state == "stopped":
        assert "✗ failed" in shown.page.words and "the object has changed, HTTP 409" in shown.page.words
    if state in {"approved", "applied", "declined", "stopped"}:
        verdict = "Declined" if state == "declined" else "Approved"
        assert f"{verdict} by uid 1 (bob) (terminal)" in shown.page.words and "looked at it" in shown.page.words


def test_while_a_plan_is_applied_its_fields_are_one_link_away(served: approval_page.Served, visitor: Visitor) -> None:
    visitor.open(scaled(served))
    made = finished(served, "applying")
    assert "spec.replicas" not in visitor.get(served.address(made)).page.words
    shown = visitor.get(served.address(made) + "?changes")
    assert "spec.replicas" in shown.page.words
    assert "refresh" not in shown.body


def test_the_history_shows_the_newest_plans_first(served: approval_page.Served, visitor: Visitor) -> None:
    now = time.time()
    plans = [served.add(approval_page.release()[0], created=now + number) for number in range(60)]
    served.plans.decide(plans[-1].id, record.Decision("uid 1 (bob)", "terminal", False, plans[-1].hash))
    visitor.open(plans[0])
    shown = visitor.get(f"{served.url}{served.keys.path}/plans")
    linked = [a["href"] for a in shown.page.attributes("a") if "/plans/" in a["href"]]
    assert [address.rpartition("/")[2] for address in linked] == [made.id for made in plans[:-51:-1]]
    assert "Declined: nothing was changed" in shown.page.words and "declined by uid 1 (bob)" in shown.page.words


def test_a_plan_that_is_not_there_is_named(served: approval_page.Served, visitor: Visitor) -> None:
    visitor.open(scaled(served))
    answer = visitor.get(f"{served.url}{served.keys.path}/plans/p-nothing")
    assert answer.status == 404
    assert "there is no plan 'p-nothing'" in answer.page.words


def test_no_answer_can_be_framed_kept_or_read_by_another_site(served: approval_page.Served, visitor: Visitor) -> None:
    made = scaled(served)
    visitor.open(made)
    base = served.url + served.keys.path
    for address in (
        served.link(made),
        served.address(made),
        f"{base}/plans",
        f"{base}/style.css",
        f"{base}/x",
        served.url,
    ):
        headers = visitor.get(address).headers
        policy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        assert headers["content-security-policy"] == policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"


def test_the_page_is_served_on_loopback_until_it_is_closed(tmp_path: Path) -> None:
    with approval_page.served(tmp_path) as served:
        host, port = served.url.removeprefix("http://").split(":")
        assert host == "127.0.0.1"
        with pytest.raises(errors.PlanError) as caught:
            serving.serve(page.app(served.plans, served.approved.append, served.keys), int(port))
        assert caught.value.explained.endswith("in use; choose another with plans.port; 0 picks a free one")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection((host, int(port)), timeout=5)


def test_a_command_of_the_same_user_makes_a_link_to_the_page(served: approval_page.Served, tmp_path: Path) -> None:
    assert links.find(tmp_path, "plans.db") is None
    withdraw = links.publish(tmp_path, access.Link(served.url, served.keys.secret), "plans.db")
    (file,) = tmp_path.glob("page-*.json")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert links.find(tmp_path, "other.db") is None  # a server that does not have the plan
    found = links.find(tmp_path, "plans.db")
    assert found is not None
    made = scaled(served)
    assert Visitor(served).get(found.to(made.id, made.expires)).status == 303
    withdraw()
    assert links.find(tmp_path, "plans.db") is None


def test_what_a_server_left_behind_that_was_killed_is_removed(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    links.publish(tmp_path, access.Link(f"http://127.0.0.1:{port}", b"x" * 32), "plans.db")
    assert links.find(tmp_path, "plans.db") is None
    assert list(tmp_path.glob("page-*.json")) == []


def test_what_others_can_write_to_is_not_taken_for_a_server_of_ours(
    served: approval_page.Served, tmp_path: Path
) -> None:
    links.publish(tmp_path, access.Link(served.url, served.keys.secret), "plans.db")
    (file,) = tmp_path.glob("page-*.json")
    file.chmod(0o666)
    assert links.find(tmp_path, "plans.db") is None
