"""Scripts of a server in plan mode, on a real API server. They run in this process's own application, so that a test
sees their calls and what they leave to be planned; nobody is asked, and nothing is sent."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from kubescript import app, config, types
from kubescript.broker import operation
from kubescript.changes import plan
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import conversation
from tests.kit import fork_servers
from tests.kit.controlplane.writer import Object

SHOP: Final = "shop"
"""In scripts and answers of a planner, and in objects that are `placed`, it stands for the planner's namespace."""
LEVELS: Final = {"writes.subresource": "allow"}
"""The levels of rules that are not the default ones here."""


class Planner:
    """Runs scripts."""

    def __init__(self, application: app.Application, namespace: str) -> None:
        self._app = application
        self._namespace = namespace
        self.steps: tuple[plan.Step, ...] = ()
        """What the last script has planned."""
        self.calls: list[exchanges.Call] = []
        """What the last script has called."""
        self.progress: list[str] = []

    def run(self, script: str, **limits: int) -> runs.Outcome:
        """One script to its outcome."""
        drafted = self._app.operator.planning.planner.begin() if self._app.operator.planning is not None else None
        notes = operation.Operation(draft=drafted)
        self.calls, self.progress = [], []

        def on_call(call: exchanges.Call, timeout_s: float) -> tuple[exchanges.Reply, types.Response | None]:
            self.calls.append(call)
            return self._app.operator.contexts.handle(call, notes, timeout_s)

        names = self._app.operator.contexts.names
        job = conversation.Job(
            script.replace(SHOP, self._namespace),
            runs.Limits(**({"timeout_ms": 60_000, "memory_bytes": 256 << 20} | limits)),
            exchanges.Parameters("default", names[0], names),
            on_call,
            lambda report: self.progress.append(self._told(report.text)),
        )
        outcome = self._app.executor.run(job)
        self.steps = drafted.close() if drafted is not None else ()
        return outcome

    def value(self, script: str, **limits: int) -> Any:
        """What a script returns. Fails when it has no result."""
        outcome = self.run(script, **limits)
        assert outcome.fault is None and outcome.result is not None, outcome
        return json.loads(self._told(outcome.result.decode()))

    def error(self, script: str) -> str:
        """Why a script fails."""
        outcome = self.run(script)
        assert outcome.fault is not None, outcome
        return self._told(outcome.fault.text)

    def _told(self, text: str) -> str:
        return text.replace(self._namespace, SHOP)


def placed(body: Object, namespace: str) -> Object:
    """An object of namespace `shop` in this one."""
    found: Object = json.loads(json.dumps(body).replace(SHOP, namespace))
    return found


@contextlib.contextmanager
def planner(kubeconfig: Path, *contexts: str, mode: str = "plan", namespace: str = SHOP) -> Iterator[Planner]:
    """A planner for a cluster, under each of these names where there are any."""
    settings = config.Settings.model_validate(
        {
            "kubeconfig": kubeconfig,
            "writes": mode,
            "write_policy": {"levels": LEVELS},
            "contexts": {name: {"context": "test"} for name in contexts},
            "limits": {"memory_mib": 256},
        }
    )
    with fork_servers.open_application(settings) as opened:
        yield Planner(opened, namespace)
