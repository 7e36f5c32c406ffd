"""B3: 50 small lists in a row over stdio, one call each, against the peer.

The peer's Kubernetes client throttles itself once its burst is used up, so its calls wait; the row counts what its user waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import clusters, report, servers, stdio

__all__ = ["run"]

CALLS = 50
ROUNDS = 3
"""Of ours; the peer, which may need 10 s for one, has one."""
NAMESPACE = "monitoring"
"""About 20 pods."""

SCRIPT = f"[(p.metadata.name, p.status.phase) for p in k8s.coreV1().list_namespaced_pod({NAMESPACE!r})]"
INSIDE = f"""\
for _ in range({CALLS}):
    pods = k8s.coreV1().list_namespaced_pod({NAMESPACE!r})
len(pods)
"""


def run() -> Iterator[report.Row | str]:
    """The rows of B3."""
    with clusters.broken() as kubeconfig, servers.kubescript(kubeconfig) as subject:
        _in_a_row(subject, "evaluate_script", {"script": SCRIPT})  # warm: the first call loads credentials
        ours: list[float] = []
        inside: list[float] = []
        for _ in range(ROUNDS):
            ours += _in_a_row(subject, "evaluate_script", {"script": SCRIPT})
            inside.append(subject.call("evaluate_script", {"script": INSIDE}).seconds * 1000 / CALLS)
        theirs, note = _peer(kubeconfig)
    if note:
        yield note
    baseline = report.median(theirs) if theirs else None
    middle = report.median(ours)
    yield report.Row("b3", "small list, p50 of 50 calls", "ms", middle, baseline, "peer", "value_at_most", 10)
    yield report.Row("b3", "small list, 50 in one script", "ms", report.median(inside), baseline, "peer")
    yield report.Row("b3", "50 calls in all", "ms", sum(ours) / ROUNDS, sum(theirs) or None, "peer")


def _peer(kubeconfig: Path) -> tuple[list[float], str]:
    try:
        with servers.peer(kubeconfig) as peer:
            peer.call("namespaces_list", {})
            return _in_a_row(peer, "pods_list_in_namespace", {"namespace": NAMESPACE}), ""
    except report.Unavailable as error:
        return [], f"b3: without the peer: {error}"


def _in_a_row(server: stdio.Server, tool: str, arguments: dict[str, str]) -> list[float]:
    return [server.call(tool, arguments).seconds * 1000 for _ in range(CALLS)]
