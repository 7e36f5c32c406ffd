"""What deletions leave behind: disruption budgets that do not allow them, and autoscalers of nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import impact_report, inventory, scaling
from kubescript.guest.sdk import client
from kubescript.kube import selectors

__all__ = ["Losses"]

Json = dict[str, Any]
Objects = Mapping[str, inventory.Found]

_AUTOSCALERS: Final = "horizontalpodautoscalers"
_BUDGETS: Final = "poddisruptionbudgets.policy"


class _Loss(NamedTuple):
    """An effect on one remaining object."""

    line: str
    what: str
    pods: set[str]
    """The pods that it loses, by name."""


class Losses:
    """What the deletions in one namespace leave behind."""

    def __init__(self, k8s: client.K8s, namespace: str, found: inventory.Inventory, gone: Objects) -> None:
        """`gone` has the deleted objects, and those that go along."""
        self._listed = _read(k8s, namespace, found, gone)
        self._gone = gone
        # It may take all deletions together to violate a budget; then the line appears for each of them.
        self._losses = list(_budgets(self._listed, gone))

    def report(self, removal: inventory.Removal, one: impact_report.Report) -> None:
        """Reports what a deletion leaves behind."""
        for loss in self._losses:
            if loss.pods & one.gone.keys():
                one.affect(loss.line, loss.what, len(loss.pods))
        for name in _autoscalers(self._listed, self._gone, removal):
            line = f"leaves horizontalpodautoscaler {name} without what it scales"
            one.affect(line, line, 1)


def _read(k8s: client.K8s, namespace: str, found: inventory.Inventory, gone: Objects) -> Mapping[str, list[Json]]:
    """Returns the whole objects that are needed, by plural."""
    wanted = [_AUTOSCALERS + ".autoscaling"]
    # Only a budget needs whole pods, which are the largest objects of most namespaces.
    has_budgets = any(each.kind.full_name == _BUDGETS for each in found.objects.values())
    if has_budgets and _names(gone.values(), "pods"):
        wanted += [_BUDGETS, "pods"]
    listed = inventory.read_whole(k8s, namespace, found, wanted)
    return {kind.plural: objects for kind, objects in listed.items()}


def _names(objects: Iterable[inventory.Found], kind: str) -> set[str]:
    """Returns the names of the objects of a kind."""
    return {each.name for each in objects if each.kind.full_name == kind}


def _budgets(listed: Mapping[str, list[Json]], gone: Objects) -> Iterator[_Loss]:
    """Yields the PodDisruptionBudgets that do not allow the deletions."""
    pods = _names(gone.values(), "pods")
    budgets = _names(gone.values(), _BUDGETS)
    # A pod that is not ready does not count towards a budget.
    ready = [each for each in listed.get("pods", ()) if cells.condition(each, "Ready") == "True"]
    healthy = [each for each in ready if cells.name(each) in pods]
    for budget in listed.get("poddisruptionbudgets", ()):
        name = cells.name(budget)
        selector = cells.at(budget, "spec.selector")
        # A missing selector matches nothing; an empty one matches everything.
        if selector is None or name in budgets:
            continue
        matches = selectors.labels(cells.selector(selector))
        lost = {cells.name(each) for each in healthy if matches is None or matches(each)}
        allowed = cells.at(budget, "status.disruptionsAllowed", 0)
        if len(lost) > allowed:
            what = f"violates poddisruptionbudget {cells.line(name)}"
            text = f"{len(lost)} of its pods go, it allows {allowed}, and it stops no deletion"
            yield _Loss(f"{what}: {text}", what, lost)


def _autoscalers(listed: Mapping[str, list[Json]], gone: Objects, removal: inventory.Removal) -> Iterator[str]:
    """Yields the HorizontalPodAutoscalers of a deleted object."""
    kind = removal.kind
    deleted = _names(gone.values(), f"{_AUTOSCALERS}.autoscaling")
    for each in listed.get(_AUTOSCALERS, ()):
        name = cells.name(each)
        is_of = scaling.scales(each, kind.group, kind.kind, removal.name)
        if is_of and name not in deleted:
            yield cells.line(name)
