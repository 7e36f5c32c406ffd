"""Provides `k8s.explain("deployment.spec.strategy")`: a field's type, description and children in a few lines, like
`kubectl explain`.

The text comes from the cluster's OpenAPI. A snapshot has no OpenAPI; there, the text comes from the models with which
the SDK is generated, which have types but no descriptions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kubescript.guest.sdk.discovery import discovery, openapi
from kubescript.guest.sdk.values import builtin_kinds, exceptions, names, operations

__all__ = ["Explainer"]

MAX_LINES: Final = 25
MAX_WORDS: Final = 300
"""How many characters of the field's own description are shown."""
MAX_NOTE: Final = 90
"""How many characters of a child's description are shown."""
WIDTH: Final = 110

_LINKS: Final = re.compile(r" ?(?:More info|For more info\w*|See|Read more|Learn more):? https?://\S+")
_CAPITAL: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_OPEN: Final = "x-kubernetes-preserve-unknown-fields"


class Explainer:
    """`k8s.explain` for one cluster."""

    def __init__(self, discovery: discovery.Discovery, documents: openapi.OpenApi) -> None:
        self._discovery = discovery
        self._openapi = documents

    def explain(self, path: str, *more: str, api_version: str | None = None) -> str:
        """Returns the text for "pod.spec.containers", "deployments.apps" or "certificates.cert-manager.io.spec"."""
        if not isinstance(path, str) or not path.strip():
            raise TypeError("explain() takes a text such as 'deployment.spec.strategy'")
        # apps/v1.Deployment becomes Deployment.
        without_version = re.sub(r"^(?:[\w.-]+/)?v\d\w*[./ ]", "", path.strip())
        parts: list[str] = []
        for each in (without_version, *more):
            parts.extend(_split_path(each))
        kind, steps = self._find_kind(parts, api_version)
        schema = self._openapi.kind(kind.group, kind.version, kind.kind)
        walk = _Described(self._openapi, kind, schema) if schema else _Bundled(kind)
        taken, field = walk.follow(steps)
        return text(kind, taken, field, bundled=schema is None)

    def _find_kind(self, parts: list[str], api_version: str | None) -> tuple[builtin_kinds.Kind, list[str]]:
        """Returns the kind that the path begins with, and the fields after it."""
        # The longest name is tried first, because a group's dots belong to the kind: deployments.apps.spec.
        for size in range(len(parts), 0, -1):
            name = ".".join(parts[:size])
            found = builtin_kinds.find(name, api_version)
            if found:
                return found, parts[size:]
        resource, size = self._find_served(parts, api_version)
        kind = builtin_kinds.Kind(resource.group, resource.version, resource.kind, resource.name, "")
        return kind, parts[size:]

    def _find_served(self, parts: list[str], api_version: str | None) -> tuple[discovery.ApiResource, int]:
        """Returns the served kind that the path begins with, and how many parts name it."""
        if api_version:
            known = self._discovery.server_resources_for_group_version(api_version)
        else:
            known = list(self._discovery.preferred())
        for size in range(len(parts), 0, -1):
            name = ".".join(parts[:size])
            for each in known:
                if each.answers_to(name):
                    return each, size
        spellings: set[str] = set()
        for each in known:
            spellings |= {each.kind, each.name}
        hint = names.suggestion(parts[0], spellings)
        raise exceptions.NotFoundException(404, "Not Found", message=f"no kind {parts[0]!r}; {hint}")


def _split_path(path: str) -> list[str]:
    """Returns the names on a path; an index such as `[0]` is left out."""
    without_index = re.sub(r"\[[^\]]*\]", "", path)
    trimmed = without_index.strip(". /")
    return trimmed.split(".")


class _Described:
    """Follows a path through the cluster's schemas."""

    def __init__(self, documents: openapi.OpenApi, kind: builtin_kinds.Kind, schema: openapi.Schema) -> None:
        self._openapi = documents
        self._kind = kind
        self._schema = schema

    def follow(self, steps: list[str]) -> tuple[list[str], Field]:
        """Returns the right names of the fields on the path, and the last field."""
        kind = self._kind.kind
        schema, name = self._resolve(self._schema)
        name = name or kind
        taken: list[str] = []
        for step in steps:
            inner, _ = self._resolve(_element(schema))
            children = inner.get("properties") or {}
            where = ".".join([kind, *taken])
            right_name = _find_name(step, children, where, is_open=_OPEN in inner)
            taken.append(right_name)
            schema, name = self._resolve(children[right_name])
        return taken, self._field(schema, name)

    def _resolve(self, schema: openapi.Schema) -> tuple[openapi.Schema, str]:
        """Returns the schema that another one refers to, and its name."""
        kind = self._kind
        return self._openapi.resolve(kind.group, kind.version, schema)

    def _field(self, schema: openapi.Schema, name: str) -> Field:
        inner, _ = self._resolve(_element(schema))
        parts = inner.get("properties") or {}
        values = schema.get("enum") or inner.get("enum") or ()
        return Field(
            type=self._type(schema, name),
            words=self._describe(schema),
            children={key: (self._type(each), self._describe(each)) for key, each in parts.items()},
            required=tuple(inner.get("required") or ()),
            values=tuple(map(str, values)),
        )

    def _describe(self, schema: openapi.Schema) -> str:
        """Returns the description of a schema."""
        # A reference has the description of its target.
        resolved, _ = self._resolve(schema)
        return str(resolved.get("description") or "")

    def _type(self, schema: openapi.Schema, name: str = "") -> str:
        """Returns the type as kubectl writes it: `[]Container`, `map[string]string`, `string`."""
        schema, referred = self._resolve(schema)
        if schema.get("type") == "array":
            return f"[]{self._type(schema.get('items') or {})}"
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            return f"map[string]{self._type(values)}"
        if schema.get("x-kubernetes-int-or-string"):
            return "int or string"
        return referred or name or str(schema.get("type") or "any")


def _element(schema: openapi.Schema) -> openapi.Schema:
    """Returns the schema of a list's or map's elements, and any other schema unchanged."""
    inner = schema.get("items") or schema.get("additionalProperties")
    # `additionalProperties` may be just true.
    if not isinstance(inner, dict):
        return schema
    return _element(inner)


class _Bundled:
    """Follows a path through the SDK's models, which have types but no descriptions."""

    def __init__(self, kind: builtin_kinds.Kind) -> None:
        self._kind = kind

    def follow(self, steps: list[str]) -> tuple[list[str], Field]:
        """Returns the right names of the fields on the path, and the last field. Raises NotFoundException for a kind
        without a model."""
        if not self._kind.model:
            text = f"there is no description of {self._kind.kind} here; look at one: k8s.get('{self._kind.plural}')[0]"
            raise exceptions.NotFoundException(404, "Not Found", message=text)
        taken: list[str] = []
        kind = self._kind.model
        for step in steps:
            children = _children(kind)
            where = ".".join([self._kind.kind, *taken])
            right_name = _find_name(step, children, where)
            taken.append(right_name)
            kind = children[right_name]
        types = {name: (_kubectl_type(each), "") for name, each in _children(kind).items()}
        return taken, Field(_kubectl_type(kind), "", types)


def _children(kind: str) -> dict[str, str]:
    """Maps the JSON names of a model's fields to their types; a list's fields are those of its elements."""
    while kind.startswith(("List[", "Dict[")):
        _, _, kind = kind[5:-1].rpartition(", ")
    types = {}
    fields = operations.models().get(kind, {})
    for name, entry in fields.items():
        # An entry contains its JSON name only if that is not simply the attribute in camelCase.
        own_type, key = (entry, names.camel(name)) if isinstance(entry, str) else entry
        types[key] = own_type
    return types


def _kubectl_type(kind: str) -> str:
    """Returns a model's type as kubectl writes it: List[V1Container] is []Container."""
    kind = re.sub(r"Dict\[str, (.*?)\]", r"map[string]\1", kind)
    kind = re.sub(r"List\[(.*)\]", r"[]\1", kind)
    kind = re.sub(r"\bstr\b", "string", kind)
    # A model's name begins with its version, which kubectl does not show.
    return re.sub(r"\b(?:Core)?V\d(?:(?:alpha|beta)\d)?(?=[A-Z])", "", kind)


def _find_name(step: str, children: Mapping[str, Any], where: str, *, is_open: bool = False) -> str:
    """Returns the field's right name. Raises NotFoundException, which names the nearest."""
    if step in children:
        return step
    same = names.find_spelling(step, children)
    if same:
        return same
    # An open schema allows fields that it does not list; only objects show which ones there are.
    if is_open and not names.nearest(step, children):
        hint = "its schema is open: look at an object, k8s.get(...)[0]"
    elif children:
        hint = names.suggestion(step, children)
    else:
        hint = "it has no fields"
    raise exceptions.NotFoundException(404, "Not Found", message=f"{where} has no field {step!r}; {hint}")


class Field(NamedTuple):
    """A field, or the whole object."""

    type: str
    words: str
    children: Mapping[str, tuple[str, str]]
    """Type and description of each child, by name."""
    required: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """The values of an enumeration."""


def text(kind: builtin_kinds.Kind, steps: list[str], field: Field, *, bundled: bool) -> str:
    """Returns the text of `k8s.explain`. With `bundled`, the types come from the SDK's models."""
    title = ".".join([kind.kind, *steps])
    note = " (types only: no OpenAPI here)" if bundled else ""
    lines = [f"{title} <{field.type}>, {kind.api_version}{note}"]
    if field.words:
        lines.append(_shorten(field.words, MAX_WORDS))
    if field.values:
        values = ", ".join(field.values)
        lines.append(f"one of: {values}"[:MAX_WORDS])
    lines.extend(_list_children(field, MAX_LINES - len(lines)))
    return "\n".join(lines)


def _list_children(field: Field, room: int) -> list[str]:
    """Returns one line for each child with its description, or, if there are too many, several names on a line."""
    if len(field.children) <= room:
        return [_child(name, field) for name in field.children]
    lines = [""]
    for name, (kind, _) in field.children.items():
        mark = "*" if name in field.required else ""
        entry = f"{name} <{kind}>{mark}"
        if len(lines[-1]) + len(entry) > WIDTH:
            lines.append("")
        lines[-1] += f", {entry}" if lines[-1] else f"  {entry}"
    return lines[:room]


def _child(name: str, field: Field) -> str:
    """Returns the line of one child."""
    kind, words = field.children[name]
    required = " required" if name in field.required else ""
    text = f"  {name} <{kind}>{required}"
    note = _shorten(words, MAX_NOTE)
    return f"{text}: {note}" if note else text


def _shorten(words: str, size: int) -> str:
    """Returns the first sentences that fit."""
    one_line = " ".join(words.split())
    # Links cost tokens, and no script can open them.
    flat = _LINKS.sub("", one_line)
    if len(flat) <= size:
        return flat
    kept = ""
    for sentence in _CAPITAL.split(flat):
        if len(kept) + len(sentence) > size:
            break
        kept = f"{kept} {sentence}".strip()
    # Even the first sentence may be too long.
    return kept or flat[: size - 1].rstrip() + "…"
