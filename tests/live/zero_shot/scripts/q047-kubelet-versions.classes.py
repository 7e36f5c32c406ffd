# question: q047-kubelet-versions · style: classes · author: a developer who wraps everything in a class
class VersionCensus:
    def __init__(self, nodes):
        self._counts = {}
        for node in nodes:
            self.add(node.status.node_info.kubelet_version)

    def add(self, version: str) -> None:
        self._counts[version] = self._counts.get(version, 0) + 1

    @property
    def result(self) -> dict:
        return dict(sorted(self._counts.items()))


VersionCensus(k8s.coreV1().list_node().items).result
