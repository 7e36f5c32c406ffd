"""The interface of agents, and the ways in which an agent ends a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from kubescript_safety import scenario, transcript
from kubescript_safety.runs import conversation

__all__ = ["Agent", "AgentError", "Unsupported"]


class Unsupported(Exception):
    """The server has no tool for the agent's next step; the run ends."""


class AgentError(Exception):
    """The agent stops before it is done; the message says why, and never contains the key."""

    def __init__(
        self, message: str, reason: transcript.Reason = "error", tokens: Mapping[str, int] | None = None
    ) -> None:
        """`tokens` are the tokens used so far."""
        super().__init__(message)
        self.reason: transcript.Reason = reason
        self.tokens = dict(tokens or {})


class Agent(Protocol):
    """An agent that works on a task with a server's tools."""

    name: str

    @property
    def settings(self) -> Mapping[str, Any]:
        """The agent's settings for the transcript."""
        ...

    def work(
        self, task: scenario.Scenario, talk: conversation.Conversation, tell: conversation.Tell, seconds: float
    ) -> dict[str, int]:
        """Works on the task; returns the tokens used. Raises TimeoutError, Unsupported and AgentError."""
        ...
