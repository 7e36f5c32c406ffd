"""Answers about how containers run, wait and end."""

from __future__ import annotations

from typing import Any

from tests.live.zero_shot.answers.cluster import (
    Cluster,
    Object,
    answer,
    containers,
    counted,
    hours_since,
    key,
    name,
    space,
    statuses,
)


def _waiting(status: Object) -> str:
    return str(status.get("state", {}).get("waiting", {}).get("reason", ""))


@answer
def crashloop_payments(cluster: Cluster) -> Any:
    pods = cluster.within("pods", "payments")
    return sorted(name(pod) for pod in pods if "CrashLoopBackOff" in map(_waiting, statuses(pod)))


@answer
def image_pull_errors(cluster: Cluster) -> Any:
    found = {}
    for pod in cluster.pods:
        images = {one["name"]: one["image"] for one in containers(pod, init=True)}
        for status in [*statuses(pod), *pod["status"].get("initContainerStatuses", [])]:
            if _waiting(status) in ("ImagePullBackOff", "ErrImagePull"):
                found[f"{key(pod)}/{status['name']}"] = images[status["name"]]
    return found


@answer
def top_restarts(cluster: Cluster) -> Any:
    rows = [[key(pod), sum(one["restartCount"] for one in statuses(pod))] for pod in cluster.pods]
    return sorted(rows, key=lambda row: (-row[1], row[0]))[:5]


@answer
def oom_killed(cluster: Cluster) -> Any:
    return sorted(
        f"{key(pod)}/{one['name']}"
        for pod in cluster.pods
        for one in statuses(pod)
        if "OOMKilled" in [one.get(state, {}).get("terminated", {}).get("reason") for state in ("state", "lastState")]
    )


@answer
def init_stuck(cluster: Cluster) -> Any:
    found = {}
    for pod in cluster.pods:
        open_ones = [
            status
            for status in pod["status"].get("initContainerStatuses", [])
            if status["state"].get("terminated", {}).get("exitCode") != 0
        ]
        if pod["status"]["phase"] == "Pending" and open_ones:
            state = open_ones[0]["state"]
            reason = _waiting(open_ones[0]) or state.get("terminated", {}).get("reason") or "Running"
            found[key(pod)] = [open_ones[0]["name"], reason]
    return found


@answer
def restarts_last_hour(cluster: Cluster) -> Any:
    return sorted(
        [space(pod), name(pod), one["name"], last["reason"]]
        for pod in cluster.pods
        for one in statuses(pod)
        if (last := one.get("lastState", {}).get("terminated")) and hours_since(last["finishedAt"]) < 1
    )


@answer
def waiting_reasons(cluster: Cluster) -> Any:
    return counted(filter(None, (_waiting(one) for pod in cluster.pods for one in statuses(pod))))


@answer
def exit_codes(cluster: Cluster) -> Any:
    lasts = [one.get("lastState", {}).get("terminated") for pod in cluster.pods for one in statuses(pod)]
    return counted(str(last["exitCode"]) for last in lasts if last)
