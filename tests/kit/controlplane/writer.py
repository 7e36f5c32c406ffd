"""Writes objects given as plain JSON to a cluster, fast: `fixture` and `bulk` load through it.

The official client finds host and credentials; its connection pool is used directly, because building its models
for thousands of objects takes longer than storing them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
from kubernetes import client, config

Object = dict[str, Any]

# Two cores serve the tests; more writers than this only wait for one another.
THREADS = 8
# How long a resource type may be unknown after its definition was stored.
ESTABLISH_SECONDS = 120
# The two kinds whose resource is not the plural of their name.
ODD_PLURALS = {"NodeMetrics": "nodes", "PodMetrics": "pods"}


class WriteError(RuntimeError):
    """The cluster refused an object."""


class Writer:
    """Creates objects with their status, and remembers their uid for what refers to them."""

    def __init__(self, kubeconfig: Path) -> None:
        settings = client.Configuration()
        load: Any = config.load_kube_config  # the client leaves it untyped
        load(str(kubeconfig), client_configuration=settings)
        settings.connection_pool_maxsize = THREADS
        self._api = client.ApiClient(settings)
        self._uids: dict[tuple[str, str, str], str] = {}

    def create_all(self, waves: Iterable[Sequence[Object]]) -> None:
        """Creates wave after wave; the objects of one wave at the same time."""
        with ThreadPoolExecutor(THREADS) as pool:
            for wave in waves:
                for _ in pool.map(self.create, wave):
                    pass

    def create(self, body: Object) -> None:
        """Creates one object, then its `status`, which the API server ignores on creation.

        What is there already stays as it is: every cluster has the namespace `default` from the start.
        """
        self._fill_uids(body)
        stored, is_new = self._store(body)
        meta = body["metadata"]
        self._uids[body["kind"], meta.get("namespace", ""), meta["name"]] = stored["metadata"]["uid"]
        if is_new and (status := body.get("status")):
            stored["status"] = {**stored.get("status", {}), **status}
            self._expect(200, *self._send("PUT", f"{path(body)}/status", stored))

    def delete(self, body: Object, *, now: bool = False) -> None:
        """Asks for the deletion of an object; one with finalizers stays, and is then `Terminating`. So does a pod on a
        node, for nobody ends its containers, unless it is to go `now`."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0} if now else {}
        self._expect(200, *self._send("DELETE", path(body), options))

    def write_status(self, body: Object, status: Object) -> None:
        """Replaces the status of an object that is there."""
        stored = self._expect(200, *self._send("GET", path(body), None))
        self._expect(200, *self._send("PUT", f"{path(body)}/status", stored | {"status": status}))

    def _store(self, body: Object) -> tuple[Object, bool]:
        deadline = time.monotonic() + ESTABLISH_SECONDS
        while True:
            status, answer = self._send("POST", collection(body), body)
            if status == 409:
                return self._expect(200, *self._send("GET", path(body), None)), False
            if status != 404 or time.monotonic() > deadline:
                return self._expect(201, status, answer), True
            time.sleep(0.1)

    def _send(self, method: str, url_path: str, body: Object | None) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        self._api.update_params_for_auth(headers, [], ["BearerToken"], url_path, method, None)
        url = f"{self._api.configuration.host}{url_path}?{urlencode({'fieldManager': 'fixture'})}"
        data = orjson.dumps(body) if body is not None else None
        answer = self._api.rest_client.pool_manager.request(method, url, body=data, headers=headers)
        return answer.status, answer.data

    def _expect(self, wanted: int, status: int, answer: bytes) -> Object:
        if status != wanted:
            raise WriteError(f"{status}: {answer[:1000].decode(errors='replace')}")
        value: Object = orjson.loads(answer)
        return value

    def _fill_uids(self, body: Object) -> None:
        namespace = body["metadata"].get("namespace", "")
        for owner in body["metadata"].get("ownerReferences", ()):
            # An owner is in the same namespace or in none.
            known = self._uids.get((owner["kind"], namespace, owner["name"]))
            owner["uid"] = known or self._uids[owner["kind"], "", owner["name"]]
        if about := body.get("involvedObject"):
            about["uid"] = self._uids.get(
                (about.get("kind", ""), about.get("namespace", ""), about.get("name", "")), ""
            )


def collection(body: Object) -> str:
    """The path an object of that kind is posted to."""
    version, namespace = body["apiVersion"], body["metadata"].get("namespace")
    prefix = f"/apis/{version}" if "/" in version else f"/api/{version}"
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{prefix}{within}/{plural(body['kind'])}"


def path(body: Object) -> str:
    """The path of the object itself."""
    return f"{collection(body)}/{body['metadata']['name']}"


def plural(kind: str) -> str:
    """The resource that a kind is served as: Ingress is `ingresses`, NetworkPolicy is `networkpolicies`."""
    word = kind.lower()
    if kind in ODD_PLURALS:
        return ODD_PLURALS[kind]
    if word.endswith("s"):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("cy") else f"{word}s"
