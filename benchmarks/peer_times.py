"""Start, memory, a small list and a list of 5,000 pods, beside each peer and plain kubectl.

Servers are warm, and starts and calls take turns. A server that cannot answer the large list is left out with its
error. Our list by `kubectl_get` is what that tool gives: the first lines, and how many more there are.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import clusters, memory, npm, report, servers, stdio
from benchmarks.peers import setups
from benchmarks.questions import Call

__all__ = ["run"]

STARTS = 6
"""Of each; the first finds its files outside the page cache and does not count."""
CALLS = 20
ROUNDS = 3
IDLE_AFTER = 3.0
"""Seconds until everything that warms up has."""
NAMESPACE = "monitoring"
"""About 20 pods."""
OURS = "kubescript"

_ALL_PODS: Mapping[str, Call] = {
    OURS: ("kubectl_get", {"resource": "pods", "allNamespaces": True}),
    "kubernetes-mcp-server": ("pods_list", {}),
    "mcp-server-kubernetes": (
        "kubectl_generic",
        {"command": "get", "resourceType": "pods", "allNamespaces": True},
    ),
    "kubectl-mcp-server": ("kubectl_get", {"resource_type": "pods", "all_namespaces": True}),
    "kubectl": ("kubectl", {"command": "kubectl get pods -A"}),
}
_FEW_PODS: Mapping[str, Call] = {
    OURS: ("kubectl_get", {"resource": "pods", "namespace": NAMESPACE}),
    "kubernetes-mcp-server": ("pods_list_in_namespace", {"namespace": NAMESPACE}),
    "mcp-server-kubernetes": (
        "kubectl_generic",
        {"command": "get", "resourceType": "pods", "namespace": NAMESPACE},
    ),
    "kubectl-mcp-server": ("kubectl_get", {"resource_type": "pods", "namespace": NAMESPACE}),
    "kubectl": ("kubectl", {"command": f"kubectl get pods -n {NAMESPACE}"}),
}


@dataclass
class _Listed:
    """One list of one of them: its repetitions' seconds, and the last answer or error."""

    seconds: list[float] = field(default_factory=list)
    text: str = ""
    error: str = ""

    def ask(self, asked: setups.Asked, call: Call) -> None:
        """Ask once more."""
        try:
            answer = asked.call(*call)
        except RuntimeError as error:
            self.error = str(error)[:200]
            return
        self.seconds.append(answer.seconds)
        self.text = stdio.text(answer)


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    npm.count_tokens([])  # Unavailable before anything is started
    with clusters.broken() as kubeconfig:
        yield from _starts(kubeconfig)
        with _ours(kubeconfig) as subject, setups.start_all(kubeconfig) as (peers, notes):
            yield from notes
            yield from _memory("after the start", subject, peers)
            yield from _lists("21 pods", CALLS, _FEW_PODS, _all(kubeconfig, subject, peers))
            yield from _memory(f"after {CALLS} lists of 21 pods", subject, peers)
    with clusters.bulk() as kubeconfig, _ours(kubeconfig) as subject, setups.start_all(kubeconfig) as (peers, _):
        yield from _lists("5,000 pods", ROUNDS, _ALL_PODS, _all(kubeconfig, subject, peers))


def _ours(kubeconfig: Path) -> stdio.Server:
    return servers.kubescript(kubeconfig, "--toolsets", "kubectl")


def _all(kubeconfig: Path, subject: stdio.Server, peers: Mapping[str, stdio.Server]) -> dict[str, setups.Asked]:
    return {OURS: subject, **peers, setups.KUBECTL: setups.Kubectl(kubeconfig)}


def _starts(kubeconfig: Path) -> Iterator[report.Row]:
    """From process start to the end of the first `initialize` answer."""
    seconds: dict[str, list[float]] = {}
    for _ in range(STARTS):
        with _ours(kubeconfig) as subject, setups.start_all(kubeconfig) as (peers, _notes):
            for name, server in {OURS: subject, **peers}.items():
                seconds.setdefault(name, []).append(server.start_seconds * 1000)
    ours = report.median(seconds.pop(OURS)[1:])
    for name, theirs in seconds.items():
        yield report.Row("start to initialize", "ms", ours, report.median(theirs[1:]), name)


def _memory(when: str, subject: stdio.Server, peers: Mapping[str, stdio.Server]) -> Iterator[report.Row]:
    time.sleep(IDLE_AFTER)
    ours = memory.of_tree(subject.pid).pss
    for name, server in peers.items():
        theirs = memory.of_tree(server.pid).pss
        yield report.Row(f"PSS of all processes {when}", "MiB", ours, theirs, name)


def _lists(
    what: str, rounds: int, calls: Mapping[str, Call], asked: Mapping[str, setups.Asked]
) -> Iterator[report.Row | str]:
    """The same list of all of them, in turns."""
    listed = {name: _Listed() for name in asked}
    for _ in range(rounds):
        for name, one in asked.items():
            listed[name].ask(one, calls[name])
    ours = listed.pop(OURS)
    tokens = dict(zip(listed, npm.count_tokens([each.text for each in listed.values()]), strict=True))
    (mine,) = npm.count_tokens([ours.text])
    for name, theirs in listed.items():
        if theirs.error:
            yield f"{what}: {name} has no answer: {theirs.error}"
            continue
        yield report.Row(f"{what}: answer", "tokens", mine, tokens[name], name)
        fast, slow = (report.median(each.seconds) * 1000 for each in (ours, theirs))
        yield report.Row(f"{what}: time", "ms", fast, slow, name)
