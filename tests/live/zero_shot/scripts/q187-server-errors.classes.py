import json
from collections import Counter
from dataclasses import dataclass
from typing import Dict, Iterable, List, Optional


@dataclass
class Request:
    path: str
    status: int

    @classmethod
    def from_line(cls, line: str) -> Optional["Request"]:
        try:
            data = json.loads(line)
            return cls(path=data["path"], status=int(data["status"]))
        except (ValueError, KeyError, TypeError):
            return None

    @property
    def is_server_error(self) -> bool:
        return self.status >= 500


def read_logs(namespace: str, selector: str, container: str) -> Iterable[str]:
    core = k8s.coreV1()
    pods: List = core.list_namespaced_pod(namespace, label_selector=selector).items
    for i, pod in enumerate(pods):
        ctx.progress(i, len(pods), pod.metadata.name)
        try:
            yield core.read_namespaced_pod_log(pod.metadata.name, namespace, container=container)
        except Exception as exc:
            print(f"{pod.metadata.name}: {exc.__class__.__name__} {getattr(exc, 'status', '')}")


def main() -> Dict[str, int]:
    counts: Counter = Counter()
    for log in read_logs("shop", "app=catalog", "catalog"):
        for line in log.splitlines():
            request = Request.from_line(line)
            if request and request.is_server_error:
                counts[request.path] += 1
    return dict(counts)


if __name__ == "__main__":
    result = main()

result
