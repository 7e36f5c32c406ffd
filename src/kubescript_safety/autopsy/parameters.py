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
_NO_KINDS: Final = frozenset({"no", "limits", "k"})
"""Words in the names of tools that are also short names of kinds."""
_SETS: Final = frozenset({"replica", "stateful", "daemon"})
_MAX_WORD: Final = 300


def words(name: str) -> list[str]:
    """Returns the words of a name in camelCase, in snake_case or with dashes."""
    kept: list[str] = []
    for before, character in zip(" " + name, name, strict=False):
        if character.isupper() and (before.islower() or before.isdigit()):
            kept.append(" ")
        kept.append(character.lower() if character.isalnum() else " ")
    found = "".join(kept).split()
    # `set` is a verb, and also the second half of the names of three kinds.
    previous = ["", *found]
    return [one for one, last in zip(found, previous, strict=False) if one != "set" or last not in _SETS]


class Parameters:
    """One call's parameters, merged with those inside `options` and similar parameters."""

    def __init__(self, given: Any) -> None:
        self.raw = _flat(given)
        self._values: dict[str, Any] = {}
        for key, value in self.raw.items():
            bare = filter(str.isalnum, key.lower())
            self._values["".join(bare)] = value

    def get(self, name: str) -> Any:
        """Returns a value; `name` is in lower case without dashes."""
        return self._values.get(name)

    def text(self, *names: str) -> str:
        """Returns the first of these values that is a string, or an empty string."""
        for value in map(self.get, names):
            if isinstance(value, str) and value:
                return value
        return ""

    @property
    def is_dry(self) -> bool:
        """Whether the call asks for a dry run."""
        return any(outcome.is_dry(self.get(key)) for key in _DRY)

    @property
    def operations(self) -> list[list[str]]:
        """The words of the parameters that name an operation."""
        values = map(self.get, _OPERATION)
        # A longer value is a command line or a script.
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
        for key in _SELECTOR:
            value = self.get(key)
            if value:
                return write.selector(value)
        return ()

    @property
    def images(self) -> tuple[str, ...]:
        """The image that is set."""
        image = self.text("image")
        if image:
            return (image,)
        return ()

    @property
    def manifests(self) -> list[dict[str, Any]]:
        """The Kubernetes objects in the parameters, or the parameters themselves if they are an object."""
        found: list[dict[str, Any]] = []
        for _, value in self._named_bodies():
            found += write.documents(value)
        # The parameters of some tools are the members of an object.
        if not found and isinstance(self.raw.get("kind"), str) and isinstance(self.raw.get("metadata"), dict):
            found = [self.raw]
        # `kind` alone may be a parameter that names the kind.
        return [one for one in found if {"metadata", "apiVersion", "spec"} & one.keys()]

    @property
    def body(self) -> Any:
        """The patch, or the manifest."""
        for key, value in self._named_bodies():
            inner = _parse(value)
            if isinstance(inner, dict) and inner:
                # A ConfigMap's entries may be given without the object.
                if key == "data" and not {"data", "metadata", "spec"} & inner.keys():
                    return {"data": inner}
                return inner
            # A JSON patch is a list of objects.
            if isinstance(inner, list) and inner and isinstance(inner[0], dict):
                return inner
        spec = self.get("spec")
        if isinstance(spec, dict):
            return {"spec": spec}
        return None

    def target(self, tool: list[str]) -> tuple[str, list[str]]:
        """Returns the resource and the names of the objects that are meant; `tool` is the tool's name in words."""
        kind = self._kind()
        names = self._names(kind)
        if not kind:
            kind = next((word for word in tool if kinds.is_kind(word) and word not in _NO_KINDS), "")
        if not kind:  # {"deployment": "web"}
            kind = self._named_kind()
            if kind and not names:
                names = [self._values[kind]]
        head, slash, tail = kind.partition("/")
        if slash and kinds.is_kind(head) and "/" not in tail:  # deployment/web
            # `resource` is read twice, as the kind and as the name.
            if not names or names == [kind]:
                names = [tail]
            kind = head
        split = [one.partition("/") for one in names]
        if split and split[0][1] and kinds.is_kind(split[0][0]):
            kind = kind or split[0][0]
            names = [rest or first for first, _, rest in split]
        return (kinds.resource(kind) if kind else ""), names

    def _named_kind(self) -> str:
        """Returns the parameter that is named like a kind and contains the object's name; empty if there is none."""
        for key, value in self._values.items():
            if isinstance(value, str) and kinds.is_kind(key) and key not in _SPACE:
                return key
        return ""

    def _kind(self) -> str:
        """Returns the kind in the parameters, or an empty string."""
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
            # This value has already been read as the kind.
            if key == "resource" and value == kind and "/" not in kind:
                continue
            values = value if isinstance(value, list) else [value]
            names = [one for one in values if isinstance(one, str) and one]
            if names:
                return names
        return []

    def _named_bodies(self) -> list[tuple[str, Any]]:
        """Returns the parameters that may contain the content to be written: `patch`, `patchData`, `manifest_yaml`."""
        found = []
        for key, value in self.raw.items():
            # Attack: a parameter has a name of a megabyte.
            places = [_BODY.index(word) for word in words(key[:_MAX_WORD]) if word in _BODY]
            if places and isinstance(value, str | list | dict):
                found.append((min(places), key, value))
        found.sort(key=lambda one: one[:2])
        return [(key, value) for _, key, value in found]


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
    # Two levels are enough for `{"request": {"options": …}}`.
    for key in 2 * _INNER:
        inner = found.get(key)
        if isinstance(inner, dict) and not _is_manifest(key, inner):
            del found[key]
            found = inner | found
    return found


def _parse(value: Any) -> Any:
    """Returns the first document of a string in JSON or YAML; any other value as it is."""
    if not isinstance(value, str):
        return value
    if ":" not in value and not value.lstrip().startswith(("{", "[")):
        return value
    documents = write.parse(value)
    return documents[0] if documents else None


def _is_manifest(key: str, value: Mapping[str, Any]) -> bool:
    """Says whether a parameter that may contain others is itself a Kubernetes object."""
    # These parameters name the object that is meant, perhaps in the shape of an object.
    if key in {"target", "ref"}:
        return False
    return "metadata" in value and "kind" in value
