"""The claims that a plan's changes delete along with pods: the data of StatefulSets.

Deletions are not judged here: which claims they take is looked up in the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from kubescript.changes import plan
from kubescript.kube import paths
from kubescript.wire import inspection, pods

__all__ = ["RULE", "judge"]

RULE: Final = "writes.claims"
"""The rule about claims that are deleted with what the request is about."""


def judge(steps: Sequence[plan.Step]) -> Iterator[tuple[plan.Finding, ...]]:
    """Yields for each step the finding that it stops pods whose claims are then deleted, when the earlier steps are
    done."""
    known: dict[paths.Key, inspection.Pods | None] = {}
    for step in steps:
        before = known.get(step.key, step.pods)
        after = known[step.key] = pods.combine(before, step.pods, step.new_pods)
        yield tuple(_judge(before, after))


def _judge(before: inspection.Pods | None, after: inspection.Pods | None) -> Iterator[plan.Finding]:
    if before is None or after is None or not after.deletes_claims:
        return
    count = (before.count or 0) - pods.count_kept(before, after)
    if count:
        of = "1 pod" if count == 1 else f"{count} pods"
        text = f"deletes the claims of {of} (persistentVolumeClaimRetentionPolicy.whenScaled), and their data"
        yield plan.Finding(RULE, "critical", text)
