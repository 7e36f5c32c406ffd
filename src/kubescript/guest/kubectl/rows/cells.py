"""The parts that several kinds' cells share, as kubectl prints them: ages, labels, selectors, containers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kubescript.guest.sdk.values import ages

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
# Attack: a CRD's column, an event or a condition has text that ends the line and adds a fake row for another object.
# The host removes other control characters, and turns the last three into line ends.
_NO_LINE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_MODES: Final = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_ROLE: Final = "node-role.kubernetes.io/"
_OPERATORS: Final = {"In": "in", "NotIn": "notin"}


def at(data: Any, path: str, default: Any = None) -> Any:
    """Returns the value at a path such as "spec.nodeName", or `default` if a step is absent or null."""
    for key in path.split("."):
        if not isinstance(data, dict) or data.get(key) is None:
            return default
        data = data[key]
    return data


def elements(data: Any, path: str) -> list[Any]:
    """Returns the list at a path; empty if there is none."""
    found = at(data, path)
    return found if isinstance(found, list) else []


def line(text: object) -> str:
    """Returns a cluster's text as part of one line."""
    return _NO_LINE.sub(" ", str(text))


def since(moment: Any) -> str:
    """Returns the time since a moment in kubectl's format."""
    elapsed = ages.age(moment)
    seconds = int(elapsed.total_seconds())
    if seconds < -1:
        return "<invalid>"
    return "0s" if seconds < 0 else str(elapsed)


def name(obj: Any) -> Any:
    """Returns an object's name; None if it has none."""
    return at(obj, "metadata.name")


def age(obj: Any) -> str:
    """Returns the time since an object was created."""
    return since(at(obj, "metadata.creationTimestamp"))


def access_modes(modes: Any) -> str:
    """Returns access modes in kubectl's abbreviations and order."""
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def storage_class(obj: Any) -> str:
    """Returns the storage class of a claim or volume; empty if it has none."""
    annotations = at(obj, "metadata.annotations", {})
    return str(annotations.get(_BETA_CLASS, at(obj, "spec.storageClassName", "")))


def node_roles(node: Any) -> list[str]:
    """Returns the roles of a node, sorted."""
    found = at(node, "metadata.labels", {})
    named = {key.removeprefix(_ROLE) for key in found if key.startswith(_ROLE)}
    return sorted({*named, found.get("kubernetes.io/role", "")} - {""})


def labels(found: Any) -> str:
    """Returns a map as sorted pairs."""
    pairs = sorted(f"{key}={value}" for key, value in found.items()) if isinstance(found, Mapping) else []
    return ",".join(pairs) or NONE


def selector(found: Any) -> str:
    """Returns a label selector in the syntax of queries; empty if it has no requirements."""
    equal = [(key, f"{key}={value}") for key, value in at(found, "matchLabels", {}).items()]
    others = [(str(each.get("key")), _requirement(each)) for each in elements(found, "matchExpressions")]
    # Sorted by key alone: among requirements for the same key, labels come first and expressions keep their order.
    return ",".join(text for _, text in sorted([*equal, *others], key=lambda each: each[0]))


def _requirement(expression: Mapping[str, Any]) -> str:
    key, operator = expression.get("key"), expression.get("operator", "")
    if operator in _OPERATORS:
        return f"{key} {_OPERATORS[operator]} ({','.join(sorted(elements(expression, 'values')))})"
    return f"!{key}" if operator == "DoesNotExist" else str(key)


def containers(template: Any) -> tuple[str, str]:
    """Returns the names and images of the containers of a pod or pod template."""
    found = elements(template, "spec.containers")
    return ",".join(each.get("name", "") for each in found), ",".join(each.get("image", "") for each in found)


def condition(data: Any, kind: str) -> str:
    """Returns a condition's status: "True", "False", "Unknown", or empty if there is no such condition."""
    return next(
        (str(each.get("status")) for each in elements(data, "status.conditions") if each.get("type") == kind), ""
    )
