"""Why are pods in the payments namespace not ready?"""
from typing import Any, Dict, List, Optional
from kubernetes import client, config
from kubernetes.client.rest import ApiException

NAMESPACE = "payments"

v1 = k8s.coreV1()


def get_condition(obj: Any, cond_type: str) -> Optional[Any]:
    """Return the condition of the given type, or None."""
    if obj.status is None or obj.status.conditions is None:
        return None
    for cond in obj.status.conditions:
        if cond.type == cond_type:
            return cond
    return None


def first_waiting_reason(statuses) -> Optional[str]:
    """Return the waiting reason of the first container that waits."""
    for cs in statuses or []:
        if cs.state is not None and cs.state.waiting is not None:
            return cs.state.waiting.reason
    return None


def is_waiting(statuses) -> bool:
    return any(cs.state and cs.state.waiting for cs in (statuses or []))


# --- 1. nodes: which ones are ready?
node_ready: Dict[str, bool] = {}
try:
    for node in v1.list_node().items:
        cond = get_condition(node, "Ready")
        node_ready[node.metadata.name] = cond is not None and cond.status == "True"
except ApiException as e:
    print(f"could not list nodes: {e.status} {e.reason}")

# --- 2. warning events by pod name
warnings: Dict[str, set] = defaultdict(set)
try:
    events = v1.list_namespaced_event(NAMESPACE, field_selector="type=Warning,involvedObject.kind=Pod")
    for ev in events.items:
        io = ev.involved_object
        if io.namespace and io.namespace != NAMESPACE:
            continue
        warnings[io.name].add(ev.reason)
except ApiException as e:
    print(f"could not list events: {e.status} {e.reason}")

# --- 3. evaluate the pods
result: Dict[str, List[Any]] = {}
pods = v1.list_namespaced_pod(namespace=NAMESPACE)
for pod in pods.items:
    if pod.status.phase in ("Succeeded", "Failed"):
        continue
    ready = get_condition(pod, "Ready")
    if ready is not None and ready.status == "True":
        continue

    scheduled = get_condition(pod, "PodScheduled")
    node_name = pod.spec.node_name
    if scheduled is not None and scheduled.status == "False":
        cause = scheduled.reason
    elif node_name and not node_ready.get(node_name, False):
        cause = "NodeNotReady"
    elif is_waiting(pod.status.init_container_statuses):
        cause = "Init:" + str(first_waiting_reason(pod.status.init_container_statuses))
    elif is_waiting(pod.status.container_statuses):
        cause = first_waiting_reason(pod.status.container_statuses)
    else:
        cause = "Unready"

    result[pod.metadata.name] = [cause, sorted(warnings.get(pod.metadata.name, set()))]

result
