from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterator, Optional

from kubernetes.client.exceptions import ApiException

NAMESPACE = "data"


@dataclass(frozen=True)
class ContainerRef:
    pod: str
    container: str

    @property
    def key(self) -> str:
        return f"{self.pod}/{self.container}"


class PreviousLogReader:
    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.api = k8s.coreV1()

    def restarted(self) -> Iterator[ContainerRef]:
        pods = self.api.list_namespaced_pod(self.namespace, field_selector="status.phase=Running")
        for pod in pods.items:
            for status in pod.status.container_statuses or []:
                if status.last_state and status.last_state.terminated:
                    yield ContainerRef(pod.metadata.name, status.name)

    def last_line(self, ref: ContainerRef) -> Optional[str]:
        try:
            text = self.api.read_namespaced_pod_log(
                ref.pod,
                self.namespace,
                container=ref.container,
                previous=True,
                tail_lines=1,
            )
        except ApiException:
            return None
        lines = text.splitlines()
        return lines[-1] if lines else ""


def main() -> Dict[str, str]:
    reader = PreviousLogReader(NAMESPACE)
    result: Dict[str, str] = {}
    for ref in reader.restarted():
        line = reader.last_line(ref)
        if line is not None:
            result[ref.key] = line
    return result


main()
