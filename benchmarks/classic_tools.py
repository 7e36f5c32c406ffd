"""The classic tools beside the peer's nearest ones: tokens of a definition, tokens and time of the same answer, and
the list of 5,000 pods beside the bare GET.

Both servers are warm, and calls take turns. The peer lists pods as a table, which is its default.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import bare, clusters, npm, report, servers, stdio
from benchmarks.peers import programs

__all__ = ["NEAREST", "run"]

ROUNDS = 5
PAUSE = 0.2
"""Seconds for the API server and the spare worker to settle."""
NEAREST = {
    "kubectl_get": "resources_list",
    "kubectl_logs": "pods_log",
    "kubectl_get_yaml": "resources_get",
    "kubectl_top_nodes": "nodes_top",
    "kubectl_top_pods": "pods_top",
    "kubectl_scale_deployment": "resources_scale",
    "helm_list": "helm_list",
}
"""Our tools, and the peer's that do the same. It has none like describe, cluster_info, restart, edit_hpa and most of
Helm's."""
_POD = {"apiVersion": "v1", "kind": "Pod"}
_LIST = ("kubectl_get", {"resource": "pods", "allNamespaces": True})


@dataclass
class _Pair:
    """The same question to both servers, and the seconds that its answers took."""

    what: str
    ours: tuple[str, dict[str, Any]]
    theirs: tuple[str, dict[str, Any]]
    seconds: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    texts: tuple[str, str] = ("", "")

    def measure(self, subject: stdio.Server, peer: stdio.Server) -> None:
        """Ask both."""
        time.sleep(PAUSE)
        mine = subject.call(*self.ours)
        other = peer.call(*self.theirs)
        ours, theirs = self.seconds
        ours.append(mine.seconds)
        theirs.append(other.seconds)
        self.texts = stdio.text(mine), stdio.text(other)

    def rows(self, goal: float = 0) -> Iterator[report.Row]:
        """Tokens and milliseconds."""
        name = f"peer {self.theirs[0]}"
        ours, theirs = npm.count_tokens(self.texts)
        kind: report.Kind = "at_most" if goal else ""
        yield report.Row(f"{self.what}: answer", "tokens", ours, theirs, name, kind, goal)
        mine, other = (report.median(values) * 1000 for values in self.seconds)
        yield report.Row(f"{self.what}: time", "ms", mine, other, name)


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    with servers.no_cluster() as kubeconfig:
        yield from _definitions(kubeconfig)
    with clusters.broken() as kubeconfig, _subject(kubeconfig) as subject, servers.peer(kubeconfig) as peer:
        for pair in _pairs(kubeconfig):
            for _ in range(ROUNDS):
                pair.measure(subject, peer)
            yield from pair.rows()
    with clusters.bulk() as kubeconfig, _subject(kubeconfig) as subject, servers.peer(kubeconfig) as peer:
        yield from _large_list(kubeconfig, subject, peer)


def _subject(kubeconfig: Path) -> stdio.Server:
    return servers.kubescript(kubeconfig, "--toolsets", "kubectl,helm,cluster")


def _definitions(kubeconfig: Path) -> Iterator[report.Row | str]:
    """The tokens of each tool, as a client gets it."""
    flags = ("--toolsets", "kubectl,helm,cluster", "--writes", "plan")
    with servers.kubescript(kubeconfig, *flags) as subject:
        ours = _tokens(subject)
    program = programs.kubernetes_mcp_server()
    with stdio.Server([*program, "--kubeconfig", str(kubeconfig), "--toolsets", "core,config,helm"]) as peer:
        theirs = _tokens(peer)
    for tool, nearest in NEAREST.items():
        yield report.Row(f"{tool}: definition", "tokens", ours[tool], theirs[nearest], f"peer {nearest}")
    same = [tool for tool in NEAREST if tool.startswith("kubectl")]
    mine, other = sum(ours[tool] for tool in same), sum(theirs[NEAREST[tool]] for tool in same)
    yield report.Row("kubectl tools that both have", "tokens", mine, other, "the peer's", "at_most", 0.5)
    for prefix in ("kubectl_", "helm_", ""):
        chosen = [count for tool, count in ours.items() if tool.startswith(prefix)]
        yield f"{len(chosen)} tools {prefix}*: {sum(chosen):,} tokens"
    yield f"the peer's {len(theirs)} tools: {sum(theirs.values()):,} tokens"


def _tokens(server: stdio.Server) -> dict[str, int]:
    """The tokens of each tool's definition, by the tool's name."""
    tools = server.request("tools/list", {}).result["tools"]
    names = [tool["name"] for tool in tools]
    texts = [json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in tools]
    counts = npm.count_tokens(texts)
    return dict(zip(names, counts, strict=True))


def _pairs(kubeconfig: Path) -> list[_Pair]:
    pods = clusters.fetch(kubeconfig, "/api/v1/namespaces/shop/pods")["items"]
    name = str(pods[0]["metadata"]["name"])
    shop = {"namespace": "shop"}
    return [
        _Pair("pods of a namespace", ("kubectl_get", {"resource": "pods", **shop}), ("pods_list_in_namespace", shop)),
        _Pair(
            "pods of a namespace, table",
            ("kubectl_get", {"resource": "pods", **shop, "output": "table"}),
            ("pods_list_in_namespace", shop),
        ),
        _Pair(
            "deployments, table",
            ("kubectl_get", {"resource": "deployments", "allNamespaces": True, "output": "table"}),
            ("resources_list", {"apiVersion": "apps/v1", "kind": "Deployment"}),
        ),
        _Pair(
            "YAML of a pod",
            ("kubectl_get_yaml", {"resource": "pods", "name": name, **shop}),
            ("resources_get", {**_POD, "name": name, **shop}),
        ),
    ]


def _large_list(kubeconfig: Path, subject: stdio.Server, peer: stdio.Server) -> Iterator[report.Row | str]:
    pair = _Pair("5,000 pods", _LIST, ("pods_list", {}))
    bare_seconds: list[float] = []
    with bare.connected(kubeconfig) as connection:
        for _ in range(ROUNDS):
            time.sleep(PAUSE)
            bare_seconds.append(connection.get(clusters.PODS)[0])
            pair.measure(subject, peer)
    yield from pair.rows(goal=0.33)
    ours = report.median(pair.seconds[0]) * 1000
    yield report.Row("5,000 pods: time", "ms", ours, report.median(bare_seconds) * 1000, "bare GET", "at_most", 1.3)
