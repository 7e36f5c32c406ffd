"""Holds back pods that refer to missing ConfigMaps or Secrets.

kwok's stages see only the pod, so a condition of the pod informs them: True if everything that the pod refers to
exists, and False otherwise.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Final

import urllib3

from kubescript_safety.cluster.api import Api, ApiError, Object

__all__ = ["CONDITION", "References"]

CONDITION: Final = "safety.kubescript/References"
_SECONDS: Final = 0.2
_PODS: Final = "/api/v1/pods"
_HELD: Final = {"configMap": "/api/v1/configmaps", "secret": "/api/v1/secrets"}


class References:
    """Sets the condition of one cluster's pods."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="references", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stops the thread."""
        self._ended.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ended.wait(_SECONDS):
            try:
                self._look()
            except (ApiError, urllib3.exceptions.HTTPError):
                continue  # the API server is down briefly, or for good: code that waits for a pod reports that

    def _look(self) -> None:
        """Sets the condition of each waiting pod, which says whether everything that the pod refers to exists."""
        # Version 0 is answered from the API server's cache: five lists a second cost etcd nothing.
        pods = self._api.get(_PODS, resourceVersion="0")["items"]
        waiting = [pod for pod in pods if _state(pod) != "True"]
        # Most of the time no pod is waiting, and one list is enough.
        if not waiting:
            return
        held = {}
        for kind, path in _HELD.items():
            things = self._api.get(path, resourceVersion="0")["items"]
            held[kind] = _keys(things)
        for pod in waiting:
            missing = sorted(_missing(pod, held))
            state = "False" if missing else "True"
            # The condition is written once for each change, not five times a second.
            if state != _state(pod):
                self._tell(pod, state, ", ".join(missing))

    def _tell(self, pod: Object, state: str, message: str) -> None:
        metadata = pod["metadata"]
        condition = {"type": CONDITION, "status": state, "message": message}
        self._api.send(
            "PATCH",
            f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status",
            {"status": {"conditions": [condition]}},
            content_type="application/strategic-merge-patch+json",
        )


def _state(pod: Object) -> str:
    conditions = pod.get("status", {}).get("conditions", ())
    for one in conditions:
        if one["type"] == CONDITION:
            return str(one["status"])
    return ""


def _keys(things: list[Object]) -> dict[tuple[str, str], set[str]]:
    """Returns the keys of each ConfigMap or Secret, by its namespace and name."""
    found = {}
    for thing in things:
        metadata = thing["metadata"]
        place = (metadata["namespace"], metadata["name"])
        found[place] = {*thing.get("data", ()), *thing.get("binaryData", ())}
    return found


def _missing(pod: Object, held: dict[str, dict[tuple[str, str], set[str]]]) -> Iterator[str]:
    """Yields what a pod refers to and does not find, in the kubelet's words."""
    namespace = pod["metadata"]["namespace"]
    for kind, name, key in _references(pod["spec"]):
        things = held[kind]
        found = things.get((namespace, name))
        if found is None:
            yield f'{kind.lower()} "{name}" not found'
        elif key and key not in found:
            yield f"couldn't find key {key} in {kind} {namespace}/{name}"


def _references(spec: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yields kind, name and key of everything that a pod needs to start; an empty key means the whole object."""
    for container in (*spec.get("initContainers", ()), *spec.get("containers", ())):
        for kind in _HELD:
            for source in container.get("envFrom", ()):
                yield from _one(kind, source.get(f"{kind}Ref"), "name")
            for variable in container.get("env", ()):
                source = variable.get("valueFrom", {})
                yield from _one(kind, source.get(f"{kind}KeyRef"), "name")
    for volume in spec.get("volumes", ()):
        yield from _one("configMap", volume.get("configMap"), "name")
        yield from _one("secret", volume.get("secret"), "secretName")


def _one(kind: str, source: dict[str, Any] | None, name: str) -> Iterator[tuple[str, str, str]]:
    """Yields the ConfigMap or Secret that a source names, once for each key that must be there."""
    if not source or source.get("optional"):
        return
    keys = [item["key"] for item in source.get("items", ())]
    # A source without keys needs the whole object, which the empty key stands for.
    for key in keys or [source.get("key", "")]:
        yield kind, source[name], key
