"""What acts on the number of a workload's pods: HorizontalPodAutoscalers that undo a scaling, and
PodDisruptionBudgets that it leaves without room."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import changed, reads
from kubescript.kube import quantities, selectors

__all__ = ["describe", "scales", "undo", "want"]

_SCALERS: Final = "horizontalpodautoscalers"
_BUDGETS: Final = "poddisruptionbudgets"


def want(look: reads.Reads, change: changed.Change) -> None:
    """Asks for what a change of the number of pods needs."""
    if _sets_count(change):
        look.want(_SCALERS, change.namespace)
    if _shrinks(change):
        look.want(_BUDGETS, change.namespace)


def undo(look: reads.Reads, change: changed.Change) -> Iterator[str]:
    """Yields a sentence for each autoscaler that undoes a scaling."""
    for name, least, most in _list_scalers(look, change):
        wanted = change.counts[1]
        if 0 < wanted < least:
            yield f"horizontalpodautoscalers/{name} undoes this: it keeps at least {least} replicas"
        elif wanted > most:
            yield f"horizontalpodautoscalers/{name} undoes this: it keeps at most {most} replicas"


def describe(look: reads.Reads, change: changed.Change) -> Iterator[str]:
    """Yields a line for each autoscaler that goes on from a scaling, and each budget that it leaves without room."""
    if _sets_count(change):
        for name, least, most in _list_scalers(look, change):
            wanted = change.counts[1]
            if wanted == 0:
                yield f"horizontalpodautoscalers/{name} does nothing while there are no pods"
            elif least <= wanted <= most:
                yield f"horizontalpodautoscalers/{name} may change this: {least} to {most} replicas"
    if _shrinks(change):
        yield from _describe_budgets(look, change)


def scales(scaler: reads.Json, group: str, kind: str, name: str) -> bool:
    """Says whether a HorizontalPodAutoscaler scales an object. `kind` is empty where the host does not know it, as of
    custom resources; it then matches every kind of the group."""
    target = cells.at(scaler, "spec.scaleTargetRef", {})
    # The version is left out: an object is the same in all versions of its kind.
    own_group, _, _ = str(target.get("apiVersion", "")).rpartition("/")
    is_kind = not kind or target.get("kind") == kind
    return is_kind and (own_group, target.get("name")) == (group, name)


def _sets_count(change: changed.Change) -> bool:
    """Says whether a change sets another number of pods."""
    if change.removes or change.is_pod or change.is_service:
        return False
    before, after = change.counts
    return change.is_scaling or (change.before is not None and before != after)


def _shrinks(change: changed.Change) -> bool:
    before, after = change.counts
    return _sets_count(change) and 0 < after < before


def _list_scalers(look: reads.Reads, change: changed.Change) -> Iterator[tuple[str, int, int]]:
    """Yields the name and bounds of each autoscaler of the object. Raises ApiException."""
    if not _sets_count(change):
        return
    for each in look.get(_SCALERS, change.namespace):
        if scales(each, change.group, change.kind, change.name):
            yield (
                cells.line(cells.name(each)),
                cells.at(each, "spec.minReplicas", 1),
                cells.at(each, "spec.maxReplicas"),
            )


def _describe_budgets(look: reads.Reads, change: changed.Change) -> Iterator[str]:
    """Yields a line for each budget that allows no eviction of the pods that remain."""
    # The labels of a custom resource's pods are not known.
    if change.after is None or not change.after.labels:
        return
    _, after = change.counts
    pods = {"metadata": {"labels": change.after.labels}}
    for each in look.get(_BUDGETS, change.namespace):
        selector = cells.at(each, "spec.selector")
        # As the controller does, a percentage is rounded up.
        least = quantities.scale(cells.at(each, "spec.minAvailable"), after, up=True)
        if selector is None or after > least:
            continue
        name = cells.line(cells.name(each))
        try:
            matches = selectors.labels(cells.selector(selector))
        except selectors.SelectorError:
            yield f"poddisruptionbudgets/{name} may cover these pods: its selector is masked"
            continue
        if matches is None or matches(pods):
            yield f"poddisruptionbudgets/{name} then allows no eviction: {after} remain, {least} must be available"
