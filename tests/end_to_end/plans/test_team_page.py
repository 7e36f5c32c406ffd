"""A team on a server with Keycloak and PostgreSQL: one person's client asks, and another person logs in on a telephone
and approves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest
from kubernetes import client
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from tests.kit import browser, callers, people
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
[auth]
issuer = "{issuer}"
user_claim = "preferred_username"
[plans]
store = "{store}"
[plans.login]
client_id = "{client}"
client_secret_file = "{secret}"
[[approvers]]
groups = ["payments"]
namespaces = ["callers-*"]
"""


@pytest.fixture(scope="module")
def known(scratch: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> callers.Callers:
    return callers.Callers(scratch.kubeconfig, tmp_path_factory.mktemp("team"))


@pytest.fixture(scope="module")
def team(known: callers.Callers, identity_provider: IdentityProvider, postgresql: Postgres) -> Iterator[Team]:
    """A server whose callers Keycloak knows: Alice and Bob of `payments`, and Eve."""
    secret = known.folder / "secret"
    secret.write_text(realm.SECRET)
    settings = SETTINGS.format(
        issuer=identity_provider.issuer, store=postgresql.database(), client=realm.APPROVALS, secret=secret
    )
    with known.serving(settings) as port:
        url = f"http://127.0.0.1:{port}"
        identity_provider.resource(f"{url}/mcp")
        yield Team(url, {name: identity_provider.token(name) for name in realm.USERS})


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
    """Whether nothing of the page is beside the screen."""
    return bool(window.execute_script("return document.documentElement.scrollWidth <= arguments[0]", WIDTH))


def test_a_second_person_approves_on_a_telephone(team: Team, known: callers.Callers, window: webdriver.Chrome) -> None:
    """The link leads through Keycloak to the plan; it is applied, and both names are on it."""
    made = team.plan("alice", make(NAMESPACE, "by-telephone"))
    window.get(f"{team.url}{PLANS}/{made}")
    assert fits(window)
    window.find_element(By.PARTIAL_LINK_TEXT, "Log in at").click()
    log_in(window, "bob")
    shown = people.see(window, "Waits for a decision")
    assert "by-telephone" in shown and "bob" in shown and fits(window)
    people.press(window, "approve")
    assert "user bob" in people.see(window, "Applied") and fits(window)
    core: Any = client.CoreV1Api(known.api)
    assert core.read_namespaced_config_map("by-telephone", NAMESPACE).data == {"key": "1"}
    window.get(f"{team.url}{PLANS}")
    assert fits(window)
    window.find_element(By.CSS_SELECTOR, ".person button").click()
    people.see(window, "You are logged out")
    window.get(f"{team.url}{PLANS}/{made}")
    assert "by-telephone" not in people.text(window)
