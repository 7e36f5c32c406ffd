"""Plans and answers to them, as tests of the store make them up."""

from __future__ import annotations

import itertools
from typing import Any, Final

import msgspec

from kubescript.changes import plan
from kubescript.changes.store import record
from kubescript.wire import inspection

__all__ = ["ALICE", "BOB", "CREATED", "CRITICAL", "LIFE_S", "Clock", "answer", "made"]

CREATED: Final = 1_800_000_000.25
LIFE_S: Final = 900.0
ALICE: Final = "uid 1000 (alice)"
BOB: Final = "uid 1001 (bob)"
CRITICAL: Final = plan.Finding("writes.registry", "critical", "the image comes from a registry that is not allowed")
_numbers: Final = itertools.count(1)


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float = CREATED) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def made(*, steps: int = 2, findings: tuple[plan.Finding, ...] = (), **changes: Any) -> plan.Plan:
    """A plan that sets an image in each of `steps` deployments."""
    new = plan.Plan(
        id=plan.new_id(),
        author=plan.Author(user="", session=f"session-{next(_numbers)}", client="inspector", tool="evaluate_script"),
        context="",
        cluster="6f1f2c6e-0000-4000-8000-000000000001",
        script="ab" * 32,
        policy="cd" * 32,
        steps=tuple(_step(number, findings) for number in range(steps)),
        reads=("list deployments in namespace shop",),
        created=CREATED,
        expires=CREATED + LIFE_S,
    )
    return msgspec.structs.replace(new, **changes)


def _step(number: int, findings: tuple[plan.Finding, ...]) -> plan.Step:
    path = f"/apis/apps/v1/namespaces/shop/deployments/web-{number}"
    body = '{"spec":{"template":{"spec":{"containers":[{"image":"web:2","name":"web"}]}}}}'
    return plan.Step(
        request=plan.Request("PATCH", path, content_type="application/strategic-merge-patch+json", body=body),
        verb="patch",
        group="apps",
        version="v1",
        resource="deployments",
        subresource="",
        namespace="shop",
        name=f"web-{number}",
        precondition=plan.Precondition(uid=f"uid-{number}", resource_version="41"),
        rows=(inspection.Row("spec.template.spec.containers[web].image", '"web:1"', '"web:2"'),),
        findings=findings,
    )


def answer(to: plan.Plan, approver: str = ALICE, *, approves: bool = True, **changes: Any) -> record.Decision:
    """One person's answer to a plan, who was shown it as it is."""
    given = record.Decision(approver=approver, channel="terminal", approves=approves, hash=to.hash)
    return msgspec.structs.replace(given, **changes)
