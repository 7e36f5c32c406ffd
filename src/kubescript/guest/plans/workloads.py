"""What changes of workloads, pods and Services do beyond their objects: to endpoints, autoscalers and budgets, and from
which new registries.

Each list of a namespace is read once, and only if a change needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubescript.guest.kubectl.describe import subject
from kubescript.guest.kubectl.rows import cells
from kubescript.guest.plans import changed, endpoint_changes, reads, registries, scaling
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exceptions

__all__ = ["add_effects"]

Json = dict[str, Any]
_ENDPOINTS: Final = "writes.endpoints"


def add_effects(k8s: client.K8s, given: Sequence[Json], answers: Sequence[Json]) -> None:
    """Adds the effects and findings of each change to its answer."""
    changes = [changed.Change.read(each) for each in given]
    look = reads.Reads(k8s)
    by_namespace: dict[str, list[changed.Change]] = {}
    for change in changes:
        by_namespace.setdefault(change.namespace, []).append(change)
        scaling.want(look, change)
        registries.want(look, change)
    services = {name: endpoint_changes.Namespace(look, name, here) for name, here in by_namespace.items()}
    look.fetch()
    for namespace in services.values():
        namespace.select()
    look.fetch()
    for namespace in services.values():
        namespace.settle()
    look.fetch()
    for change, answer in zip(changes, answers, strict=True):
        _add_endpoints(services[change.namespace], change, answer)
        _add_scaling(look, change, answer)
        _add_registries(look, change, answer)


def _add_endpoints(namespace: endpoint_changes.Namespace, change: changed.Change, answer: Json) -> None:
    # Attack: a plan has more Services than are counted before the one that it puts out of service.
    answer["findings"] += [_finding(_ENDPOINTS, "critical", text) for text in namespace.list_problems(change)]
    for effect in namespace.describe(change):
        if effect.is_unknown:
            answer["findings"].append(_finding(_ENDPOINTS, "critical", effect.text))
            continue
        answer["effects"].append(effect.text)
        if effect.is_outage:
            text = f"no endpoint is left: {effect.text}"
            answer["findings"].append(_finding(_ENDPOINTS, "critical", text, effect.service))
        elif effect.is_empty and change.is_service:
            text = f"no pod is selected: {effect.text}"
            answer["findings"].append(_finding(_ENDPOINTS, "warning", text, effect.service))


def _add_scaling(look: reads.Reads, change: changed.Change, answer: Json) -> None:
    try:
        answer["effects"] += scaling.describe(look, change)
        answer["findings"] += [_finding("writes.undone", "warning", text) for text in scaling.undo(look, change)]
    except exceptions.ApiException as error:
        answer["effects"].append(f"what scales it could not be read: {cells.line(subject.reason(error))}")


def _add_registries(look: reads.Reads, change: changed.Change, answer: Json) -> None:
    try:
        news = registries.find(look, change)
    except exceptions.ApiException as error:
        reason = cells.line(subject.reason(error))
        text = f"whether the registries of its images are new could not be found out: {reason}"
        answer["findings"].append(_finding("writes.new_registry", "warning", text))
        return
    answer["effects"] += news.repositories
    answer["findings"] += [_finding("writes.new_registry", "warning", text) for text in news.registries]


def _finding(rule: str, level: str, message: str, about: str = "") -> Json:
    return {"rule": rule, "level": level, "message": message, "about": about}
