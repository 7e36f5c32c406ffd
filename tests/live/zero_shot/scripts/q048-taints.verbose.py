# question: q048-taints · style: verbose · author: a careful enterprise engineer
from typing import Any, Dict, List

from kubernetes import client, config
from kubernetes.client.rest import ApiException


def format_taint(taint: Any) -> str:
    """Render a taint as key=value:effect or key:effect."""
    if getattr(taint, "value", None):
        return f"{taint.key}={taint.value}:{taint.effect}"
    return f"{taint.key}:{taint.effect}"


def collect_taints() -> Dict[str, List[str]]:
    """Collect the taints of all nodes that have any."""
    config.load_kube_config()
    api = client.CoreV1Api()
    result: Dict[str, List[str]] = {}
    try:
        nodes = api.list_node().items
    except ApiException as e:
        raise RuntimeError(f"could not list nodes: {e.reason}") from e
    for node in nodes:
        taints = node.spec.taints if hasattr(node.spec, "taints") else None
        if not taints:
            continue
        result[node.metadata.name] = sorted(format_taint(t) for t in taints)
    return result


collect_taints()
