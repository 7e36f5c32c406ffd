"""A plan's rollouts, followed by one of kubescript's scripts in the sandbox."""

from __future__ import annotations

from typing import Final

from kubescript.changes import plan, scripts

__all__ = ["script"]

_FOLLOWED: Final = frozenset({"deployments", "statefulsets", "daemonsets"})
"""Resources in the group apps whose rollouts are followed."""


def script(applied: plan.Plan, seconds: float) -> str:
    """Returns the script that follows rollouts for `seconds`; an empty string if the plan started none."""
    begun = [step for step in applied.steps if _begins_rollout(step)]
    if not begun or not seconds:
        return ""
    targets = scripts.targets(begun)
    cluster = scripts.cluster(applied.context)
    return f"{cluster}.tools.plan_rollouts(targets={targets!r}, timeout={seconds!r})"


def _begins_rollout(step: plan.Step) -> bool:
    if step.removes:
        return False
    return step.group == "apps" and step.resource in _FOLLOWED
