"""A server for a team with its page for approvals, the team's clients, and people who are logged in to the page."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio

from tests.kit import callers, clients
from tests.kit.visitor import FORM, Answer, Visitor

__all__ = ["PLANS", "Team", "make"]

PLANS: Final = "/approvals/plans"


@dataclass
class Team:
    """A served team. `url` is where it listens."""

    url: str
    secrets: Mapping[str, str]
    """The token of each user."""

    @property
    def port(self) -> int:
        """The port of the server."""
        return urllib.parse.urlsplit(self.url).port or 0

    def plan(self, user: str, script: str) -> str:
        """The id of the plan that a script of a user's client leaves; the client cannot ask anybody."""
        return anyio.run(self._plan, user, script)

    async def _plan(self, user: str, script: str) -> str:
        async with callers.connected(self.port, self.secrets[user]) as client:
            answer = clients.text(await clients.evaluate(client, script))
        found = re.search(r"plan ([A-Za-z0-9_-]{16,})", answer)
        assert found, answer
        return found[1]

    def person(self, user: str = "") -> Person:
        """A person in front of a browser; logged in, if a user is named."""
        person = Person(self)
        if user:
            answer = person.log_in(self.secrets[user])
            assert answer.status == 303, answer.body
        return person


@dataclass
class Person:
    """A person's browser, without JavaScript."""

    team: Team
    visitor: Visitor = field(init=False)

    def __post_init__(self) -> None:
        """Opens the browser."""
        self.visitor = Visitor(self.team)  # type: ignore[arg-type] # it only sends

    @property
    def cookies(self) -> dict[str, str]:
        """The browser's cookies."""
        return self.visitor.cookies

    def get(self, path: str = PLANS, **headers: str) -> Answer:
        """Gets a page."""
        return self.visitor.send("GET", path, None, headers)

    def post(self, path: str, fields: Mapping[str, str | Sequence[str]], **headers: str) -> Answer:
        """Sends a form as a browser does; other headers take the place of its own."""
        own = {"Content-Type": FORM, "Origin": self.team.url, **headers}
        return self.visitor.send("POST", path, urllib.parse.urlencode(fields, doseq=True), own)

    def log_in(self, token: str, plan: str = "") -> Answer:
        """Types a token."""
        return self.post("/approvals/login", {"token": token, "plan": plan})

    def form(self, plan: str) -> dict[str, str]:
        """The hidden fields of a plan's form."""
        answer = self.get(f"{PLANS}/{plan}")
        assert answer.status == 200, answer.body
        fields = answer.page.attributes("input")
        return {each["name"]: each["value"] for each in fields if each["name"] in {"token", "hash"}}

    def decide(self, plan: str, decision: str = "approve", **fields: str | Sequence[str]) -> Answer:
        """Opens a plan and sends its form."""
        return self.post(f"{PLANS}/{plan}", {**self.form(plan), "decision": decision, **fields})


def make(namespace: str, name: str, value: str = "1") -> str:
    """A script that makes a ConfigMap."""
    made = {"metadata": {"name": name}, "data": {"key": value}}
    return f"k8s.coreV1().create_namespaced_config_map({namespace!r}, {made!r})\n'tried'"
