"""The real API servers that are measured on: etcd and kube-apiserver of `kubescript_safety.controlplane`, or the cluster its
variables name."""

from __future__ import annotations

import contextlib
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import urllib3
from kubernetes import client, config

from benchmarks import report
from tests.kit.controlplane import bulk as bulk_pods
from tests.kit.controlplane import cluster, fixture

__all__ = ["BULK", "PODS", "broken", "bulk", "configuration", "count", "fetch", "fill", "port"]

PODS = "/api/v1/pods"
BULK = f"/api/v1/namespaces/{bulk_pods.NAMESPACE}/pods"
_AS_JSON = {"Accept": "application/json", "Accept-Encoding": "identity"}


@contextlib.contextmanager
def bulk() -> Iterator[Path]:
    """A kubeconfig of a cluster with 5,000 pods of more than 9 KB."""
    with cluster.acquire() as kubeconfig:
        fill(kubeconfig, bulk_pods.PODS)
        yield kubeconfig


def fill(kubeconfig: Path, pods: int) -> None:
    """Have the cluster hold at least so many pods of more than 9 KB."""
    there = count(kubeconfig, BULK)
    if there < pods:
        bulk_pods.load(kubeconfig, pods, there)


@contextlib.contextmanager
def broken() -> Iterator[Path]:
    """A kubeconfig of a cluster with 200 pods and much that is wrong."""
    with cluster.acquire() as kubeconfig:
        # a cluster of somebody's may have it already, and it cannot be loaded twice: its own quota forbids
        if not count(kubeconfig, "/api/v1/namespaces/monitoring/pods"):
            fixture.load(kubeconfig)
        yield kubeconfig


def configuration(kubeconfig: Path) -> Any:
    """Host and credentials, as the official client reads them."""
    settings = client.Configuration()
    load: Any = config.load_kube_config  # the client leaves it untyped
    load(str(kubeconfig), client_configuration=settings)
    return settings


def fetch(kubeconfig: Path, path: str) -> Any:
    """GET a path as plain JSON."""
    api = client.ApiClient(configuration(kubeconfig))
    headers = dict(_AS_JSON)
    api.update_params_for_auth(headers, [], ["BearerToken"], path, "GET", None)
    manager: urllib3.PoolManager = api.rest_client.pool_manager
    url = f"{api.configuration.host}{path}"
    answer = manager.request("GET", url, headers=headers)
    return orjson.loads(answer.data)


def count(kubeconfig: Path, path: str) -> int:
    """How many objects a collection has."""
    # One object, and the API server says how many more there are.
    answer = fetch(kubeconfig, f"{path}?limit=1")
    more = answer["metadata"].get("remainingItemCount", 0)
    return len(answer["items"]) + int(more)


def port(kubeconfig: Path) -> int:
    """The port of an API server on this machine. Raises Unavailable for one elsewhere."""
    host = str(configuration(kubeconfig).host)
    url = urllib.parse.urlsplit(host)
    if url.hostname != "127.0.0.1" or url.port is None:
        raise report.Unavailable("the relay stands before an API server on 127.0.0.1 only")
    return url.port
