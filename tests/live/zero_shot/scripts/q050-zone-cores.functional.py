# question: q050-zone-cores · style: functional · author: a reduce fan
from functools import reduce
from decimal import Decimal
from kubernetes.utils import parse_quantity


def step(acc: dict, node) -> dict:
    zone = node.metadata.labels.get("topology.kubernetes.io/zone")
    return acc | {zone: acc.get(zone, Decimal(0)) + parse_quantity(node.status.allocatable["cpu"])}


zones = reduce(step, k8s.coreV1().list_node().items, {})
{z: round(float(c), 2) for z, c in zones.items() if z}
