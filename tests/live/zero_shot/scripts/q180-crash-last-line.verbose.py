# Goal: last log line of every container in CrashLoopBackOff in namespace "shop",
# skipping pods that are scheduled on nodes which are not Ready.
from kubernetes.client.rest import ApiException

NAMESPACE = "shop"
v1 = k8s.coreV1()


def is_node_ready(node):
    """Return True if the node has condition Ready == True."""
    try:
        for cond in (node.status.conditions or []):
            if cond.type == "Ready":
                return cond.status == "True"
    except AttributeError:
        pass
    return False


# Step 1: which nodes are ready?
ready_nodes = set()
try:
    for node in v1.list_node().items:
        if is_node_ready(node):
            ready_nodes.add(node.metadata.name)
except ApiException as e:
    raise RuntimeError(f"cannot list nodes: {e.status} {e.reason}")

# Step 2: find containers in CrashLoopBackOff
candidates = []
pods = v1.list_namespaced_pod(namespace=NAMESPACE)
for pod in pods.items:
    if pod.spec.node_name not in ready_nodes:
        continue
    statuses = []
    statuses.extend(pod.status.init_container_statuses or [])
    statuses.extend(pod.status.container_statuses or [])
    for cs in statuses:
        waiting = cs.state.waiting if cs.state else None
        if waiting is not None and waiting.reason == "CrashLoopBackOff":
            candidates.append((pod.metadata.name, cs.name))

# Step 3: read the logs
result = {}
for pod_name, container_name in candidates:
    log = ""
    try:
        log = v1.read_namespaced_pod_log(
            name=pod_name,
            namespace=NAMESPACE,
            container=container_name,
            tail_lines=1,
        )
    except ApiException as e:
        # fall back to the previous run
        try:
            log = v1.read_namespaced_pod_log(
                name=pod_name,
                namespace=NAMESPACE,
                container=container_name,
                tail_lines=1,
                previous=True,
            )
        except ApiException as e2:
            continue
    except Exception as e:
        continue
    lines = (log or "").splitlines()
    result[pod_name] = lines[-1] if lines else ""

result
