"""A tool's parameters in any spelling: `resourceType`, `resource_type` and `resource-type` are the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from kubescript_safety.autopsy import kinds, outcome, write

__all__ = ["Parameters", "words"]

_INNER: Final = ("options", "params", "parameters", "arguments", "input", "request", "target", "metadata", "ref")
"""Parameters that contain others."""
_DRY: Final = ("dryrun", "preview", "validateonly", "simulate")
_OPERATION: Final = ("operation", "action", "verb", "op", "method", "subcommand", "command", "mode")
_KIND: Final = (
    "kind", "resourcetype", "resourcekind", "objectkind", "type", "plural", "resourceplural", "resource", "resources",
    "objecttype",
)  # fmt: skip
_NAME: Final = (
    "name", "resourcename", "objectname", "names", "podname", "deploymentname", "target", "workload", "resource", "id",
)  # fmt: skip
_SPACE: Final = ("namespace", "ns", "resourcenamespace", "project")
_BODY: Final = (
    "manifest", "manifests", "body", "yaml", "patch", "resource", "resources", "object", "objects", "content", "data",
    "document", "json", "patches", "changes", "definition", "template", "config", "payload", "fields", "values",
)  # fmt: skip
"""Words in the names of parameters for the content to be written; the most specific first."""
_SELECTOR: Final = ("labelselector", "selector", "labelsselector")
_MAX_WORD: Final = 300


def words(name: str) -> list[str]:
    """Returns the words of a name in camelCase, in snake_case or with dashes."""
    kept: list[str] = []
    for before, character in zip(" " + name, name, strict=False):
        if character.isupper() and (before.islower() or before.isdigit()):
            kept.append(" ")
        kept.append(character.lower() if character.isalnum() else " ")
    found = "".join(kept).split()
    sets = {"replica", "stateful", "daemon"}
    return [one for at, one in enumerate(found) if not (one == "set" and at and found[at - 1] in sets)]


class Parameters:
    """One call's parameters, merged with those inside `options` and similar parameters."""

    def __init__(self, given: Any) -> None:
        self.raw = _flat(given)
        self._values = {"".join(filter(str.isalnum, key.lower())): value for key, value in self.raw.items()}

    def get(self, name: str) -> Any:
        """Returns a value; `name` is in lower case without dashes."""
        return self._values.get(name)

    def text(self, *names: str) -> str:
        """Returns the first of these values that is a text, or an empty text."""
        return next((value for value in map(self.get, names) if isinstance(value, str) and value), "")

    @property
    def is_dry(self) -> bool:
        """Whether the call asks for a dry run."""
        return any(outcome.is_dry(self.get(key)) for key in _DRY)

    @property
    def operations(self) -> list[list[str]]:
        """The words of the parameters that name an operation."""
        values = [self.get(key) for key in _OPERATION]
        return [words(value) for value in values if isinstance(value, str) and len(value) < 80]

    @property
    def namespace(self) -> str | None:
        """The namespace in the parameters."""
        return self.text(*_SPACE) or None

    @property
    def is_everywhere(self) -> bool:
        """Whether the call is for all namespaces."""
        return bool(self.get("allnamespaces"))

    @property
    def selector(self) -> tuple[tuple[str, str], ...]:
        """Labels that the selector requires."""
        return next((write.selector(self.get(key)) for key in _SELECTOR if self.get(key)), ())

    @property
    def images(self) -> tuple[str, ...]:
        """The image that is set."""
        return tuple(filter(None, [self.text("image")]))

    @property
    def manifests(self) -> list[dict[str, Any]]:
        """The Kubernetes objects in the parameters, or the parameters themselves if they are an object."""
        found = [one for value in self._bodies() for one in write.documents(value)]
        if not found and isinstance(self.raw.get("kind"), str) and isinstance(self.raw.get("metadata"), dict):
            found = [self.raw]
        return [one for one in found if {"metadata", "apiVersion", "spec"} & one.keys()]

    @property
    def body(self) -> Any:
        """The patch, or the manifest."""
        for key, value in self._named_bodies():
            inner = value
            if isinstance(value, str) and (":" in value or value.lstrip().startswith(("{", "["))):
                inner = (write.parse(value) or [None])[0]
            if isinstance(inner, dict) and inner:
                is_data = key == "data" and not {"data", "metadata", "spec"} & inner.keys()
                return {"data": inner} if is_data else inner
            if isinstance(inner, list) and inner and isinstance(inner[0], dict):
                return inner
        spec = self.get("spec")
        return {"spec": spec} if isinstance(spec, dict) else None

    def target(self, tool: list[str]) -> tuple[str, list[str]]:
        """Returns the resource and the names of the objects that are meant; `tool` is the tool's name in words."""
        kind = self._kind()
        names = self._names(kind)
        if not kind:
            kind = next((word for word in tool if kinds.is_kind(word) and word not in {"no", "limits", "k"}), "")
        if not kind:  # {"deployment": "web"}
            own = [key for key, value in self._values.items() if isinstance(value, str) and kinds.is_kind(key)]
            kind = next((key for key in own if key not in _SPACE), "")
            names = names or ([self._values[kind]] if kind else [])
        head, slash, tail = kind.partition("/")
        if slash and kinds.is_kind(head) and "/" not in tail:  # deployment/web
            kind, names = head, names if names and names != [kind] else [tail]
        split = [one.partition("/") for one in names]
        if split and split[0][1] and kinds.is_kind(split[0][0]):
            kind, names = kind or split[0][0], [rest or first for first, _, rest in split]
        return (kinds.resource(kind) if kind else ""), names

    def _kind(self) -> str:
        """Returns the kind in the parameters, or an empty text."""
        for key in _KIND:
            value = self.get(key)
            if not isinstance(value, str) or not 0 < len(value) < _MAX_WORD or "\n" in value:
                continue
            if key != "type" or "patch" not in value:  # not a patch type
                return value
        return ""

    def _names(self, kind: str) -> list[str]:
        """Returns the names in the parameters. `resource` may contain a name or the kind."""
        for key in _NAME:
            value = self.get(key)
            if key == "resource" and value == kind and "/" not in kind:
                continue
            names = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str) and one]
            if names:
                return names
        return []

    def _named_bodies(self) -> list[tuple[str, Any]]:
        """Returns the parameters that may contain the content to be written: `patch`, `patchData`, `manifest_yaml`."""
        found = []
        for key, value in self.raw.items():
            places = [_BODY.index(word) for word in words(key[:_MAX_WORD]) if word in _BODY]
            if places and isinstance(value, str | list | dict):
                found.append((min(places), key, value))
        return [(key, value) for _, key, value in sorted(found, key=lambda one: one[:2])]

    def _bodies(self) -> list[Any]:
        return [value for _, value in self._named_bodies()]


def _flat(given: Any) -> dict[str, Any]:
    """Returns the parameters, merged with those inside `options` and similar parameters."""
    if isinstance(given, str):
        try:
            given = msgspec.json.decode(given)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            given = {"command": given}
    if isinstance(given, list):
        given = {"args": given}
    found = dict(given) if isinstance(given, dict) else {}
    for _ in range(2):
        for key in _INNER:
            inner = found.get(key)
            if isinstance(inner, dict) and not _is_manifest(key, inner):
                found = inner | {name: value for name, value in found.items() if name != key}
    return found


def _is_manifest(key: str, value: Mapping[str, Any]) -> bool:
    return key not in {"target", "ref"} and "metadata" in value and "kind" in value
