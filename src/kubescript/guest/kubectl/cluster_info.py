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


def kubectl_cluster_info(k8s: client.K8s, *, dump: bool = False) -> str:
    """Returns the control plane's version, system services, nodes and troubles; with `dump`, of all namespaces."""
    rest = cluster_dump.sections(k8s) if dump else _summary(k8s)
    return "\n".join(map(cells.line, [_control_plane(k8s), *rest]))


def _summary(k8s: client.K8s) -> Iterator[str]:
    """Yields the lines of the answer without `dump`."""
    core = k8s.coreV1()
    found = k8s.parallel(
        {
            "nodes": core.list_node,
            "services": lambda: core.list_namespaced_service(_SYSTEM, label_selector=_SERVICES),
            "pods": core.list_pod_for_all_namespaces,
            "deployments": k8s.appsV1().list_deployment_for_all_namespaces,
        }
    )
    unread = {what: answer for what, answer in found.items() if isinstance(answer, Exception)}
    if "services" not in unread:
        yield from map(_service, found["services"])
    troubles: list[str] = []
    if "nodes" not in unread:
        nodes = list(found["nodes"])
        yield messages.text("info_nodes", ready=sum(map(health.is_ready, nodes)), all=len(nodes))
        troubles += health.node_troubles(nodes)
    if "pods" not in unread:
        troubles += _pod_troubles(found["pods"])
    if counted := list(_counts(found)):
        yield "; ".join(counted)
    if troubles:
        yield _unhealthy(troubles)
    elif not unread:
        yield messages.text("info_healthy", namespace=_SYSTEM)
    for what, error in unread.items():
        yield messages.text("info_unread", what=what, reason=getattr(error, "message", error))


def _control_plane(k8s: client.K8s) -> str:
    """Returns the control plane's line. It omits the address, which scripts must never learn."""
    version = ""
    try:
        version = k8s.api("VersionApi").get_code()["gitVersion"]
    except exceptions.ApiException as error:
        # If the cluster cannot be reached at all, no further calls are made.
        if error.code != "cluster.not_captured" and (error.code.startswith("cluster.") or error.status == 401):
            raise
    return messages.text("info_control_plane", context=k8s.name, version=version or "?")


def _service(service: Mapping[str, Any]) -> str:
    """Returns kubectl's line for one of the cluster's own services, with a path in place of the address."""
    metadata = service["metadata"]
    name = (metadata.get("labels") or {}).get(_NAME) or metadata["name"]
    ports = list(service["spec"].get("ports") or ())
    with contextlib.suppress(KeyError, IndexError, TypeError):
        ingress = service["status"]["loadBalancer"]["ingress"][0]
        address = ingress.get("ip") or ingress.get("hostname")
        return messages.text(
            "info_service", name=name, link=" ".join(f"http://{address}:{each['port']}" for each in ports)
        )
    path = f"/api/v1/namespaces/{metadata['namespace']}/services/{_guess_proxy_name(metadata['name'], ports)}/proxy"
    return messages.text("info_service", name=name, link=path)


def _guess_proxy_name(name: str, ports: list[Mapping[str, Any]]) -> str:
    """Returns a service's scheme, name and port, guessed in the same way as kubectl does."""
    if not ports:
        return name
    port = ports[0].get("name") or ""
    if port == "https" or ports[0]["port"] == 443:
        return f"https:{name}:{port}"
    return f"{name}:{port}" if port else name


def _counts(found: Mapping[str, Any]) -> Iterator[str]:
    """Yields how many pods and deployments are healthy, and how to list the others."""
    are_good: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
        "pods": lambda pod: health.pod_state(pod) in health.HEALTHY_PODS,
        "deployments": lambda deployment: cluster_dump.is_as_wanted("deployments", deployment),
    }
    bad = 0
    for what, is_good in are_good.items():
        if isinstance(found[what], Exception):
            continue
        goods = [is_good(each) for each in found[what]]
        bad += goods.count(False)
        yield messages.text("info_counts", what=what, good=sum(goods), all=len(goods))
    if bad:
        yield messages.text("info_dump")


def _pod_troubles(pods: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the cluster's unhealthy system pods, such as `kube-system/coredns-x CrashLoopBackOff`."""
    for pod in pods:
        if pod["metadata"]["namespace"] != _SYSTEM:
            continue
        state = health.pod_state(pod)
        if state not in health.HEALTHY_PODS:
            yield f"{_SYSTEM}/{pod['metadata']['name']} {state}"


def _unhealthy(troubles: Sequence[str]) -> str:
    shown = list(troubles[:_MOST_TROUBLES])
    more = len(troubles) - len(shown)
    if more:
        shown.append(messages.text("info_more", count=more))
    return messages.text("info_unhealthy", troubles="; ".join(shown))
