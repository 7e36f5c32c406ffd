"""What a plan's changes do to pods: how many are started, stopped or replaced, and how.

Everything is known from the dry runs, so nothing is read for it. The lines have no text of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from kubescript.changes import plan
from kubescript.kube import field_paths, images, paths
from kubescript.wire import inspection, pods

__all__ = ["affects_others", "describe", "find", "find_difference"]

_TEMPLATES: Final = {"cronjobs": "spec.jobTemplate"}
"""Where a kind has its pod template, if it is not `spec.template`."""
_LATER: Final = {"cronjobs": "runs"}
_STRATEGIES: Final = ("spec.paused", "spec.strategy", "spec.updateStrategy")
"""The fields that say how pods are replaced."""
_GOES_ON: Final = "replaces the pods that still have an earlier template"
_ENDS: Final = {
    "spec.activeDeadlineSeconds": "stops all pods of the Job when it is as old as that (activeDeadlineSeconds)",
    "spec.ttlSecondsAfterFinished": "deletes the Job and its pods that long after its end (ttlSecondsAfterFinished)",
}
"""Fields of a Job that end its pods later, and how."""
_NONE: Final = frozenset({"endpoints", "endpointslices", "pods", "services"})
"""Kinds whose changes replace no pods, which is not worth saying."""


def describe(steps: Sequence[plan.Step]) -> list[tuple[str, ...]]:
    """Returns for each step a line for everything that it does to the pods of its object when the earlier steps are
    done. The later ones may never be sent."""
    said: dict[paths.Key, inspection.Pods | None] = {}
    rolling: set[paths.Key] = set()
    described = []
    for step in steps:
        before = said.get(step.key, step.pods)
        after = said[step.key] = pods.combine(before, step.pods, step.new_pods)
        described.append(tuple(_describe(step, before, after, is_rolling=step.key in rolling)))
        if _changes_template(step):
            rolling.add(step.key)
    return described


def find(subresource: str, changes: inspection.Changes) -> tuple[inspection.Pods | None, inspection.Pods | None]:
    """Returns what an object says about pods before and after a write of it or its subresource."""
    before, after = changes.before, changes.after
    old = before.pods if before is not None else None
    new = after.pods if after is not None else None
    if old is None and new is not None and new.paused:
        # A Deployment that is made paused makes no pods.
        return None, msgspec.structs.replace(new, count=0, replaced=0)
    if subresource != "scale" or before is None or after is None:
        return old, new
    # A scaling is answered with a Scale, which only has the number. A custom resource has it in any field.
    if old is None:
        old = inspection.Pods(count=before.replicas)
    count = after.replicas or 0
    kept = max(0, (old.count or 0) - old.replaced)
    replaced = max(0, count - kept) if old.strategy else 0
    return old, msgspec.structs.replace(old, count=count, replaced=replaced)


def find_difference(shown: plan.Step, now: plan.Step) -> str:
    """Returns the line that says how a step now replaces pods, if these are more than was shown, or it replaces them in
    another way; otherwise an empty string."""
    before, after = shown.new_pods, now.new_pods
    if before is None or after is None:
        return ""
    if not _changes_template(now):
        is_new = _goes_on(now.pods or after, after) and not _goes_on(shown.pods or before, before)
        return _GOES_ON if is_new else ""
    is_same_way = (before.strategy, before.paused) == (after.strategy, after.paused)
    if is_same_way and after.replaced <= before.replaced and after.unavailable <= before.unavailable:
        return ""
    return _describe_replacement(now, after)


def affects_others(step: plan.Step) -> bool:
    """Says whether the cluster has to be looked at to tell what a step does: whether it changes the number or labels of
    pods, what a Service selects, or a repository of images."""
    if step.subresource == "scale":
        return True
    # The repository of an image without a valid name is empty, and always looked at.
    known = set(map(images.repository, step.images)) - {""}
    if set(map(images.repository, step.new_images)) - known:
        return True
    after = step.new_pods
    if after is None:
        return False
    if step.pods is None:
        # The pods of a CronJob come later.
        return step.resource != "cronjobs"
    return _reach(step.pods) != _reach(after)


def _reach(said: inspection.Pods) -> tuple[object, ...]:
    """Returns what decides which endpoints Services have."""
    return said.count, said.labels, said.selector, said.takes_unready, said.placement


def _changes_template(step: plan.Step) -> bool:
    """Says whether a step changes the template of its object's pods."""
    return _changes(step, _TEMPLATES.get(step.resource, "spec.template"))


def _changes(step: plan.Step, *fields: str) -> bool:
    return any(field_paths.covers(field, row.path) for field in fields for row in step.rows)


def _describe(
    step: plan.Step, before: inspection.Pods | None, after: inspection.Pods | None, *, is_rolling: bool
) -> list[str]:
    """Returns the lines of a step; `is_rolling` says whether an earlier one changes the template of the pods."""
    # What a custom resource makes of its number of replicas is not known.
    if after is None or step.resource in _NONE or not step.kind:
        return []
    if step.precondition is None:
        return list(_describe_creation(step, after))
    before = before or after
    lines = [
        *_describe_template(step, before, after, is_rolling=is_rolling),
        *_describe_count(step, before, after),
        *_describe_end(step),
    ]
    return lines or ["no pod is replaced"]


def _describe_creation(step: plan.Step, after: inspection.Pods) -> Iterator[str]:
    if step.resource == "daemonsets":
        yield "starts a pod on each node that it selects"
    elif after.count is not None:
        yield f"starts {_pods(after.count)}" + (" while it is paused" if after.paused else "")


def _describe_template(
    step: plan.Step, before: inspection.Pods, after: inspection.Pods, *, is_rolling: bool
) -> Iterator[str]:
    if before.placement != after.placement:
        yield "stops the pods on nodes that the new template does not fit, all at once"
    if _changes_template(step):
        yield _describe_replacement(step, after)
    # Attack: the first step begins a rollout without a gap, and the second one has it stop all pods.
    elif is_rolling and _changes(step, *_STRATEGIES):
        yield f"the rollout of an earlier change: {_describe_replacement(step, after)}"
    elif _goes_on(before, after):
        yield _GOES_ON


def _describe_count(step: plan.Step, before: inspection.Pods, after: inspection.Pods) -> Iterator[str]:
    # The nodes decide how many pods a DaemonSet has.
    if before.count is None or after.count is None or step.resource == "daemonsets":
        return
    kept = pods.count_kept(before, after)
    if after.count > kept:
        yield f"starts {_pods(after.count - kept)}: {before.count} → {after.count}"
    if before.count > kept:
        yield f"stops {_pods(before.count - kept)}: {before.count} → {after.count}"


def _describe_end(step: plan.Step) -> Iterator[str]:
    """Yields what ends the pods of a Job later."""
    for row in step.rows:
        if step.resource == "jobs" and row.new is not None and row.path in _ENDS:
            yield _ENDS[row.path]


def _describe_replacement(step: plan.Step, after: inspection.Pods) -> str:
    """Returns what becomes of the pods with the old template."""
    reason = _why_none(step, after)
    if reason:
        return f"no pod is replaced{reason}"
    if after.strategy == "Recreate":
        return f"stops all {_pods(after.replaced)} before new ones start (Recreate)"
    count = _pods(after.replaced)
    if after.count is not None and after.replaced < after.count:
        count = f"{after.replaced} of {_pods(after.count)}"
    most = f"at most {after.unavailable} unavailable" if after.unavailable else "none unavailable"
    return f"replaces {count} (RollingUpdate, {most} meanwhile)"


def _why_none(step: plan.Step, after: inspection.Pods) -> str:
    """Returns why a new template replaces no pods, after "no pod is replaced"; an empty string if it replaces some."""
    if not after.strategy:
        return f": later {_LATER.get(step.resource, 'pods')} have the new template"
    if after.paused:
        return " while it is paused"
    if after.strategy == "OnDelete":
        return " until it is deleted (OnDelete)"
    return "" if after.replaced else ": there is none that would be"


def _goes_on(before: inspection.Pods, after: inspection.Pods) -> bool:
    """Says whether a rollout that was held back may go on."""
    if after.paused or after.strategy in {"", "OnDelete"}:
        return False
    is_same_count = before.count == after.count
    is_freed = before.paused or before.strategy == "OnDelete"
    return is_freed or (is_same_count and after.replaced > before.replaced)


def _pods(count: int) -> str:
    return "1 pod" if count == 1 else f"{count or 'no'} pods"
