"""A release as a person lives it: one script, one diff, one approval, and exactly what was shown reaches the cluster,
where real controllers roll it out. Through a client of either era, over either transport, on the page, at the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from kubernetes import client
from selenium import webdriver

from kubescript_safety.controlplane import live
from tests.kit import app_objects, browser, clients, people, rollouts
from tests.kit.controlplane.writer import Writer

pytestmark = pytest.mark.timeout(300)

ERAS = ("legacy", "2026-07-28")
ROLLED_OUT = (
    "web: ready, 3 of 3; services/web: 3 ready endpoints",
    "api: ready, 1 of 1",
    "worker: 1 of 1 new pods ready",
    "cache: 2 of 2 new pods ready",
)


@pytest.fixture(scope="module")
def window() -> Iterator[webdriver.Chrome]:
    with browser.opened() as driver:
        yield driver


@pytest.fixture
def ours(live_cluster: live.Cluster) -> rollouts.Shop:
    """A shop that runs, and whose pods are behind a Service."""
    made = rollouts.Shop(live_cluster)
    made.open()
    Writer(live_cluster.plane.kubeconfig).create(app_objects.service(made.namespace, "web", "web"))
    slices: Any = client.DiscoveryV1Api(made.core.api_client)

    def ready() -> int:
        found = slices.list_namespaced_endpoint_slice(made.namespace).items
        return sum(bool(each.conditions.ready) for one in found for each in one.endpoints or ())

    made.wait_for(lambda: ready() == rollouts.DEPLOYMENTS["web"])
    return made


@pytest.fixture
def flags(ours: rollouts.Shop, tmp_path: Path) -> list[str]:
    return people.flags(tmp_path, ours.kubeconfig, "[plans]\nfollow_s = 200\n")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return people.environment(tmp_path)


def check_shown(diff: str, ours: rollouts.Shop) -> None:
    """Fails unless the diff has everything that the release changes, old and new."""
    for target in rollouts.TARGETS:
        assert target.format(ours.namespace) in diff
    for words in (
        "worker:1",
        "worker:2",
        "spec.replicas",
        "restartedAt",
        "5 changes",
        "endpoints of services/web: 2 → 3",
    ):
        assert words in diff


def check_told(answer: mcp_types.CallToolResult) -> None:
    """Fails unless the answer says that all was applied, and what became of it."""
    said = clients.text(answer)
    assert not answer.is_error, said
    for words in ("all of it", "applied; 5 of 5 changes were made", *ROLLED_OUT):
        assert words in said


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("transport", clients.TRANSPORTS)
def test_a_release_through_the_client(
    transport: str, mode: str, ours: rollouts.Shop, flags: list[str], environment: dict[str, str]
) -> None:
    """The person is asked once, before anything is sent; the answer says that the rollouts are done."""
    sent: list[str] = []
    person = people.Client(meanwhile=lambda _question: sent.extend(ours.written()))
    with people.talk(flags, environment, person, mode, transport) as talk:
        check_told(talk.ask(ours.release))
    (question,) = person.questions
    assert not sent
    check_shown(question.message, ours)
    ours.check_released()


def test_a_release_on_the_page(
    window: webdriver.Chrome, ours: rollouts.Shop, flags: list[str], environment: dict[str, str]
) -> None:
    """A client that can ask nobody is told where a person can approve; the next call says what came of it."""
    with people.talk(flags, environment) as talk:
        answer = talk.ask(ours.release)
        assert not ours.written()
        before = people.in_browser(window, people.link(people.plan_in(answer), flags, environment))
        after = people.see(window, "Applied")
        next_answer = talk.ask("1 + 1")
    assert "5 changes wait for a person's approval; nothing is changed yet" in clients.text(answer)
    check_shown(before, ours)
    assert after.count("✓ done") == 5
    assert "applied; 5 of 5 changes were made" in clients.text(next_answer)
    ours.wait_for(lambda: all(ours.is_rolled_out(name) for name in rollouts.DEPLOYMENTS))
    ours.check_released()


@pytest.mark.parametrize(("transport", "mode"), [("stdio", "legacy"), ("http", "2026-07-28")])
def test_a_release_that_is_too_large_for_a_form_is_decided_on_the_page(
    transport: str,
    mode: str,
    window: webdriver.Chrome,
    ours: rollouts.Shop,
    flags: list[str],
    environment: dict[str, str],
) -> None:
    """The client opens the page's link, and the call waits for what comes of it."""
    more = (
        f"k8s.coreV1().patch_namespaced_config_map('settings', '{ours.namespace}', {{'data': {{'text': 'x' * 5000}}}})"
    )
    screens: list[str] = []

    def approve(question: people.Question) -> None:
        assert isinstance(question, mcp_types.ElicitRequestURLParams)
        screens.append(people.in_browser(window, question.url))

    with people.talk(flags, environment, people.Client(meanwhile=approve), mode, transport) as talk:
        said = clients.text(talk.ask(f"{more}\n{ours.release}"))
    assert "x" * 5000 in screens[0].replace("\n", "")
    assert "applied; 6 of 6 changes were made" in said
    assert all(words in said for words in ROLLED_OUT)
    assert ours.written() == ["patch configmaps/settings", *rollouts.WRITES]


def test_a_release_at_the_terminal(ours: rollouts.Shop, flags: list[str], environment: dict[str, str]) -> None:
    """`kubescript approve` shows the diff, takes the answer, applies, and says what became of the rollouts."""
    with people.talk(flags, environment) as talk:
        answer = talk.ask(ours.release)
        plan = people.plan_in(answer)
        assert f"run `kubescript approve {plan} {' '.join(flags)}`" in clients.text(answer)
        assert not ours.written()
        code, screen = people.at_terminal(plan, flags, environment)
        next_answer = talk.ask("1 + 1")
    diff, _, ending = screen.partition("Type `approve` or `yes`")
    check_shown(diff, ours)
    assert code == 0
    assert all(words in ending for words in ROLLED_OUT)
    assert "applied: 5 of 5 changes were made" in ending
    assert "applied; 5 of 5 changes were made" in clients.text(next_answer)
    ours.check_released()


def test_a_rollout_that_fails_is_told_with_the_reasons_of_its_pods(
    live_cluster: live.Cluster, tmp_path: Path, environment: dict[str, str]
) -> None:
    """The plan was applied; the answer says that the new pods do not come up, and why."""
    ours = rollouts.Shop(live_cluster, image="worker:missing")
    ours.open()
    # Long enough for the others to be ready: this one never is.
    flags = people.flags(tmp_path, ours.kubeconfig, "[plans]\nfollow_s = 20\n")
    with people.talk(flags, environment, people.Client()) as talk:
        said = clients.text(talk.ask(ours.release))
    assert "applied; 5 of 5 changes were made" in said
    assert "web: ready, 3 of 3" in said
    assert re.search(r"worker: .*ImagePullBackOff", said), said
