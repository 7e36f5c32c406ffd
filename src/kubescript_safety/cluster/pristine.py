"""Records a cluster's initial state, and resets the cluster to it, because many runs share one control plane."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, Final

from kubescript_safety.cluster import snapshot
from kubescript_safety.cluster.api import Answer, Api, ApiError, Kind, Object

__all__ = ["Pristine"]

_FIRST: Final = (
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
)
"""Objects that could prevent the removal of others."""
_AT_ONCE: Final[Object] = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
_EVENTS: Final = "/api/v1/events"
_SECONDS: Final = 120
_VOLATILE: Final = ("status", "metadata")


class Pristine:
    """A cluster's objects before any run."""

    def __init__(self, api: Api) -> None:
        """Records the current objects."""
        self._api = api
        self.objects = snapshot.take(api, api.kinds())

    def restore(self) -> None:
        """Removes new objects, restores deleted ones, and undoes changes. Raises ApiError on failure."""
        end = time.monotonic() + _SECONDS
        while left := self._step():
            if time.monotonic() > end:
                names = ", ".join(sorted(left)[:5])
                raise ApiError(f"the cluster cannot be cleared of {names}")
            time.sleep(0.05)
        # A namespace deleted this way leaves its events behind, and the next run may use the same name.
        events = self._api.get(_EVENTS)["items"]
        spaces = {event["metadata"]["namespace"] for event in events}
        for namespace in spaces:
            self._send("DELETE", f"/api/v1/namespaces/{namespace}/events", None)

    def _step(self) -> set[str]:
        """Does everything possible in one step; returns the keys of the objects that differed."""
        kinds = {kind.name: kind for kind in self._api.kinds()}
        now = snapshot.take(self._api, kinds.values())
        new = sorted(now.keys() - self.objects.keys(), key=_place)
        self._remove({name: now[name] for name in new}, kinds)
        spaces = {now[name]["metadata"].get("namespace", "") for name in new}
        self._reopen(spaces - {""}, now)
        both = now.keys() & self.objects.keys()
        changed = {name for name in both if _content(now[name]) != _content(self.objects[name])}
        gone = self.objects.keys() - now.keys()
        for name in sorted(changed | gone):
            self._bring_back(_kind(kinds, name), self.objects[name], exists=name in changed)
        return {*new, *changed, *gone}

    def _remove(self, new: snapshot.Snapshot, kinds: dict[str, Kind]) -> None:
        """Deletes objects in this order."""
        # The controllers of finalizers may not be running here: a finalizer would then stay forever.
        for name, thing in new.items():
            if thing["metadata"].get("finalizers"):
                path = _path(kinds, name, thing)
                self._send("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        for name, thing in new.items():
            if name.startswith("namespaces/"):
                self._end_namespace(thing["metadata"]["name"])
            elif "deletionTimestamp" not in thing["metadata"]:
                self._send("DELETE", _path(kinds, name, thing), _AT_ONCE)

    def _end_namespace(self, name: str) -> None:
        """Deletes a namespace at once; the caller deletes its contents.

        The namespace is finalized first to bypass its controller, which waits five seconds, goes by the name, and would
        delete the next run's objects in a namespace with the same name.
        """
        path = f"/api/v1/namespaces/{name}"
        self._send("PUT", f"{path}/finalize", {"metadata": {"name": name}, "spec": {"finalizers": []}})
        self._send("DELETE", path, _AT_ONCE)  # only marks it for deletion
        self._send("DELETE", path, _AT_ONCE)

    def _reopen(self, used: set[str], now: snapshot.Snapshot) -> None:
        """Recreates namespaces that were deleted before their contents: without them, the API server does not remove
        finalizers."""
        for namespace in sorted(used):
            if f"namespaces//{namespace}" not in now:
                self._send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})

    def _bring_back(self, kind: Kind, thing: Object, *, exists: bool) -> None:
        """Recreates an object as it was, or overwrites what it has become."""
        old = thing["metadata"]
        # The uid and the version are left out, because the API server would compare them with the current ones.
        metadata = {name: old[name] for name in ("name", "namespace", "labels", "annotations") if old.get(name)}
        again = {**thing, "metadata": metadata}
        namespace = old.get("namespace") or ""
        if exists:
            self._send("PUT", kind.path(namespace, old["name"]), again)
        else:
            self._send("POST", kind.path(namespace), again)

    def _send(self, method: str, path: str, body: Any, content_type: str = "application/json") -> Answer:
        # A rejected request is retried in the next step.
        return self._api.send(method, path, body, content_type=content_type)


def _place(name: str) -> tuple[int, str]:
    """Returns a key's position in the order of removal."""
    kind = name.split("/", 1)[0]
    if kind in _FIRST:
        return 0, name
    # Namespaces come early, because from then on nothing can be created in them.
    return 1 if kind == "namespaces" else 2, name


def _kind(kinds: dict[str, Kind], name: str) -> Kind:
    """Returns the kind of an object by its key in a snapshot."""
    resource, _, _ = name.partition("/")
    return kinds[resource]


def _path(kinds: dict[str, Kind], name: str, thing: Object) -> str:
    """Returns the path of an object in a snapshot."""
    kind = _kind(kinds, name)
    metadata = thing["metadata"]
    return kind.path(metadata.get("namespace", ""), metadata["name"])


def _content(thing: Object) -> Iterable[Any]:
    """Returns the parts that a reset restores."""
    metadata = thing["metadata"]
    # The status is left out, because nodes update it constantly.
    kept = {name: value for name, value in thing.items() if name not in _VOLATILE}
    return kept, metadata.get("labels"), metadata.get("annotations")
