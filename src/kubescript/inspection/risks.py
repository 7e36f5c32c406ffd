"""New powers over its node that a change gives an object, and powers that it takes from the object's owners, under the
names in `wire.inspection.RISKS`.

Settings are searched everywhere, not only in pods: a custom resource may contain all or part of a pod template, from
which its operator makes pods. A setting is identified by its position: a renamed container is a new one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import msgspec

from kubescript.inspection import nodes
from kubescript.kube import documents

__all__ = ["between"]

_SWITCHES: Final = {
    "privileged": "privileged",
    "hostProcess": "privileged",  # the Windows equivalent
    "hostNetwork": "hostNetwork",
    "hostPID": "hostPID",
    "hostIPC": "hostIPC",
}
"""Maps settings that are on or off to their risk."""
_ACCOUNTS: Final = ("serviceAccountName", "serviceAccount")
_NAMES: Final = frozenset({*_SWITCHES, *_ACCOUNTS, "capabilities", "hostPath", "local", "procMount"})
_CAPABILITIES: Final = frozenset(
    {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
     "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
)  # fmt: skip
"""The capabilities that the baseline of the Pod Security Standards lets a container add, in its spelling."""
_NO_ACCOUNT: Final = (None, "", "default")
"""The values that mean that a pod has no service account of its own."""


def between(before: dict[str, Any] | None, after: dict[str, Any]) -> tuple[str, ...]:
    """Returns an object's new risks, sorted. Without `before`, all its risks are new."""
    before = before or {}
    was = _Settings(before).found
    now = _Settings(after).found
    risks = {risk for risk, _, _ in now - was}
    gone = {risk for risk, _, _ in was - now}
    # Whether an account is set or removed, the pod then runs under a different one.
    risks |= gone & {"serviceAccount"}
    if _finalizers(before) - _finalizers(after):
        risks.add("finalizers")
    if _owners(before) != _owners(after):
        risks.add("ownerReferences")
    return tuple(sorted(risks))


class _Settings:
    """An object's risky settings."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.found: Counter[tuple[str, tuple[str, ...], str]] = Counter()
        """The number of occurrences of each (risk, position, setting)."""
        self._place: list[str] = []
        for key, value in document.items():
            # Labels and annotations may have any name.
            if key == "metadata":
                continue
            self._below(nodes.key_step(key), value)
        self._add(document)

    def _below(self, step: str, value: Any) -> None:
        """Searches a value one step further down."""
        self._place.append(step)
        if isinstance(value, dict):
            if not _NAMES.isdisjoint(value):
                self._add(value)
            for key, member in value.items():
                if isinstance(member, dict | list):
                    self._below(nodes.key_step(key), member)
        elif isinstance(value, list):
            for number, item in enumerate(value):
                self._below(_item_step(number, item), item)
        self._place.pop()

    def _add(self, value: dict[str, Any]) -> None:
        """Adds an object's own settings."""
        place = tuple(self._place)
        for risk, setting in _find_settings(value):
            self.found[risk, place, setting] += 1


def _find_settings(value: dict[str, Any]) -> set[tuple[str, str]]:
    """Returns the risky settings of one object, each with its risk."""
    settings = set()
    for key, risk in _SWITCHES.items():
        if _is_on(value.get(key)):
            settings.add((risk, key))
    for key in _ACCOUNTS:
        settings.add(("serviceAccount", _account(value.get(key))))
    for name in _find_capabilities(value.get("capabilities")):
        settings.add(("privileged", name))
    settings.add(("privileged", _proc_mount(value.get("procMount"))))
    settings.add(("hostPath", _host_path(value.get("hostPath"))))
    # The API server requires this field for local volumes, and other objects also have fields named `local`.
    if "nodeAffinity" in value:
        settings.add(("hostPath", _host_path(value.get("local"))))
    return {(risk, setting) for risk, setting in settings if setting}


def _item_step(number: int, item: Any) -> str:
    """Returns a list item's step in a position: its name, or else its index."""
    if isinstance(item, dict):
        name = item.get("name")
        if isinstance(name, str):
            return nodes.key_step(name)
    return f"[{number}]"


def _is_on(value: Any) -> bool:
    """Says whether a switch is on."""
    # A template's text may evaluate to anything, so any other string counts as on.
    if isinstance(value, str):
        return value.strip().lower() not in {"", "false"}
    return isinstance(value, int | float) and bool(value)


def _find_capabilities(value: Any) -> set[str]:
    """Returns the added capabilities beyond the baseline."""
    names = value.get("add") if isinstance(value, dict) else None
    # A value that is not a list may be a template's text that becomes one.
    if not isinstance(names, list):
        names = [names or ""]
    added = set(map(_scalar, names))
    return added - _CAPABILITIES


def _proc_mount(value: Any) -> str:
    """Returns a container's mode for /proc; an empty string for the default, which hides parts of /proc."""
    return "" if value in (None, "Default") else _scalar(value)


def _host_path(value: Any) -> str:
    """Returns the path of a volume on the node; an empty string if there is none, as in a schema that describes such a
    volume."""
    path = value
    if isinstance(value, dict):
        path = value.get("path")
    return _scalar(path) if path else ""


def _account(value: Any) -> str:
    """Returns the name of a service account; an empty string for a pod's default one."""
    name = value
    # In a custom resource, the value may be an object that describes the account.
    if isinstance(value, dict):
        name = value.get("name")
    return "" if name in _NO_ACCOUNT else _scalar(name)


def _scalar(value: Any) -> str:
    """Returns a setting as a string; an empty string if it is not a scalar."""
    if isinstance(value, dict | list):
        return ""
    return str(value)


def _finalizers(document: dict[str, Any]) -> Counter[tuple[str, str]]:
    """Counts an object's finalizers, each together with the part of the object that contains it."""
    found: Counter[tuple[str, str]] = Counter()
    # A namespace has its finalizers in the spec.
    for part in ("metadata", "spec"):
        names = documents.mapping(document, part).get("finalizers")
        if not isinstance(names, list):
            continue
        for name in map(_canonical, names):
            found[part, name] += 1
    return found


def _owners(document: dict[str, Any]) -> str:
    """Returns an object's owners in canonical form, for comparison."""
    metadata = documents.mapping(document, "metadata")
    return _canonical(metadata.get("ownerReferences") or [])


def _canonical(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()
