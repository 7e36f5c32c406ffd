# question: q010-init-stuck · style: classes · author: a Java developer who likes dataclasses
from __future__ import annotations

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class InitContainer:
    name: str
    waiting: Optional[str]
    terminated: Optional[str]
    exit_code: Optional[int]

    @classmethod
    def from_status(cls, status) -> InitContainer:
        state = status.state
        term = state.terminated if state else None
        wait = state.waiting if state else None
        return cls(
            name=status.name,
            waiting=wait.reason if wait else None,
            terminated=term.reason if term else None,
            exit_code=term.exit_code if term else None,
        )

    @property
    def done(self) -> bool:
        return self.exit_code == 0

    @property
    def reason(self) -> str:
        return self.waiting or self.terminated or "Running"


def main() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    pods = k8s.coreV1().list_pod_for_all_namespaces(field_selector="status.phase=Pending")
    for pod in pods.items:
        inits = [InitContainer.from_status(s) for s in pod.status.init_container_statuses or []]
        stuck = next((i for i in inits if not i.done), None)
        if stuck is not None:
            found[f"{pod.metadata.namespace}/{pod.metadata.name}"] = [stuck.name, stuck.reason]
    return found


main()
