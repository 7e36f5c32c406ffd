"""B3: 50 small lists in a row over stdio, one call each, against the peer.

The peer's Kubernetes client throttles itself once its burst is used up, so its calls wait; the row counts what its user
waits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks import bare, clusters, report, servers, stdio

__all__ = ["run"]

CALLS = 50
ROUNDS = 3
"""Of ours; the peer, which may need 10 s for one, has one."""
NAMESPACE = "monitoring"
"""About 20 pods."""
PATH = f"/api/v1/namespaces/{NAMESPACE}/pods"

SCRIPT = f"[(p.metadata.name, p.status.phase) for p in k8s.coreV1().list_namespaced_pod({NAMESPACE!r})]"
INSIDE = f"""\
for _ in range({CALLS}):
    pods = k8s.coreV1().list_namespaced_pod({NAMESPACE!r})
len(pods)
"""


def run() -> Iterator[report.Row | str]:
    """The rows of B3."""
    with (
        clusters.broken() as kubeconfig,
        servers.kubescript(kubeconfig) as subject,
        bare.connected(kubeconfig) as connection,
    ):
        _in_a_row(subject, "evaluate_script", {"script": SCRIPT})  # warm: the first call loads credentials
        ours: list[float] = []
        inside: list[float] = []
        gets: list[float] = []
        for _ in range(ROUNDS):
            gets += [connection.get(PATH)[0] * 1000 for _ in range(CALLS)]
            ours += _in_a_row(subject, "evaluate_script", {"script": SCRIPT})
            answer = subject.call("evaluate_script", {"script": INSIDE})
            inside.append(answer.seconds * 1000 / CALLS)
        theirs, note = _peer(kubeconfig)
    if note:
        yield note
    yield from _rows(ours, inside, gets, theirs)


def _rows(ours: list[float], inside: list[float], gets: list[float], theirs: list[float]) -> Iterator[report.Row]:
    what = f"small list, p50 of {CALLS} calls"
    middle = report.median(ours)
    least = report.median(gets)
    peer = report.median(theirs) if theirs else None
    yield report.Row("b3", what, "ms", middle, peer, "peer", "value_at_most", 10)
    yield report.Row("b3", what, "ms", middle, least, "bare GET")
    within = report.median(inside)
    yield report.Row("b3", f"small list, {CALLS} in one script", "ms", within, least, "bare GET")
    whole = sum(ours) / ROUNDS
    yield report.Row("b3", f"{CALLS} calls in all", "ms", whole, sum(theirs) or None, "peer")


def _peer(kubeconfig: Path) -> tuple[list[float], str]:
    """The peer's times; without it a note that says why."""
    try:
        with servers.peer(kubeconfig) as peer:
            peer.call("namespaces_list", {})
            return _in_a_row(peer, "pods_list_in_namespace", {"namespace": NAMESPACE}), ""
    except report.Unavailable as error:
        return [], f"b3: without the peer: {error}"


def _in_a_row(server: stdio.Server, tool: str, arguments: dict[str, str]) -> list[float]:
    times = []
    for _ in range(CALLS):
        answer = server.call(tool, arguments)
        times.append(answer.seconds * 1000)
    return times
