"""Plans as a server makes them of scripts, with all that it tells a person, on a real API server. Nobody is asked."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio

from kubescript import app, config, types
from kubescript.changes import plan
from kubescript.changes.store import record
from tests.kit import fork_servers, unfinished

_CALLER = types.Caller("a-session", "a client", "1", "evaluate_script")


class Plans:
    """Makes plans, and applies them as a person's approval would."""

    def __init__(self, opened: app.Application, namespace: str) -> None:
        assert opened.operator.planning is not None
        self._app = opened
        self._planning = opened.operator.planning
        self._approvals = self._planning.approvals
        self._namespace = namespace

    def answer(self, script: str) -> types.Answer:
        """What a script answers. The word NAMESPACE in it is the namespace."""
        script = script.replace("NAMESPACE", repr(self._namespace))
        return anyio.run(functools.partial(self._app.operator.evaluator.evaluate, script, None, caller=_CALLER))

    def of(self, script: str) -> plan.Plan:
        """The plan that a script leaves."""
        return self.kept(script).plan

    def kept(self, script: str) -> record.Record:
        """Likewise, with what became of it."""
        answer = self.answer(script)
        assert answer.plan, answer.text
        return self._approvals.get(answer.plan)

    def steps(self, script: str) -> tuple[plan.Step, ...]:
        """The steps of the plan that a script leaves."""
        return self.of(script).steps

    def apply(self, shown: plan.Plan, between: Callable[[int], None] = lambda _done: None) -> record.Record:
        """Approves and applies a plan, whatever is critical in it. `between` is called before each step, with the
        number of those that are done."""
        self._approve(shown)
        return self._approvals.apply(shown.id, lambda done, _count, _text: between(done))

    def take_over(self, shown: plan.Plan, made: str) -> record.Record:
        """Goes on with a plan whose server has died after its first step, which has made the object of this uid."""
        self._approve(shown)
        kept = self._planning.store()
        kept.claim(shown.id, "dead", lease_s=0)
        kept.mark(shown.id, "dead", 0, record.Application("done", status=201, uid=made))
        unfinished.resume(self._approvals)
        return self._approvals.get(shown.id)

    def _approve(self, shown: plan.Plan) -> None:
        rules = tuple({finding.rule for finding in shown.critical})
        self._approvals.decide(shown.id, record.Decision("somebody", "terminal", True, shown.hash, "a test", rules))

    def begin(self, shown: plan.Plan, step: int) -> None:
        """Approves a plan for a server that dies when it has noted that it sends this step."""
        self._approvals.decide(shown.id, record.Decision("somebody", "terminal", True, shown.hash))
        store = self._planning.store()
        store.claim(shown.id, "dead", lease_s=0)
        store.mark(shown.id, "dead", step, record.Application("sending", "an-audit-id"))

    def resume(self, shown: plan.Plan) -> record.Record:
        """Goes on with the plan of a dead server."""
        return self._approvals.apply(shown.id, lambda _done, _count, _text: None)

    def undo(self, ended: record.Record) -> plan.Plan:
        """The plan that takes back an applied plan."""
        return self._approvals.get(self._planning.undo(ended.plan.id, _CALLER).plan.id).plan

    def follow(self, ended: record.Record) -> str:
        """What is told of an applied plan's rollouts; empty if nothing is."""
        answer = anyio.run(self._app.operator.follow, ended, _CALLER, None)
        return answer.text if answer is not None else ""


@contextlib.contextmanager
def opened(kubeconfig: Path, folder: Path, namespace: str, **given: Any) -> Iterator[Plans]:
    """A server of plans for one namespace, which keeps them in this folder, with these settings besides."""
    settings = config.Settings.model_validate(
        {
            "kubeconfig": kubeconfig,
            "writes": "plan",
            "plans": {"store": str(folder / "plans.db"), "page": False},
            "limits": {"memory_mib": 256},
            **given,
        }
    )
    with fork_servers.open_application(settings) as application:
        yield Plans(application, namespace)
