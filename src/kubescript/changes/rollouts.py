"""A plan's rollouts, followed by one of kubescript's scripts in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kubescript.changes import plan, scripts
from kubescript.kube import field_paths

__all__ = ["script"]

_WORKLOADS: Final = frozenset({"deployments", "statefulsets", "daemonsets"})
"""Resources in the group apps whose rollouts are followed."""
_SERVICES: Final = ("", "services")
_CHANGES: Final = ("none", "replicas", "other", "template")
"""What a change may be to the pods of a workload. The last of these counts where an object has several."""
_QUIET: Final = (
    "metadata", "spec.minReadySeconds", "spec.persistentVolumeClaimRetentionPolicy", "spec.progressDeadlineSeconds",
    "spec.revisionHistoryLimit", "spec.strategy",
)  # fmt: skip
"""Fields of a workload whose changes concern none of its pods."""


def script(applied: plan.Plan, seconds: float) -> str:
    """Returns the script that follows rollouts and endpoints for `seconds`; an empty string if the plan has changed
    neither workloads nor Services."""
    changed = [step for step in applied.steps if _is_followed(step)]
    if not changed or not seconds:
        return ""
    targets = [{**target, "change": _merge(changed, target)} for target in scripts.targets(changed)]
    cluster = scripts.cluster(applied.context)
    return f"{cluster}.tools.plan_rollouts(targets={targets!r}, timeout={seconds!r})"


def _is_followed(step: plan.Step) -> bool:
    if step.removes:
        return False
    if step.group == "apps":
        return step.resource in _WORKLOADS
    return (step.group, step.resource) == _SERVICES and _classify(step) != "none"


def _merge(steps: Sequence[plan.Step], target: dict[str, str]) -> str:
    """Returns what all changes of one object are to its pods."""
    own = [_classify(step) for step in steps if scripts.targets([step]) == [target]]
    return max(own, key=_CHANGES.index)


def _classify(step: plan.Step) -> str:
    """Returns what a change is to the pods: one of `_CHANGES`."""
    if step.subresource == "scale":
        return "replicas"
    found = {_classify_field(row.path) for row in step.rows}
    return max(found, key=_CHANGES.index, default="none")


def _classify_field(path: str) -> str:
    if field_paths.covers("spec.template", path):
        return "template"
    if field_paths.covers("spec.replicas", path):
        return "replicas"
    is_quiet = any(field_paths.covers(field, path) for field in _QUIET)
    return "none" if is_quiet else "other"
