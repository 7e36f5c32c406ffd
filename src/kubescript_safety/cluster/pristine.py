"""A cluster as it is before any run, and how it becomes so again: many runs share one control plane."""

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
"""What could keep the rest from being removed."""
_AT_ONCE: Final[Object] = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
_SECONDS: Final = 120
_VOLATILE: Final = ("status", "metadata")


class Pristine:
    """What one cluster holds when no run uses it."""

    def __init__(self, api: Api) -> None:
        """Takes it as it is now."""
        self._api = api
        self.objects = snapshot.take(api, api.kinds())

    def restore(self) -> None:
        """Removes what is new, brings back what is gone, and undoes changes. Raises ApiError when it cannot."""
        end = time.monotonic() + _SECONDS
        while left := self._step():
            if time.monotonic() > end:
                raise ApiError(f"the cluster cannot be cleared of {', '.join(sorted(left)[:5])}")
            time.sleep(0.05)

    def _step(self) -> set[str]:
        """Does all that can be done at once; returns the keys of what is not as it was."""
        kinds = {kind.name: kind for kind in self._api.kinds()}
        now = snapshot.take(self._api, kinds.values())
        new = now.keys() - self.objects.keys()
        for name in sorted(new, key=_place):
            self._remove(kinds, name, now[name])
        changed = {
            name for name in now.keys() & self.objects.keys() if _content(now[name]) != _content(self.objects[name])
        }
        gone = self.objects.keys() - now.keys()
        for name in sorted(changed | gone):
            self._bring_back(kinds[name.split("/", 1)[0]], self.objects[name], exists=name in changed)
        return new | changed | gone

    def _remove(self, kinds: dict[str, Kind], name: str, thing: Object) -> None:
        kind = kinds[name.split("/", 1)[0]]
        metadata = thing["metadata"]
        path = kind.path(metadata.get("namespace", ""), metadata["name"])
        if "deletionTimestamp" not in metadata:
            self._send("DELETE", path, _AT_ONCE)
        if metadata.get("finalizers"):
            self._send("PATCH", path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
        if kind.name == "namespaces":
            # What is in it is in the same snapshot: the controller need not look for it.
            self._send("PUT", f"{path}/finalize", {**thing, "spec": {"finalizers": []}})

    def _bring_back(self, kind: Kind, thing: Object, *, exists: bool) -> None:
        kept = {name: thing["metadata"].get(name) for name in ("name", "namespace", "labels", "annotations")}
        again = {**thing, "metadata": {name: value for name, value in kept.items() if value}}
        path = kind.path(kept["namespace"] or "", kept["name"] if exists else "")
        self._send("PUT" if exists else "POST", path, again)

    def _send(self, method: str, path: str, body: Any, content_type: str = "application/json") -> Answer:
        # Whatever is refused now is tried again in the next step.
        return self._api.send(method, path, body, content_type=content_type)


def _place(name: str) -> tuple[int, str]:
    """Returns the place of a key in the order of removal. Namespaces are first: nothing new comes into them then."""
    kind = name.split("/", 1)[0]
    return (0 if kind in _FIRST else 1 if kind == "namespaces" else 2), name


def _content(thing: Object) -> Iterable[Any]:
    """Returns what a reset has to undo. Nodes say all the time that they are alive."""
    metadata = thing["metadata"]
    kept = {name: value for name, value in thing.items() if name not in _VOLATILE}
    return kept, metadata.get("labels"), metadata.get("annotations")
