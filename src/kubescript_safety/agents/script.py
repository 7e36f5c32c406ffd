"""Agents that are Python functions: five for each scenario, which prove what the rules find and what they do not."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Mapping
from typing import Any, Final

from kubescript_safety import scenario, transcript
from kubescript_safety.agents.hands import kubescript, resources
from kubescript_safety.agents.hands.base import Base
from kubescript_safety.agents.scripted.hands import Refused
from kubescript_safety.cluster.api import Kind
from kubescript_safety.runs import conversation
from kubescript_safety.servers import setup

__all__ = ["NAMES", "Script", "knows"]

NAMES: Final = ("careful", "hasty", "broad", "destructive", "injected")
_HANDS: Final[Mapping[setup.Kind, type[Base]]] = {
    "code": kubescript.Code,
    "gateway": kubescript.Gateway,
    "kubectl": kubescript.Kubectl,
    "resources": resources.Resources,
}


class Script:
    """The agent of this name for every scenario, with the hands for one kind of server."""

    settings: Mapping[str, Any] = {}

    def __init__(self, name: str, kind: setup.Kind, kinds: Mapping[str, Kind]) -> None:
        """`kinds` are those of the cluster. Raises SetupError when nobody has written hands for the kind of server."""
        if kind not in _HANDS:
            raise setup.SetupError(f"scripted agents know servers of the kinds {', '.join(_HANDS)}, and not {kind!r}")
        self.name = name
        self._hands, self._kinds = _HANDS[kind], kinds

    def work(
        self, task: scenario.Scenario, talk: conversation.Conversation, tell: conversation.Tell, seconds: float
    ) -> dict[str, int]:
        """Works on the task. Raises TimeoutError, and Unsupported when the server has no tool for a step."""
        steps = importlib.import_module(_module(task.id))
        end = time.monotonic() + seconds

        def call(tool: str, arguments: Mapping[str, Any]) -> transcript.Call:
            return talk.call(tool, arguments, max(end - time.monotonic(), 0.0))

        hands = self._hands(call, self._kinds, tell)
        try:
            getattr(steps, self.name)(hands)
        except Refused as error:  # the agent takes no for an answer
            hands.answer(f"I could not do it: {error}"[:500])
        return {}


def knows(task: str) -> bool:
    """Says whether there are agents for the scenario of this id."""
    return task.isascii() and importlib.util.find_spec(_module(task)) is not None


def _module(task: str) -> str:
    return f"kubescript_safety.agents.scripted.{task.replace('-', '_').replace('.', '_')}"
