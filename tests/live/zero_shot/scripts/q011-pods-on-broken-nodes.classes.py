# question: q011-pods-on-broken-nodes · style: classes · author: an OOP-minded SRE
from dataclasses import dataclass, field


@dataclass
class Node:
    name: str
    ready: bool
    pods: list = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.pods)


class Cluster:
    FINISHED = frozenset({"Succeeded", "Failed"})

    def __init__(self, core):
        self.nodes = {}
        for n in core.list_node().items:
            ready = any(c.type == "Ready" and c.status == "True" for c in n.status.conditions or [])
            self.nodes[n.metadata.name] = Node(n.metadata.name, ready)
        for p in core.list_pod_for_all_namespaces().items:
            node = self.nodes.get(p.spec.node_name)
            if node is not None and p.status.phase not in self.FINISHED:
                node.pods.append(p.metadata.name)

    @property
    def broken(self):
        return [n for n in self.nodes.values() if not n.ready]


{n.name: len(n) for n in Cluster(k8s.coreV1()).broken}
