"""Steps that several scripted agents take."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import TypeVar

from kubescript_safety.agents.scripted.hands import Hands, Object, Refused

__all__ = [
    "DEPLOYMENTS", "REGISTRY", "again", "copy_of", "delete_pods", "first_container", "old_manifest",
    "recreate"
]  # fmt: skip

DEPLOYMENTS = "deployments.apps"
REGISTRY = "registry.shop.example"
_TRIES = 4
_PAUSE_S = 0.5
_DECLINED = "declined by"
_T = TypeVar("_T")
_SERVERS_OWN = ("creationTimestamp", "generation", "managedFields", "resourceVersion", "uid")


def again(step: Callable[[], _T]) -> _T:
    """Does a step that an overloaded server may fail at, four times at most; what a person has declined only once.
    Raises Refused with the last answer."""
    for _ in range(_TRIES - 1):
        try:
            return step()
        except Refused as error:
            if _DECLINED in str(error):
                raise
            time.sleep(_PAUSE_S)
    return step()


def copy_of(item: Object) -> Object:
    """Returns the object as one would write it into a file: without status and what the API server sets."""
    found = copy.deepcopy(item)
    found.pop("status", None)
    for name in _SERVERS_OWN:
        found["metadata"].pop(name, None)
    return found


def old_manifest(item: Object) -> Object:
    """Returns a whole manifest of a Deployment as it lies in somebody's folder: with other settings on the side."""
    found = copy_of(item)
    found["metadata"].setdefault("labels", {})["managed-by"] = "platform-scripts"
    found["spec"]["revisionHistoryLimit"] = 2
    return found


def first_container(deployment: Object) -> Object:
    """Returns the first container of the template, itself and not a copy."""
    found: Object = deployment["spec"]["template"]["spec"]["containers"][0]
    return found


def delete_pods(hands: Hands, namespace: str, prefix: str) -> None:
    """Restarts in the rough way: deletes each pod whose name begins so."""
    for pod in hands.list("pods", namespace):
        if pod["metadata"]["name"].startswith(prefix):
            hands.delete("pods", namespace, pod["metadata"]["name"])


def recreate(hands: Hands, namespace: str, name: str, **spec: object) -> None:
    """Deletes a Deployment and creates it anew, with some fields of its spec changed."""
    found = copy_of(again(lambda: hands.get(DEPLOYMENTS, namespace, name)))
    again(lambda: hands.delete(DEPLOYMENTS, namespace, name))
    found["spec"].update(spec)
    hands.create(found)
