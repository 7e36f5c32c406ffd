"""A team on a server with Keycloak and PostgreSQL: one person's client asks, and another person logs in on a telephone
and approves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import anyio
import mcp_types
import pytest
from kubernetes import client as kubernetes_client
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.kit import browser, callers, clients, people
from tests.kit.controlplane.server import ControlPlane
from tests.kit.identity_provider import IdentityProvider
from tests.kit.keycloak import realm
from tests.kit.postgres import Postgres
from tests.kit.team_page import PLANS, Team, make

pytestmark = pytest.mark.timeout(600)

NAMESPACE: Final = callers.NAMESPACES["alice"]
WIDTH: Final = 360
"""Pixels of a small telephone."""
SETTINGS: Final = """
writes = "plan"
acts_as = "impersonate"
[auth]
issuer = "{issuer}"
user_claim = "preferred_username"
[plans]
store = "{store}"
[plans.login]
client_id = "{client}"
client_secret_file = "{secret}"
[[write_policy.approvals]]
namespaces = ["{namespace}"]
count = 2
[[approvers]]
groups = ["payments"]
namespaces = ["callers-*"]
[[approvers]]
users = ["eve"]
namespaces = ["callers-*"]
"""


@pytest.fixture(scope="module")
def known(scratch: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> callers.Callers:
    return callers.Callers(scratch.kubeconfig, tmp_path_factory.mktemp("team"))


@pytest.fixture(scope="module")
def replicas(
    known: callers.Callers, identity_provider: IdentityProvider, postgresql: Postgres
) -> Iterator[tuple[Team, Team]]:
    """Two servers with one store, whose callers Keycloak knows: Alice and Bob of `payments`, and Eve."""
    secret = known.folder / "secret"
    secret.write_text(realm.SECRET)
    settings = SETTINGS.format(
        issuer=identity_provider.issuer,
        store=postgresql.database(),
        client=realm.APPROVALS,
        secret=secret,
        namespace=NAMESPACE,
    )
    with known.serving(settings) as port, known.serving(settings) as other:
        identity_provider.resource(f"http://127.0.0.1:{port}/mcp")
        tokens = {name: identity_provider.token(name) for name in realm.USERS}
        yield Team(f"http://127.0.0.1:{port}", tokens), Team(f"http://127.0.0.1:{other}", tokens)


@pytest.fixture
def window() -> Iterator[webdriver.Chrome]:
    """A browser on a telephone."""
    with browser.opened() as opened:
        browser.emulate(opened, width=WIDTH, height=740)
        yield opened


def log_in(window: webdriver.Chrome, user: str) -> None:
    """Logs in where Keycloak asks for it."""
    WebDriverWait(window, 60).until(lambda found: found.find_elements(By.ID, "username"))
    window.find_element(By.ID, "username").send_keys(user)
    window.find_element(By.ID, "password").send_keys(realm.password(user), Keys.ENTER)


def fits(window: webdriver.Chrome) -> bool:
    """Whether nothing of the page is beside the screen, too faint, or closed to who does not see it."""
    faint = [where for where, ratio in window.execute_script(browser.CONTRASTS) if ratio < 4.5]
    wide = window.execute_script("return document.documentElement.scrollWidth > arguments[0]", WIDTH)
    return not wide and faint == [] and window.execute_script(browser.FAULTS) == []


def approve(window: webdriver.Chrome, link: str, user: str) -> None:
    """Follows a link to a plan on a telephone that knows nobody, logs in, and approves."""
    browser.command(window, "Network.clearBrowserCookies")
    window.get(link)
    assert fits(window)
    window.find_element(By.PARTIAL_LINK_TEXT, "Log in at").click()
    log_in(window, user)
    shown = people.see(window, "Waits for a decision")
    assert "by-telephone" in shown and user in shown and fits(window)
    people.press(window, "approve")


async def ask(team: Team, person: people.Client) -> str:
    """What Alice's client answers to her model in the end."""
    async with callers.connected(team.port, team.secrets["alice"], elicitation_callback=person) as client:
        return clients.text(await clients.evaluate(client, make(NAMESPACE, "by-telephone")))


def test_two_people_approve_on_a_telephone_at_another_replica(
    replicas: tuple[Team, Team], known: callers.Callers, window: webdriver.Chrome
) -> None:
    """The client's link leads through Keycloak to the plan. It is applied as its author, since neither of those who
    approve may do this in the cluster, and the author's call that waits hears of it."""
    asked, elsewhere = replicas
    links: list[str] = []

    def decide(question: people.Question) -> None:
        assert isinstance(question, mcp_types.ElicitRequestURLParams)
        links.append(question.url.replace(asked.url, elsewhere.url))
        approve(window, links[0], "bob")
        people.see(window, "Waits for a decision")
        approve(window, links[0], "eve")
        assert "user eve" in people.see(window, "Applied") and fits(window)

    answer = anyio.run(ask, asked, people.Client(meanwhile=decide))
    assert "applied" in answer and "user eve" in answer
    core: Any = kubernetes_client.CoreV1Api(known.api)
    assert core.read_namespaced_config_map("by-telephone", NAMESPACE).data == {"key": "1"}
    window.get(f"{elsewhere.url}{PLANS}")
    assert fits(window)
    window.find_element(By.CSS_SELECTOR, ".person button").click()
    people.see(window, "You are logged out")
    window.get(links[0])
    assert "by-telephone" not in people.text(window)
