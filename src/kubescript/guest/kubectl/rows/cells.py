"""The parts that several kinds' cells share, as kubectl prints them: ages, labels, selectors, containers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kubescript.guest.sdk.values import ages
from kubescript.kube import selectors

__all__ = [
    "NONE",
    "UNSET",
    "access_modes",
    "age",
    "at",
    "condition",
    "containers",
    "elements",
    "labels",
    "line",
    "name",
    "node_roles",
    "selector",
    "since",
    "storage_class",
]

NONE: Final = "<none>"
UNSET: Final = "<unset>"
# Attack: the text of a CRD's column, an event or a condition ends the line and adds a fake row for another object. The
# host removes other control characters, and turns the last three into line ends.
_NO_LINE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_MODES: Final = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_ROLE: Final = "node-role.kubernetes.io/"


Json = Mapping[str, Any]


def at(data: Any, path: str, default: Any = None) -> Any:
    """Returns the value at a path such as "spec.nodeName", or `default` if a step is absent or null."""
    for key in path.split("."):
        if not isinstance(data, dict):
            return default
        data = data.get(key)
        if data is None:
            return default
    return data


def elements(data: Any, path: str) -> list[Any]:
    """Returns the list at a path; an empty list if there is none."""
    found = at(data, path)
    # A snapshot's file may contain any value in place of a list.
    if not isinstance(found, list):
        return []
    return found


def line(text: object) -> str:
    """Returns a text from the cluster in a form that fits on one line."""
    return _NO_LINE.sub(" ", str(text))


def since(moment: Any) -> str:
    """Returns the time since a moment in kubectl's format."""
    elapsed = ages.age(moment)
    seconds = int(elapsed.total_seconds())
    # As in kubectl: clocks differ, so a moment one second in the future counts as now.
    if seconds < -1:
        return "<invalid>"
    if seconds < 0:
        return "0s"
    return str(elapsed)


def name(obj: Any) -> Any:
    """Returns an object's name; None if it has none."""
    return at(obj, "metadata.name")


def age(obj: Any) -> str:
    """Returns the time since an object was created."""
    return since(at(obj, "metadata.creationTimestamp"))


def access_modes(modes: Any) -> str:
    """Returns access modes in kubectl's abbreviations and order."""
    if not modes:
        return ""
    shorts = [short for mode, short in _MODES.items() if mode in modes]
    return ",".join(shorts)


def storage_class(obj: Any) -> str:
    """Returns the storage class of a claim or volume; an empty string if it has none."""
    annotations = at(obj, "metadata.annotations", {})
    # As in kubectl, the annotation takes precedence: it is what the field was before it became stable.
    name = annotations.get(_BETA_CLASS, at(obj, "spec.storageClassName", ""))
    return str(name)


def node_roles(node: Any) -> list[str]:
    """Returns the roles of a node, sorted."""
    found = at(node, "metadata.labels", {})
    roles = {key.removeprefix(_ROLE) for key in found if key.startswith(_ROLE)}
    roles.add(found.get("kubernetes.io/role", ""))
    roles.discard("")
    return sorted(roles)


def labels(found: Any) -> str:
    """Returns a map as sorted pairs."""
    if not isinstance(found, Mapping):
        return NONE
    pairs = sorted(f"{key}={value}" for key, value in found.items())
    return ",".join(pairs) or NONE


def selector(found: Any) -> str:
    """Returns a label selector in the syntax of queries; an empty string if it has no requirements."""
    return selectors.write(found)


def containers(template: Any) -> tuple[str, str]:
    """Returns the names and images of the containers of a pod or pod template."""
    found = elements(template, "spec.containers")
    names = [each.get("name", "") for each in found]
    images = [each.get("image", "") for each in found]
    return ",".join(names), ",".join(images)


def condition(data: Any, kind: str) -> str:
    """Returns a condition's status: "True", "False", "Unknown", or empty if there is no such condition."""
    for each in elements(data, "status.conditions"):
        if each.get("type") == kind:
            return str(each.get("status"))
    return ""
