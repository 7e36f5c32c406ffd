"""A cluster's initial state, and the reset to it, because many runs share one control plane."""

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
                raise ApiError(f"the cluster cannot be cleared of {', '.join(sorted(left)[:5])}")
            time.sleep(0.05)
        # A namespace deleted this way leaves its events behind, and the next run may use the same name.
        for namespace in {one["metadata"]["namespace"] for one in self._api.get(_EVENTS)["items"]}:
            self._send("DELETE", f"/api/v1/namespaces/{namespace}/events", None)

    def _step(self) -> set[str]:
        """Does everything possible in one step; returns the keys of the objects that differed."""
        kinds = {kind.name: kind for kind in self._api.kinds()}
        now = snapshot.take(self._api, kinds.values())
        new = {name: now[name] for name in sorted(now.keys() - self.objects.keys(), key=_place)}
        for name, thing in new.items():
            if thing["metadata"].get("finalizers"):
                path = _path(kinds, name, thing)
                self._send("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        for name, thing in new.items():
            if name.startswith("namespaces/"):
                self._end_namespace(thing["metadata"]["name"])
            elif "deletionTimestamp" not in thing["metadata"]:
                self._send("DELETE", _path(kinds, name, thing), _AT_ONCE)
        self._reopen({thing["metadata"].get("namespace", "") for thing in new.values()} - {""}, now)
        changed = {
            name for name in now.keys() & self.objects.keys() if _content(now[name]) != _content(self.objects[name])
        }
        gone = self.objects.keys() - now.keys()
        for name in sorted(changed | gone):
            self._bring_back(kinds[name.split("/", 1)[0]], self.objects[name], exists=name in changed)
        return new.keys() | changed | gone

    def _end_namespace(self, name: str) -> None:
        """Deletes a namespace at once; the caller deletes its contents.

        It is finalized first to bypass its controller, which waits five seconds, goes by the name, and would delete the
        next run's objects in a namespace with the same name.
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
        kept = {name: thing["metadata"].get(name) for name in ("name", "namespace", "labels", "annotations")}
        again = {**thing, "metadata": {name: value for name, value in kept.items() if value}}
        path = kind.path(kept["namespace"] or "", kept["name"] if exists else "")
        self._send("PUT" if exists else "POST", path, again)

    def _send(self, method: str, path: str, body: Any, content_type: str = "application/json") -> Answer:
        # A rejected request is retried in the next step.
        return self._api.send(method, path, body, content_type=content_type)


def _place(name: str) -> tuple[int, str]:
    """Returns a key's position in the order of removal. Namespaces come early, because nothing can be created in them
    then."""
    kind = name.split("/", 1)[0]
    return (0 if kind in _FIRST else 1 if kind == "namespaces" else 2), name


def _path(kinds: dict[str, Kind], name: str, thing: Object) -> str:
    metadata = thing["metadata"]
    return kinds[name.split("/", 1)[0]].path(metadata.get("namespace", ""), metadata["name"])


def _content(thing: Object) -> Iterable[Any]:
    """Returns the parts that a reset restores. The status is left out, because nodes update it constantly."""
    metadata = thing["metadata"]
    kept = {name: value for name, value in thing.items() if name not in _VOLATILE}
    return kept, metadata.get("labels"), metadata.get("annotations")
