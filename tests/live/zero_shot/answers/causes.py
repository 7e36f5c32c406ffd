"""Answers that join what several objects say about one thing: why it is down, and what happened when."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    alive,
    answer,
    condition,
    controller,
    key,
    name,
    ready,
    space,
    statuses,
)


def _about(events: list[Object], kind: str, names: set[str]) -> list[Object]:
    return [one for one in events if one["involvedObject"]["kind"] == kind and one["involvedObject"]["name"] in names]


def _waiting(found: list[Object]) -> str:
    return next((str(one["state"]["waiting"]["reason"]) for one in found if "waiting" in one["state"]), "")


def _cause(pod: Object, lost: set[str]) -> str:
    scheduled = condition(pod, "PodScheduled")
    if scheduled.get("status") == "False":
        return str(scheduled["reason"])
    if pod["spec"].get("nodeName") in lost:
        return "NodeNotReady"
    if reason := _waiting(pod["status"].get("initContainerStatuses", [])):
        return f"Init:{reason}"
    return _waiting(statuses(pod)) or "Unready"


@answer
def why_not_up_payments(cluster: Cluster) -> Any:
    lost = {name(node) for node in cluster.nodes if not ready(node)}
    warnings = [one for one in cluster.within("events", "payments") if one["type"] == "Warning"]
    return {
        name(pod): [_cause(pod, lost), sorted({one["reason"] for one in _about(warnings, "Pod", {name(pod)})})]
        for pod in cluster.within("pods", "payments")
        if alive(pod) and not ready(pod)
    }


def _owned(cluster: Cluster, plural: str, uids: set[str]) -> list[Object]:
    return [one for one in cluster.within(plural, "shop") if controller(one).get("uid") in uids]


@answer
def recommendations_timeline(cluster: Cluster) -> Any:
    top = [one for one in cluster.within("deployments", "shop") if name(one) == "recommendations"]
    sets = _owned(cluster, "replicasets", {one["metadata"]["uid"] for one in top})
    pods = _owned(cluster, "pods", {one["metadata"]["uid"] for one in sets})
    rows = []
    for kind, found in (("Deployment", top), ("ReplicaSet", sets), ("Pod", pods)):
        for event in _about(cluster.within("events", "shop"), kind, set(map(name, found))):
            what = f"{kind}/{event['involvedObject']['name']}"
            rows.append((event["lastTimestamp"], what, event["reason"], event["count"]))
    return [list(row[1:]) for row in sorted(rows)]


def _second(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp).astimezone(UTC).replace(microsecond=0)


@answer
def lost_node_timeline(cluster: Cluster) -> Any:
    lost = "worker-c2"
    (node,) = (one for one in cluster.nodes if name(one) == lost)
    (lease,) = (one for one in cluster.within("leases", "kube-node-lease") if name(one) == lost)
    told = {f"event {one['reason']}": one.get("lastTimestamp") or one["eventTime"]
            for one in _about(cluster.events, "Node", {lost})}  # fmt: skip
    changes = {f"condition {one['type']}": one["lastTransitionTime"] for one in node["status"]["conditions"]}
    once = {"created": node["metadata"]["creationTimestamp"], "lease renewed": lease["spec"]["renewTime"]}
    return [text for _, text in sorted((_second(stamp), text) for text, stamp in (once | changes | told).items())]


@answer
def unavailable_ranks(cluster: Cluster) -> Any:
    short = {
        key(one): missing
        for one in cluster.deployments
        if (missing := one["spec"]["replicas"] - one.get("status", {}).get("availableReplicas", 0)) > 0
    }
    rows = [[1 + sum(other > missing for other in short.values()), which, missing] for which, missing in short.items()]
    return sorted(row for row in rows if row[0] <= 5)


@answer
def crash_codes_and_words(cluster: Cluster) -> Any:
    good = {name(node) for node in cluster.nodes if ready(node)}
    found: dict[str, Any] = {}
    for pod in cluster.pods:
        for one in statuses(pod) if space(pod) != "shop" and pod["spec"].get("nodeName") in good else []:
            if one["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff":
                text = cluster.log(space(pod), name(pod), one["name"], tail_lines=1)
                code = one["lastState"]["terminated"]["exitCode"]
                found[f"{key(pod)}/{one['name']}"] = [code, str(text).rstrip("\n")]
    return found
