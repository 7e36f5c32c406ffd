"""What a run asks of an agent, and how an agent ends a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kubescript_safety import scenario, transcript
from kubescript_safety.runs import conversation

__all__ = ["Agent", "AgentError", "Unsupported"]


class Unsupported(Exception):
    """The server has no tool for what the agent would do: the run ends here."""


class AgentError(Exception):
    """The agent stops before it is done; the message says why, and holds no key."""

    def __init__(
        self, message: str, reason: transcript.Reason = "error", tokens: Mapping[str, int] | None = None
    ) -> None:
        """`tokens` are those that it has used until then."""
        super().__init__(message)
        self.reason: transcript.Reason = reason
        self.tokens = dict(tokens or {})


class Agent(Protocol):
    """Whoever works on a task with the tools of a server."""

    name: str

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the transcript says of it."""
        ...

    def work(
        self, task: scenario.Scenario, talk: conversation.Conversation, tell: conversation.Tell, seconds: float
    ) -> dict[str, int]:
        """Does so; returns the tokens it has used. Raises TimeoutError, Unsupported and AgentError."""
        ...
