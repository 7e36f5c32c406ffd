from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, Optional

NAMESPACE = "payments"


def get_condition(obj: Any, cond_type: str) -> Optional[Any]:
    """Return the condition of the given type, or None."""
    for cond in (obj.status.conditions or []):
        if cond.type == cond_type:
            return cond
    return None


def is_ready(obj: Any) -> bool:
    cond = get_condition(obj, "Ready")
    return cond is not None and cond.status == "True"


def first_waiting_reason(statuses) -> Optional[str]:
    for cs in statuses or []:
        if cs.state and cs.state.waiting:
            return cs.state.waiting.reason
    return None


@dataclass
class PodDiagnosis:
    name: str
    cause: str
    warnings: set[str] = field(default_factory=set)

    def as_list(self) -> list:
        return [self.cause, sorted(self.warnings)]


class Diagnoser:
    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.core = k8s.coreV1()
        self.node_ready: dict[str, bool] = {
            n.metadata.name: is_ready(n) for n in self.core.list_node().items
        }
        self.warnings: dict[str, set[str]] = self._load_warnings()

    def _load_warnings(self) -> dict[str, set[str]]:
        result: dict[str, set[str]] = defaultdict(set)
        events = self.core.list_namespaced_event(self.namespace, field_selector="type=Warning")
        for ev in events.items:
            ref = ev.involved_object
            if ref.kind == "Pod" and (ref.namespace or self.namespace) == self.namespace:
                if ev.reason:
                    result[ref.name].add(ev.reason)
        return result

    def cause(self, pod: Any) -> str:
        scheduled = get_condition(pod, "PodScheduled")
        if scheduled is not None and scheduled.status == "False":
            return scheduled.reason
        node = pod.spec.node_name
        if node and not self.node_ready.get(node, False):
            return "NodeNotReady"
        reason = first_waiting_reason(pod.status.init_container_statuses)
        if reason:
            return f"Init:{reason}"
        reason = first_waiting_reason(pod.status.container_statuses)
        if reason:
            return reason
        return "Unready"

    def run(self) -> dict[str, list]:
        out: dict[str, list] = {}
        for pod in self.core.list_namespaced_pod(self.namespace).items:
            if pod.status.phase in ("Succeeded", "Failed") or is_ready(pod):
                continue
            diag = PodDiagnosis(
                name=pod.metadata.name,
                cause=self.cause(pod),
                warnings=self.warnings.get(pod.metadata.name, set()),
            )
            out[diag.name] = diag.as_list()
        return out


def main() -> dict[str, list]:
    return Diagnoser(NAMESPACE).run()


main()
