"""With `acts_as = "caller"` others approve a plan, and its author's next call applies it with its own token; on a real API
server, with tokens of service accounts that the API server reviews."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import mcp_types
import pytest
from kubernetes import client

from tests.kit import callers, clients, people
from tests.kit.controlplane.server import ControlPlane

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

MODERN: Final = "2026-07-28"
NAMESPACE: Final = callers.NAMESPACES["alice"]


@dataclass(frozen=True)
class Place:
    """A server for callers with tokens of their own."""

    made: callers.Callers
    core: Any
    port: int
    flags: list[str]

    def joined(self, name: str, **more: Any) -> Any:
        """A conversation of a caller's agent."""
        return people.joined(self.port, MODERN, token=self.made.account_token(name), **more)

    def approve(self, plan: str) -> str:
        """A person at a terminal approves."""
        code, screen = people.at_terminal(plan, self.flags, people.environment(self.made.folder))
        assert code == 0, screen
        return " ".join(screen.split())

    def has(self, name: str) -> bool:
        return name in {each.metadata.name for each in self.core.list_namespaced_config_map(NAMESPACE).items}


@pytest.fixture(scope="module")
def place(scratch: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    made = callers.Callers(scratch.kubeconfig, tmp_path_factory.mktemp("tokens"))
    settings = 'acts_as = "caller"\n[auth]\ntoken_review = true\n[plans]\nfollow_s = 0\nask_s = 60\n'
    settings += '[http]\nurl = "http://kubescript.example/mcp"\n'
    flags = people.flags(made.folder, scratch.kubeconfig, settings)
    environment = people.environment(made.folder)
    with clients.serving(("--toolsets", "code", *flags), **environment) as port:
        yield Place(made, client.CoreV1Api(made.api), port, flags)


def creation(name: str, text: str = "") -> str:
    """Makes a ConfigMap."""
    body = {"metadata": {"name": name}, "data": {"text": text}}
    return f"k8s.coreV1().create_namespaced_config_map({NAMESPACE!r}, {body!r})\n'tried'"


def test_the_authors_next_call_applies_what_others_have_approved(place: Place) -> None:
    """Before its script runs, which sees the change. Another caller's call applies nothing, and hears nothing."""
    with place.joined("alice") as alice:
        answer = clients.text(alice.ask(creation("by-token")))
        plan = people.plan_on(answer)
        assert f"open http://kubescript.example/approvals/plans/{plan} within" in answer
        assert "your next call then applies it, with the user's own token" in answer
    screen = place.approve(plan)
    assert "whose next call after the approval sends it, with its own token" in screen
    assert "approved; the next call of its author applies it" in screen and not place.has("by-token")
    with place.joined("bob") as bob:
        assert clients.text(bob.ask("1 + 1")) == "2"
    assert not place.has("by-token")
    with place.joined("alice") as alice:
        read = f"k8s.coreV1().read_namespaced_config_map('by-token', {NAMESPACE!r}).metadata.name"
        answer = clients.text(alice.ask(read))
        assert answer.startswith("by-token\n")
        assert f"plan {plan}: approved by uid" in answer and "applied; 1 of 1 changes were made" in answer
        assert clients.text(alice.ask("1 + 1")) == "2"


def test_a_call_that_waits_for_its_page_applies_the_plan_itself(place: Place) -> None:
    """The person at the client opens the link; another one approves there, or at a terminal."""
    links: list[str] = []

    def decide(question: people.Question) -> None:
        assert isinstance(question, mcp_types.ElicitRequestURLParams)
        links.append(question.url)
        person = threading.Timer(1, place.approve, [question.url.rpartition("/")[2]])
        person.start()

    with place.joined("alice", person=people.Client(meanwhile=decide)) as alice:
        answer = clients.text(alice.ask(creation("waited-for", "x" * 10_000)))
        assert answer.startswith("tried") and "applied; 1 of 1 changes were made" in answer, answer
        assert links == [f"http://kubescript.example/approvals/plans/{people.plan_on(answer)}"]
        assert clients.text(alice.ask("1 + 1")) == "2"
    assert place.has("waited-for")
