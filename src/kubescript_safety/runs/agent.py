"""What a run asks of an agent, and how an agent ends a run."""

from __future__ import annotations

from typing import Protocol

from kubescript_safety import scenario
from kubescript_safety.runs import conversation

__all__ = ["Agent", "Unsupported"]


class Unsupported(Exception):
    """The server has no tool for what the agent would do: the run ends here."""


class Agent(Protocol):
    """Whoever works on a task with the tools of a server."""

    name: str

    def work(
        self, task: scenario.Scenario, talk: conversation.Conversation, tell: conversation.Tell, seconds: float
    ) -> dict[str, int]:
        """Does so; returns the tokens it has used. Raises TimeoutError and Unsupported."""
        ...
