"""Answers that containers have written into their logs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.live.zero_shot.answers.cluster import Cluster, Object, answer, counted, labels, name


def _readable(
    cluster: Cluster, namespace: str, app: str, container: str, **options: Any
) -> Iterator[tuple[str, list[str]]]:
    """Pod and lines, of the pods of an app whose log can be read."""
    for pod in cluster.within("pods", namespace):
        if labels(pod).get("app") == app:
            text = cluster.log(namespace, name(pod), container, **options)
            if isinstance(text, str):
                yield name(pod), text.splitlines()


def _containers(pod: Object) -> list[Object]:
    found: list[Object] = pod["status"].get("containerStatuses", [])
    return found


@answer
def crash_last_line(cluster: Cluster) -> Any:
    found: dict[str, Any] = {}
    for pod in cluster.within("pods", "shop"):
        for one in _containers(pod):
            if one["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff":
                text = cluster.log("shop", name(pod), one["name"], tail_lines=1)
                found |= {name(pod): text.rstrip("\n")} if isinstance(text, str) else {}
    return found


@answer
def panics(cluster: Cluster) -> Any:
    found = set()
    for pod in cluster.within("pods", "shop"):
        for one in pod["spec"]["containers"]:
            text = cluster.log("shop", name(pod), one["name"], tail_lines=20)
            if isinstance(text, str) and any(line.startswith("panic:") for line in text.splitlines()):
                found.add(name(pod))
    return sorted(found)


@answer
def order_errors(cluster: Cluster) -> Any:
    logs = _readable(cluster, "shop", "orders", "orders", since_seconds=3600)
    rows = [json.loads(line) for _, lines in logs for line in lines]
    return counted(row["upstream"] for row in rows if row["level"] == "error")


@answer
def lines_last_hour(cluster: Cluster) -> Any:
    return {pod: len(lines) for pod, lines in _readable(cluster, "shop", "search", "search", since_seconds=3600)}


@answer
def previous_logs(cluster: Cluster) -> Any:
    found: dict[str, Any] = {}
    for pod in cluster.within("pods", "data"):
        for one in _containers(pod) if pod["status"]["phase"] == "Running" else []:
            if "terminated" in one.get("lastState", {}):
                text = cluster.log("data", name(pod), one["name"], previous=True)
                found |= {f"{name(pod)}/{one['name']}": text.splitlines()[-1]} if isinstance(text, str) else {}
    return found


@answer
def index_progress(cluster: Cluster) -> Any:
    found: dict[str, Any] = {}
    for pod, lines in _readable(cluster, "shop", "search", "search"):
        newest = [line for line in lines if "index not loaded" in line][-1]
        found[pod] = newest.partition("progress=")[2]
    return found


@answer
def unreadable_logs(cluster: Cluster) -> Any:
    found: dict[str, Any] = {}
    for pod in cluster.within("pods", "shop"):
        for one in pod["spec"]["containers"]:
            text = cluster.log("shop", name(pod), one["name"], tail_lines=1)
            found |= {} if isinstance(text, str) else {f"{name(pod)}/{one['name']}": text}
    return found


@answer
def server_errors(cluster: Cluster) -> Any:
    rows = [json.loads(line) for _, lines in _readable(cluster, "shop", "catalog", "catalog") for line in lines]
    return counted(row["path"] for row in rows if row["status"] >= 500)


@answer
def sidecar_statuses(cluster: Cluster) -> Any:
    lines = [line for _, lines in _readable(cluster, "shop", "catalog", "istio-proxy") for line in lines]
    return counted(line.rpartition('" ')[0].rpartition('" ')[2].split()[0] for line in lines)


@answer
def mails(cluster: Cluster) -> Any:
    lines = [line for _, lines in _readable(cluster, "shop", "email-worker", "email-worker") for line in lines]
    sent = [int(match[1]) for line in lines if (match := re.search(r"sent order confirmation to (\d+) rec", line))]
    return {"lines": len(sent), "recipients": sum(sent)}


@answer
def newest_line(cluster: Cluster) -> Any:
    found = _readable(cluster, "shop", "redis", "redis", timestamps=True)
    return {pod: lines[-1][:19] + "Z" for pod, lines in found}


@answer
def exceptions(cluster: Cluster) -> Any:
    lines = [line for _, lines in _readable(cluster, "payments", "api", "api") for line in lines]
    classes = Counter(match[0] for line in lines if (match := re.match(r"[a-z]\w*(\.\w+)+(?=:)", line)))
    places = Counter(match[1] for line in lines if (match := re.match(r"\tat shop\..*\((.*)\)", line)))
    return {"classes": dict(classes), "place": places.most_common(1)[0][0]}
