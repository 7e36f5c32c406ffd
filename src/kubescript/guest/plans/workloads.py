"""What changes of workloads, pods and Services do beyond their objects: to endpoints, autoscalers and budgets, and from
which new registries.

Each list of a namespace is read once, and only if a change needs it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import changed, endpoint_changes, impact_report, reads, registries, scaling
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exceptions

__all__ = ["report"]

Json = dict[str, Any]
_REGISTRY: Final = "writes.new_registry"


def report(k8s: client.K8s, given: Sequence[Json], reports: Sequence[impact_report.Report]) -> None:
    """Reports the effects of each change."""
    pairs = [(changed.Change.read(each, one.gone), one) for each, one in zip(given, reports, strict=True)]
    look = reads.Reads(k8s)
    by_namespace: defaultdict[str, list[tuple[changed.Change, impact_report.Report]]] = defaultdict(list)
    for change, one in pairs:
        by_namespace[change.namespace].append((change, one))
        scaling.want(look, change)
        registries.want(look, change)
    services = [endpoint_changes.Namespace(look, name, here) for name, here in by_namespace.items()]
    look.fetch()
    for namespace in services:
        namespace.select()
    look.fetch()
    for namespace in services:
        namespace.settle()
    look.fetch()
    for namespace in services:
        namespace.report()
    for change, one in pairs:
        _report_scaling(look, change, one)
        _report_registries(look, change, one)


def _report_scaling(look: reads.Reads, change: changed.Change, one: impact_report.Report) -> None:
    try:
        for line in scaling.describe(look, change):
            # The numbers behind the colon may change by themselves.
            one.affect(line, line.partition(":")[0], 1)
        for text in scaling.undo(look, change):
            one.find("writes.undone", "warning", text)
    except exceptions.ApiException as error:
        unknown = "what scales it could not be read"
        one.affect(f"{unknown}: {cells.line(subject.reason(error))}", unknown, 1)


def _report_registries(look: reads.Reads, change: changed.Change, one: impact_report.Report) -> None:
    try:
        news = registries.find(look, change)
    except exceptions.ApiException as error:
        reason = cells.line(subject.reason(error))
        text = f"whether the registries of its images are new could not be found out: {reason}"
        one.find(_REGISTRY, "warning", text)
        return
    for line in news.repositories:
        one.tell(line)
    for text in news.registries:
        one.find(_REGISTRY, "warning", text)
