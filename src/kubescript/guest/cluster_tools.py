"""cluster_list: the clusters that a tool's `cluster` may name, and their state. Also the script's part of gke_auth: the
host logs in first, and keeps the credentials to itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kubescript.guest import tool_errors
from kubescript.guest.kubectl.rows import cells, health
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import schemas, table
from kubescript.guest.sdk.values import exceptions
from kubescript.guest.tool_errors import ToolError
from kubescript.wire import messages
from kubescript.wire.exchanges import Call

__all__ = ["cluster_list", "gke_auth"]

_FORMATS: Final = ("table", "detailed", "json")
_ONE_POD: Final = Call("GET", ("api", "v1", "pods"), (("limit", "1"),), accept="names")
"""Asks for the first pod alone: with it, the API server reports how many more there are."""
_STATS: Final = ("version", "nodes", "ready", "pods")
_MOST_REASON: Final = 300
"""How many characters of the reason why a cluster does not answer are shown."""

Cluster = dict[str, Any]


# The tool's contract names the argument `format`.
def cluster_list(k8s: client.K8s, format: str = "detailed", *, include_stats: bool = False) -> Any:  # noqa: A002
    """Returns the clusters, the default one first; with `include_stats`, also their versions, nodes and pods."""
    if format not in _FORMATS:
        raise ToolError("invalid_choice", name="format", known=", ".join(_FORMATS), value=format)
    names = k8s.contexts()
    default = k8s.name
    clusters: list[Cluster] = [{"name": name, "default": name == default} for name in names]
    if include_stats:
        apis = [k8s.context(name) for name in names]
        _add_stats(k8s, clusters, apis)
    if format == "json":
        return clusters
    return _table(clusters) if format == "table" else _write_details(clusters)


# --- requests to the clusters -----------------------------------------------------------------------------------------


def _add_stats(k8s: client.K8s, clusters: Sequence[Cluster], apis: Sequence[client.K8s]) -> None:
    """Adds each cluster's figures, or the reason why there are none."""
    parallel = k8s.parallel
    node_counts = parallel([(_count_nodes, api) for api in apis])
    alive = []
    # Only clusters that answer are asked for more, so that a dead cluster costs one call, and the others wait for it
    # once.
    for cluster, api, answer in zip(clusters, apis, node_counts, strict=True):
        if _is_dead(answer):
            cluster["error"] = cells.line(answer.message)[:_MOST_REASON]
        else:
            _add(cluster, answer)
            alive.append((cluster, api))
    pod_counts = parallel([(_count_pods, api) for _, api in alive])
    for (cluster, api), answer in zip(alive, pod_counts, strict=True):
        _add(cluster, answer)
        _add(cluster, _version(api))


def _count_nodes(api: client.K8s) -> Cluster:
    found = api.coreV1().list_node()
    ready = sum(map(health.is_ready, found))
    return {"nodes": len(found), "ready": ready}


def _count_pods(api: client.K8s) -> Cluster:
    found, _ = api._session.fetch_list(_ONE_POD, schemas.OBJECT, "")
    count = len(found)
    left = found.metadata.get("remainingItemCount")
    # An API server may omit how many more pods there are.
    if left is None and found.metadata.get("continue"):
        return {"pods": f"{count}+"}
    return {"pods": count + (left or 0)}


def _version(api: client.K8s) -> Cluster | Exception:
    try:
        return {"version": api.api("VersionApi").get_code()["gitVersion"]}
    except exceptions.ApiException as error:
        return error


def _is_dead(answer: Any) -> bool:
    """Says whether a cluster did not answer at all, or rejected the credentials."""
    if not isinstance(answer, exceptions.ApiException):
        return False
    # A snapshot without nodes may have pods.
    if answer.code == "cluster.not_captured":
        return False
    return answer.code.startswith("cluster.") or answer.status == 401


def _add(cluster: Cluster, answer: Cluster | Exception) -> None:
    """Adds figures; for those that could not be read, gives the first reason."""
    if not isinstance(answer, Exception):
        cluster.update(answer)
        return
    reason = cells.line(getattr(answer, "message", answer))
    cluster.setdefault("incomplete", reason[:_MOST_REASON])


# --- printing ---------------------------------------------------------------------------------------------------------


def _table(clusters: Sequence[Cluster]) -> str:
    columns = [key for key in (*_STATS, "error", "incomplete") if any(key in each for each in clusters)]
    titles = ["NAME", "DEFAULT", *(key.upper() for key in columns)]
    rows = []
    for each in clusters:
        default = "*" if each["default"] else ""
        figures = [each.get(key) for key in columns]
        rows.append((each["name"], default, *figures))
    return table.table(rows, titles, width=_MOST_REASON)


def _write_details(clusters: Sequence[Cluster]) -> str:
    lines = [messages.text("clusters", count=len(clusters))]
    for each in clusters:
        name = each["name"]
        lines.append(messages.text("cluster_default", name=name) if each["default"] else name)
        if "error" in each:
            lines.append("  " + messages.text("cluster_dead", reason=each["error"]))
            continue
        stats = [f"{key} {each[key]}" for key in _STATS if key in each]
        if stats:
            lines.append("  " + ", ".join(stats))
        if "incomplete" in each:
            lines.append("  " + messages.text("cluster_incomplete", reason=each["incomplete"]))
    return "\n".join(lines)


def gke_auth(k8s: client.K8s, *, verify: bool = True) -> str:
    """Returns the user as which the cluster sees this server."""
    if not verify:
        return messages.text("gke_logged_in", cluster=k8s.name)
    try:
        version = k8s.versionApi().get_code().git_version
        review = k8s.authenticationV1().create_self_subject_review({})
    except exceptions.UnauthorizedException as error:
        raise tool_errors.ToolError("prerequisite_refused", details=error.message) from None
    user = review.status.user_info.username
    return messages.text("gke_verified", cluster=k8s.name, user=user, version=version)
