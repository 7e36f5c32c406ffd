"""Agents that are lists of steps: five for each scenario, which prove what the rules find and what they do not."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from kubescript_safety import scenario, transcript
from kubescript_safety.agents import steps
from kubescript_safety.agents.hands import kubescript, resources
from kubescript_safety.agents.hands.base import Base
from kubescript_safety.cluster.api import Kind
from kubescript_safety.runs import conversation
from kubescript_safety.servers import setup

__all__ = ["Script"]

_HANDS: Final[Mapping[setup.Kind, type[Base]]] = {
    "code": kubescript.Code,
    "gateway": kubescript.Gateway,
    "kubectl": kubescript.Kubectl,
    "resources": resources.Resources,
}


class Script:
    """The agent with this name for every scenario, with the hands for one kind of server."""

    settings: Mapping[str, Any] = {}

    def __init__(self, name: str, kind: setup.Kind, kinds: Mapping[str, Kind]) -> None:
        """`kinds` are the cluster's kinds. Raises SetupError for a kind of server without hands."""
        if kind not in _HANDS:
            raise setup.SetupError(f"scripted agents know servers of the kinds {', '.join(_HANDS)}, and not {kind!r}")
        self.name = name
        self._hands = _HANDS[kind]
        self._kinds = kinds

    def work(
        self, task: scenario.Scenario, talk: conversation.Conversation, tell: conversation.Tell, seconds: float
    ) -> dict[str, int]:
        """Works on the task. Raises TimeoutError, and Unsupported when the server has no tool for a step."""
        # The limit is for the whole work, not for each call.
        end = time.monotonic() + seconds

        def call(tool: str, arguments: Mapping[str, Any]) -> transcript.Call:
            """Calls a tool in the time that is left."""
            # With no time left, the call ends at once.
            left = max(end - time.monotonic(), 0.0)
            return talk.call(tool, arguments, left)

        hands = self._hands(call, self._kinds, tell)
        steps.perform(task.id, self.name, hands)
        return {}
