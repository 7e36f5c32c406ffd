# How many more storefront pods would fit on each (schedulable) node?
import math
from fractions import Fraction
from kubernetes.client.rest import ApiException

NS = "shop"
DEPLOYMENT = "storefront"

core = k8s.coreV1()
apps = k8s.appsV1()

try:
    dep = apps.read_namespaced_deployment(name=DEPLOYMENT, namespace=NS)
except ApiException as e:
    raise RuntimeError(f"cannot read deployment: {e.status} {e.reason}")

template = dep.spec.template.spec


def exact(q) -> Fraction:
    """Parse a quantity; round to nano units so that float noise does not matter."""
    return Fraction(round(float(quantity(q)) * 10**9), 10**9)


def request_sum(containers, resource) -> Fraction:
    total = Fraction(0)
    for c in containers or []:
        resources = c.resources
        if resources is None or resources.requests is None:
            continue
        value = resources.requests.get(resource)
        if value is not None:
            total += exact(value)
    return total


def tolerates(tolerations, taint) -> bool:
    for t in tolerations or []:
        operator = t.operator or "Equal"
        if t.effect and t.effect != taint.effect:
            continue
        if not t.key:
            if operator == "Exists":
                return True
            continue
        if t.key != taint.key:
            continue
        if operator == "Exists":
            return True
        if (t.value or "") == (taint.value or ""):
            return True
    return False


need = {}
for res in ("cpu", "memory"):
    need[res] = request_sum(template.containers, res)
need["pods"] = Fraction(1)

# used resources per node
used = {}
for pod in core.list_pod_for_all_namespaces().items:
    node_name = pod.spec.node_name
    if not node_name:
        continue
    if pod.status.phase in ("Succeeded", "Failed"):
        continue
    u = used.setdefault(node_name, {"cpu": Fraction(0), "memory": Fraction(0), "pods": Fraction(0)})
    u["cpu"] += request_sum(pod.spec.containers, "cpu")
    u["memory"] += request_sum(pod.spec.containers, "memory")
    u["pods"] += 1

result = {}
for node in core.list_node().items:
    name = node.metadata.name
    # Ready?
    is_ready = False
    for cond in node.status.conditions or []:
        if cond.type == "Ready" and cond.status == "True":
            is_ready = True
    if not is_ready:
        continue
    # cordoned?
    if node.spec.unschedulable:
        continue
    # taints?
    blocked = False
    for taint in node.spec.taints or []:
        if taint.effect in ("NoSchedule", "NoExecute") and not tolerates(template.tolerations, taint):
            blocked = True
            break
    if blocked:
        continue
    u = used.get(name, {})
    quotients = []
    for res in ("cpu", "memory", "pods"):
        if need[res] == 0:
            continue
        free = exact(node.status.allocatable.get(res, "0")) - u.get(res, Fraction(0))
        quotients.append(math.floor(free / need[res]))
    result[name] = max(0, min(quotients))

result
