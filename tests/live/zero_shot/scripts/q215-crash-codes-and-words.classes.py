from dataclasses import dataclass
from typing import Dict, Iterator, List, Optional, Set

from kubernetes.client.exceptions import ApiException

EXCLUDED_NAMESPACES: Set[str] = {"shop"}


@dataclass
class Crash:
    namespace: str
    pod: str
    container: str
    exit_code: Optional[int]

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.pod}/{self.container}"

    def last_log_line(self, core) -> Optional[str]:
        try:
            log = core.read_namespaced_pod_log(
                name=self.pod,
                namespace=self.namespace,
                container=self.container,
                tail_lines=1,
            )
        except ApiException as exc:
            print(f"log of {self.key} unavailable: {exc.status} {exc.reason}")
            return None
        lines: List[str] = (log or "").splitlines()
        return lines[-1] if lines else ""


def ready_nodes(core) -> Set[str]:
    return {
        node.metadata.name
        for node in core.list_node().items
        if any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)
    }


def find_crashes(core) -> Iterator[Crash]:
    nodes = ready_nodes(core)
    for pod in core.list_pod_for_all_namespaces().items:
        if pod.metadata.namespace in EXCLUDED_NAMESPACES or pod.spec.node_name not in nodes:
            continue
        for cs in pod.status.container_statuses or []:
            waiting = cs.state.waiting if cs.state else None
            if not waiting or waiting.reason != "CrashLoopBackOff":
                continue
            terminated = cs.last_state.terminated if cs.last_state else None
            yield Crash(
                namespace=pod.metadata.namespace,
                pod=pod.metadata.name,
                container=cs.name,
                exit_code=terminated.exit_code if terminated else None,
            )


def main() -> Dict[str, list]:
    core = k8s.coreV1()
    crashes = list(find_crashes(core))
    lines = k8s.parallel([lambda c=c: c.last_log_line(core) for c in crashes])
    return {c.key: [c.exit_code, line] for c, line in zip(crashes, lines)}


main()
