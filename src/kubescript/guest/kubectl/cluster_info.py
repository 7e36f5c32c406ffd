"""kubectl_cluster_info: the services of the cluster, and what is unhealthy in it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from kubescript.guest.kubectl import cluster_dump
from kubescript.guest.kubectl.rows import cells, health
from kubescript.guest.sdk import client
from kubescript.guest.sdk.values import exceptions
from kubescript.wire import messages

__all__ = ["kubectl_cluster_info"]

_SYSTEM: Final = "kube-system"
_SERVICES: Final = "kubernetes.io/cluster-service=true"
_NAME: Final = "kubernetes.io/name"
_MOST_TROUBLES: Final = 20

Object = Mapping[str, Any]


def kubectl_cluster_info(k8s: client.K8s, *, dump: bool = False) -> str:
    """Returns the control plane's version, system services, nodes and problems; with `dump`, those of all
    namespaces."""
    lines = [_describe_control_plane(k8s)]
    lines += cluster_dump.sections(k8s) if dump else _summary(k8s)
    return "\n".join(map(cells.line, lines))


def _summary(k8s: client.K8s) -> Iterator[str]:
    """Yields the lines of the answer without `dump`."""
    found = k8s.parallel(_reads(k8s))
    # A caller who may read only a little gets that, and the reasons for the rest.
    unread = {what: answer for what, answer in found.items() if isinstance(answer, Exception)}
    if "services" not in unread:
        yield from map(_describe_service, found["services"])
    troubles: list[str] = []
    if "nodes" not in unread:
        nodes = list(found["nodes"])
        ready = sum(map(health.is_ready, nodes))
        yield messages.text("info_nodes", ready=ready, all=len(nodes))
        troubles += health.node_troubles(nodes)
    if "pods" not in unread:
        troubles += _pod_troubles(found["pods"])
    counts = list(_counts(found))
    if counts:
        yield "; ".join(counts)
    if troubles:
        yield _unhealthy(troubles)
    elif not unread:
        yield messages.text("info_healthy", namespace=_SYSTEM)
    for what, error in unread.items():
        yield messages.text("info_unread", what=what, reason=getattr(error, "message", error))


def _reads(k8s: client.K8s) -> dict[str, Callable[..., Any]]:
    """Returns the calls of the answer without `dump`."""
    core = k8s.coreV1()
    apps = k8s.appsV1()
    return {
        "nodes": core.list_node,
        "services": lambda: core.list_namespaced_service(_SYSTEM, label_selector=_SERVICES),
        "pods": core.list_pod_for_all_namespaces,
        "deployments": apps.list_deployment_for_all_namespaces,
    }


def _describe_control_plane(k8s: client.K8s) -> str:
    """Returns the control plane's line."""
    # kubectl prints the address here, which scripts must never learn.
    version = ""
    try:
        version = k8s.api("VersionApi").get_code()["gitVersion"]
    except exceptions.ApiException as error:
        # If the cluster cannot be reached at all, no further calls are made.
        if error.code != "cluster.not_captured" and (error.code.startswith("cluster.") or error.status == 401):
            raise
    return messages.text("info_control_plane", context=k8s.name, version=version or "?")


def _describe_service(service: Object) -> str:
    """Returns kubectl's line for one of the cluster's own services, with a path instead of the address."""
    metadata = service["metadata"]
    labels = metadata.get("labels") or {}
    name = labels.get(_NAME) or metadata["name"]
    ports = list(service["spec"].get("ports") or ())
    link = _find_external_link(service, ports)
    if link is None:
        proxy_name = _guess_proxy_name(metadata["name"], ports)
        link = f"/api/v1/namespaces/{metadata['namespace']}/services/{proxy_name}/proxy"
    return messages.text("info_service", name=name, link=link)


def _find_external_link(service: Object, ports: list[Object]) -> str | None:
    """Returns the addresses of a service's load balancer; None if the service has none."""
    with contextlib.suppress(KeyError, IndexError, TypeError):
        ingress = service["status"]["loadBalancer"]["ingress"][0]
        address = ingress.get("ip") or ingress.get("hostname")
        links = [f"http://{address}:{port['port']}" for port in ports]
        return " ".join(links)
    return None


def _guess_proxy_name(name: str, ports: list[Object]) -> str:
    """Returns a service's scheme, name and port, guessed as kubectl guesses them."""
    if not ports:
        return name
    port = ports[0].get("name") or ""
    if port == "https" or ports[0]["port"] == 443:
        return f"https:{name}:{port}"
    if not port:
        return name
    return f"{name}:{port}"


def _counts(found: Object) -> Iterator[str]:
    """Yields how many pods and deployments are healthy, and how to list the others."""
    predicates = {"pods": _is_healthy_pod, "deployments": _is_healthy_deployment}
    bad = 0
    for what, is_healthy in predicates.items():
        if isinstance(found[what], Exception):
            continue
        healthy = [is_healthy(each) for each in found[what]]
        bad += healthy.count(False)
        yield messages.text("info_counts", what=what, good=sum(healthy), all=len(healthy))
    if bad:
        yield messages.text("info_dump")


def _is_healthy_pod(pod: Object) -> bool:
    """Says whether a pod is running or has ended successfully."""
    return health.pod_state(pod) in health.HEALTHY_PODS


def _is_healthy_deployment(deployment: Object) -> bool:
    """Says whether a Deployment has as many ready pods as it wants."""
    return cluster_dump.is_as_wanted("deployments", deployment)


def _pod_troubles(pods: Iterable[Object]) -> Iterator[str]:
    """Yields the cluster's unhealthy system pods, such as `kube-system/coredns-x CrashLoopBackOff`."""
    for pod in pods:
        metadata = pod["metadata"]
        # Pods of other namespaces are only counted.
        if metadata["namespace"] != _SYSTEM:
            continue
        state = health.pod_state(pod)
        if state not in health.HEALTHY_PODS:
            yield f"{_SYSTEM}/{metadata['name']} {state}"


def _unhealthy(troubles: Sequence[str]) -> str:
    """Returns the line about problems; if there are many, only the first ones."""
    shown = list(troubles[:_MOST_TROUBLES])
    more = len(troubles) - len(shown)
    if more:
        shown.append(messages.text("info_more", count=more))
    return messages.text("info_unhealthy", troubles="; ".join(shown))
