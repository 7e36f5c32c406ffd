from decimal import Decimal
from kubernetes import client, config
from kubernetes.client.rest import ApiException
from kubernetes.utils.quantity import parse_quantity

try:
    config.load_incluster_config()
except config.ConfigException:
    config.load_kube_config()

core_v1 = client.CoreV1Api()
apps_v1 = client.AppsV1Api()

try:
    dep = apps_v1.read_namespaced_deployment(name="storefront", namespace="shop")
except ApiException as e:
    raise RuntimeError(f"could not read deployment: {e.status} {e.reason}")


def requests_of(spec, resource):
    total = Decimal(0)
    for c in spec.containers:
        req = (c.resources.requests if c.resources else None) or {}
        if resource in req:
            total += parse_quantity(req[resource])
    return total


def tolerated(taint, tolerations):
    for t in tolerations or []:
        op = t.operator or "Equal"
        if t.effect and t.effect != taint.effect:
            continue
        if not t.key:
            if op == "Exists":
                return True
            continue
        if t.key != taint.key:
            continue
        if op == "Exists" or (t.value or "") == (taint.value or ""):
            return True
    return False


tmpl = dep.spec.template.spec
need_cpu = requests_of(tmpl, "cpu")
need_mem = requests_of(tmpl, "memory")

used = {}
for pod in core_v1.list_pod_for_all_namespaces(watch=False).items:
    if not pod.spec.node_name or pod.status.phase in ("Succeeded", "Failed"):
        continue
    u = used.setdefault(pod.spec.node_name, {"cpu": Decimal(0), "memory": Decimal(0), "pods": 0})
    u["cpu"] += requests_of(pod.spec, "cpu")
    u["memory"] += requests_of(pod.spec, "memory")
    u["pods"] += 1

result = {}
for node in core_v1.list_node().items:
    ready = any(c.type == "Ready" and c.status == "True" for c in node.status.conditions or [])
    if not ready or node.spec.unschedulable:
        continue
    blocking = [
        t for t in (node.spec.taints or [])
        if t.effect in ("NoSchedule", "NoExecute") and not tolerated(t, tmpl.tolerations)
    ]
    if blocking:
        continue
    alloc = node.status.allocatable
    u = used.get(node.metadata.name, {"cpu": Decimal(0), "memory": Decimal(0), "pods": 0})
    free_cpu = parse_quantity(alloc["cpu"]) - u["cpu"]
    free_mem = parse_quantity(alloc["memory"]) - u["memory"]
    free_pods = int(parse_quantity(alloc["pods"])) - u["pods"]
    options = [free_pods]
    if need_cpu > 0:
        options.append(int(free_cpu // need_cpu))
    if need_mem > 0:
        options.append(int(free_mem // need_mem))
    result[node.metadata.name] = max(0, min(options))

result
