from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Dict, List

EPS = 1e-9


@dataclass
class NodeInfo:
    name: str
    taints: List[Any]
    allocatable: Dict[str, float]
    used: Dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def free(self, resource: str) -> float:
        return self.allocatable.get(resource, 0) - self.used[resource]


def pod_requests(pod: Any) -> Dict[str, float]:
    total: Dict[str, float] = defaultdict(float)
    for c in pod.spec.containers:
        requests = (c.resources.requests if c.resources else None) or {}
        for res, value in requests.items():
            total[res] += quantity(value)
    return total


def condition_status(obj: Any, ctype: str) -> str:
    return next((c.status for c in obj.status.conditions or [] if c.type == ctype), "Unknown")


def matches(toleration: Any, taint: Any) -> bool:
    operator = toleration.operator or "Equal"
    if toleration.key:
        if toleration.key != taint.key:
            return False
    elif operator != "Exists":
        return False
    if toleration.effect and toleration.effect != taint.effect:
        return False
    return operator == "Exists" or (toleration.value or "") == (taint.value or "")


def tolerates_all(pod: Any, node: NodeInfo) -> bool:
    return all(
        any(matches(tol, taint) for tol in (pod.spec.tolerations or []))
        for taint in node.taints
        if taint.effect in ("NoSchedule", "NoExecute")
    )


def main() -> Dict[str, List[str]]:
    v1 = k8s.coreV1()
    pods = v1.list_pod_for_all_namespaces().items

    nodes: Dict[str, NodeInfo] = {}
    for n in v1.list_node().items:
        if condition_status(n, "Ready") != "True" or n.spec.unschedulable:
            continue
        nodes[n.metadata.name] = NodeInfo(
            name=n.metadata.name,
            taints=list(n.spec.taints or []),
            allocatable={k: quantity(v) for k, v in n.status.allocatable.items()},
        )

    for p in pods:
        node = nodes.get(p.spec.node_name) if p.spec.node_name else None
        if node is None or p.status.phase in {"Succeeded", "Failed"}:
            continue
        for res, amount in pod_requests(p).items():
            node.used[res] += amount

    answer: Dict[str, List[str]] = {}
    for p in pods:
        if condition_status(p, "PodScheduled") != "False":
            continue
        want = pod_requests(p)
        answer[f"{p.metadata.namespace}/{p.metadata.name}"] = sorted(
            node.name
            for node in nodes.values()
            if tolerates_all(p, node)
            and all(node.free(res) + EPS >= amount for res, amount in want.items())
        )
    return answer


main()
