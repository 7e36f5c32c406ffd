"""The truths of the forty questions, from the raw data. `questions.json` has their words and how exact an answer must be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from benchmarks.observed.estate import CLAIMS, HPAS, NODES, TEAMS, App, Pod, pods
from benchmarks.observed.view import MIB, View

__all__ = ["TRUTHS", "Answer"]

Answer = dict[str, Any]
"""A field ▶ a text, a number, a list without an order, or a table of those."""
TRUTHS: Final[dict[str, Callable[[View], Answer]]] = {
    "m2": lambda view: {"deployments": [app.name for app in _apps(view) if view.cpu_share(app, 60) < 0.3]},
    "m4": lambda view: {**_most_throttled(view), "limit": "200m"},
    "a1": lambda view: {"alerts": {"storefront": 7, "ledger": 6}},
    "a2": lambda view: {"pod": view.pod("search", 1).name, "reason": "CrashLoopBackOff"},
    "a3": lambda view: {"autoscaler": "cart", "most": 3, "comment": "cart is capped until the sale ends"},
    "a6": lambda view: {"deployments": ["search", "reconciler", "api", "cart"]},
    "a8": lambda view: {"teams": {"HighErrorRate": "experience", "PodRestarts": "storefront", "VolumeFills": "ledger"}},
    "l10": lambda view: {
        "lines": dict(Counter(line.pod.node for line in view.said(480, message="connection refused")))
    },
}
_MEMORY: Final = "container_memory_working_set_bytes"


def _truth(name: str) -> Callable[[Callable[[View], Answer]], Callable[[View], Answer]]:
    def keep(function: Callable[[View], Answer]) -> Callable[[View], Answer]:
        TRUTHS[name] = function
        return function

    return keep


@_truth("m1")
def _(view: View) -> Answer:
    used = {pod: view.now(_MEMORY, pod, container="app") / (pod.app.memory[1] * MIB) for pod in _limited(view)}
    pod = max(used, key=used.__getitem__)
    return {"pod": pod.name, "percent": 100 * used[pod]}


@_truth("m3")
def _(view: View) -> Answer:
    old = [pod for pod in view.running if pod.app.namespace == "shop" and pod.app.started > 420]
    pod = max(old, key=lambda pod: _risen(view, pod))
    return {"pod": pod.name, "mib": _risen(view, pod), "limit": pod.app.memory[1]}


@_truth("m5")
def _(view: View) -> Answer:
    free = {node: view.free_memory(node) for node in NODES}
    node = min(free, key=free.__getitem__)
    there = [pod for pod in view.running if pod.node == node]
    biggest = max(there, key=lambda pod: view.now(_MEMORY, pod))
    return {"node": node, "percent": free[node], "pods": len(there), "biggest": biggest.name}


@_truth("m6")
def _(view: View) -> Answer:
    image = view.of("checkout")[0].app.image
    return {"deployment": "checkout", "percent": view.failed("checkout", 30), "image": image}


@_truth("m7")
def _(view: View) -> Answer:
    hours = {claim: view.hours_left(*claim) for claim in CLAIMS}
    space, claim = min(hours, key=hours.__getitem__)
    return {"claim": claim, "hours": hours[space, claim], "pod": view.pod(CLAIMS[space, claim][0]).name}


@_truth("m8")
def _(view: View) -> Answer:
    (series,) = view.series("kube_deployment_status_replicas_available", deployment="web")
    return {"minutes": sum(value < 4 for value in view.values(series, 180))}


@_truth("m9")
def _(view: View) -> Answer:
    full = [name for (_, name), (_, most, now) in HPAS.items() if now == most]
    return {"percents": {name: 100 * view.cpu_share(view.pod(name).app, 15) for name in full}}


@_truth("m10")
def _(view: View) -> Answer:
    requested = {pod: MIB * sum(memory[0] for _, memory in pod.app.sizes.values()) for pod in view.running}
    over = [pod for pod, memory in requested.items() if view.mean(_MEMORY, 60, pod) > memory]
    return {"pods": dict(Counter(TEAMS[pod.app.namespace] for pod in over))}


@_truth("m11")
def _(view: View) -> Answer:
    zones = {zone for zone, _ in NODES.values()}
    cores = {zone: view.cores([pod for pod in view.running if NODES[pod.node][0] == zone], 60) for zone in zones}
    zone = max(cores, key=cores.__getitem__)
    return {"zone": zone, "cores": cores[zone]}


@_truth("m12")
def _(view: View) -> Answer:
    restarts = view.growth("kube_pod_container_status_restarts_total", 360, view.pod("search", 1))
    return {"pod": view.pod("search", 1).name, "restarts": restarts, "reason": "OOMKilled"}


@_truth("m13")
def _(view: View) -> Answer:
    rates = {app.name: view.rate_of_ready(app) for app in _apps(view) if app.requests}
    name = max(rates, key=rates.__getitem__)
    return {"deployment": name, "rate": rates[name]}


@_truth("m14")
def _(view: View) -> Answer:
    free = [pod for pod in view.running if not pod.app.memory[1]]
    return {"pods": [pod.name for pod in free if view.now(_MEMORY, pod, container="app") > 200 * MIB]}


@_truth("a4")
def _(view: View) -> Answer:
    there = [pod for pod in view.running if pod.node == "node-b2" and pod.app.namespace == "payments"]
    return {"node": "node-b2", "zone": NODES["node-b2"][0], "pods": len(there)}


@_truth("a5")
def _(view: View) -> Answer:
    _, size, kind = CLAIMS["payments", "ledger-data"]
    return {"claim": "ledger-data", "size": f"{size}Gi", "class": kind, "receivers": ["pager", "ledger-oncall"]}


@_truth("a7")
def _(view: View) -> Answer:
    gone = next(pod for pod in pods() if pod.is_gone and pod.key == ("gateway", 0))
    return {"alert": "MemoryPeak", "pod": gone.name, "image": gone.app.image}


@_truth("l1")
def _(view: View) -> Answer:
    said = [line for line in view.said(60, level="error") if line.pod.app.namespace == "shop"]
    ((app, count),) = Counter(line.pod.app for line in said).most_common(1)
    return {"deployment": app.name, "lines": count, "image": app.image}


@_truth("l2")
def _(view: View) -> Answer:
    ((pod, count),) = Counter(line.pod for line in view.said(60)).most_common(1)
    return {"pod": pod.name, "percent": 100 * count / len(view.said(60)), "node": pod.node}


@_truth("l3")
def _(view: View) -> Answer:
    first = min(view.said(300, "checkout", message="payment authorisation timed out"), key=lambda line: line.second)
    return {"minutes": first.second / 60 + first.pod.app.started, "pod": first.pod.name}


@_truth("l4")
def _(view: View) -> Answer:
    counts = Counter(line.fields.get("order") for line in view.said(180, "checkout", "error"))
    return {"orders": [order for order, count in counts.items() if count >= 3], "node": view.pod("checkout", 1).node}


@_truth("l5")
def _(view: View) -> Answer:
    slowest = max(view.said(180, "cart", "info"), key=lambda line: int(line.fields["took_ms"]))
    return {"ms": slowest.fields["took_ms"], "pod": slowest.pod.name, "node": slowest.pod.node}


@_truth("l6")
def _(view: View) -> Answer:
    said = view.said(360, "search", "fatal")
    return {"pod": said[0].pod.name, "lines": len(said), "message": said[0].message}


@_truth("l7")
def _(view: View) -> Answer:
    pod = max(view.of("api"), key=view.took)
    return {"pod": pod.name, "ms": view.took(pod), "node": pod.node}


@_truth("l8")
def _(view: View) -> Answer:
    shop = [app for app in _apps(view) if app.namespace == "shop" and app.requests]
    ratios = {app.name: view.errors_per_thousand(app) for app in shop}
    name = max(ratios, key=ratios.__getitem__)
    return {"deployment": name, "ratio": ratios[name]}


@_truth("l9")
def _(view: View) -> Answer:
    heard = {line.pod for line in view.said(30)}
    return {"pods": [pod.name for pod in view.running if pod.app.namespace == "payments" and pod not in heard]}


@_truth("t1")
def _(view: View) -> Answer:
    ((message, _),) = Counter(line.message for line in view.said(30, "checkout", "error")).most_common(1)
    image = view.of("checkout")[0].app.image
    return {"image": image, "percent": view.failed("checkout", 30), "message": message}


@_truth("t2")
def _(view: View) -> Answer:
    pod = view.pod("cart", 1)
    pace = view.slope(_MEMORY, 180, pod) / MIB
    hours = (pod.app.memory[1] - view.mean(_MEMORY, 5, pod) / MIB) / pace
    return {"pod": pod.name, "pace": pace, "hours": hours, "message": "session cache does not evict"}


@_truth("t3")
def _(view: View) -> Answer:
    pod = view.pod("reconciler")
    late = [line for line in view.said(60, "reconciler", message="batch is late") if line.pod == pod]
    return {**_most_throttled(view), "limit": "200m", "lines": len(late)}


@_truth("t4")
def _(view: View) -> Answer:
    warned = Counter(line.pod for line in view.said(60, level="warn") if line.pod.node == "node-b2")
    ((pod, count),) = warned.most_common(1)
    return {"percent": view.free_memory("node-b2"), "pod": pod.name, "warnings": count}


@_truth("t5")
def _(view: View) -> Answer:
    pod = view.pod("search", 1)
    restarts = view.growth("kube_pod_container_status_restarts_total", 360, pod)
    lines = len(view.said(360, "search", "fatal"))
    return {"pod": pod.name, "restarts": restarts, "exit_code": 137, "lines": lines}


@_truth("t6")
def _(view: View) -> Answer:
    lines = view.said(60, "ledger", message="compaction skipped, too little space")
    hours = view.hours_left("payments", "ledger-data")
    return {"pod": view.pod("ledger").name, "hours": hours, "lines": len(lines)}


@_truth("t7")
def _(view: View) -> Answer:
    pod = max(view.of("api"), key=view.p99)
    return {"pod": pod.name, "p99": view.p99(pod), "ms": view.took(pod), "node": pod.node}


@_truth("t8")
def _(view: View) -> Answer:
    pod = view.pod("catalog", 2)
    lines = len(view.said(60, "catalog", message="metrics endpoint is slow"))
    return {"pod": pod.name, "percent": 100 * (1 - view.mean("up", 180, pod)), "lines": lines, "restarts": pod.restarts}


def _apps(view: View) -> list[App]:
    return list(dict.fromkeys(pod.app for pod in view.running))


def _limited(view: View) -> list[Pod]:
    return [pod for pod in view.running if pod.app.namespace == "payments" and pod.app.memory[1]]


def _risen(view: View, pod: Pod) -> float:
    memory = [view.mean(_MEMORY, 60, pod, before, container="app") for before in (0, 360)]
    return (memory[0] - memory[1]) / MIB


def _most_throttled(view: View) -> Answer:
    cfs = "container_cpu_cfs_throttled_periods_total", "container_cpu_cfs_periods_total"
    limited = [pod for pod in view.running if pod.app.cpu[1]]
    shares = {pod: view.growth(cfs[0], 30, pod) / view.growth(cfs[1], 30, pod) for pod in limited}
    pod = max(shares, key=shares.__getitem__)
    return {"pod": pod.name, "percent": 100 * shares[pod]}
