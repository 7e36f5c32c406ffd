"""`k8s.explain("deployment.spec.strategy")`: a field's type, meaning and parts, as `kubectl explain` in few lines.

From the cluster's OpenAPI. Where it has none, a snapshot, from the bundled models, which know types but no words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from kubescript.worker.sdk import builtin_kinds, discovery, errors, names, openapi, operations

__all__ = ["Explainer"]

MAX_LINES: Final = 25
MAX_WORDS: Final = 300
"""Characters of the field's own description."""
MAX_NOTE: Final = 90
"""Characters of a child's."""
WIDTH: Final = 110

_LINKS: Final = re.compile(r" ?(?:More info|For more info\w*|See|Read more|Learn more):? https?://\S+")
_CAPITAL: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_OPEN: Final = "x-kubernetes-preserve-unknown-fields"


class Explainer:
    """`k8s.explain`, over one cluster."""

    def __init__(self, discovery: discovery.Discovery, documents: openapi.OpenApi) -> None:
        self._discovery = discovery
        self._openapi = documents

    def explain(self, path: str, *more: str, api_version: str | None = None) -> str:
        """The text for "pod.spec.containers", "deployments.apps" or "certificates.cert-manager.io.spec"."""
        if not isinstance(path, str) or not path.strip():
            raise TypeError("explain() takes a text such as 'deployment.spec.strategy'")
        path = re.sub(r"^(?:[\w.-]+/)?v\d\w*[./ ]", "", path.strip())  # apps/v1.Deployment
        parts: list[str] = []
        for each in (path, *more):
            without_index = re.sub(r"\[[^\]]*\]", "", each)
            parts.extend(without_index.strip(". /").split("."))
        kind, steps = self._kind(parts, api_version)
        schema = self._openapi.kind(kind.group, kind.version, kind.kind)
        walk = _Described(self._openapi, kind, schema) if schema else _Bundled(kind)
        return text(kind, *walk.follow(steps), bundled=schema is None)

    def _kind(self, parts: list[str], api_version: str | None) -> tuple[builtin_kinds.Kind, list[str]]:
        """The kind that the path begins with, and the fields after it. A group's dots belong to the kind."""
        for size in range(len(parts), 1, -1):
            if found := builtin_kinds.find(".".join(parts[:size]), api_version):
                return found, parts[size:]
        if found := builtin_kinds.find(parts[0], api_version):
            return found, parts[1:]
        resource, size = self._served(parts, api_version)
        kind = builtin_kinds.Kind(resource.group, resource.version, resource.kind, resource.name, "")
        return kind, parts[size:]

    def _served(self, parts: list[str], api_version: str | None) -> tuple[discovery.ApiResource, int]:
        if api_version:
            known = self._discovery.server_resources_for_group_version(api_version)
        else:
            known = list(self._discovery.preferred())
        for size in range(len(parts), 0, -1):
            name = ".".join(parts[:size])
            for each in known:
                if each.answers_to(name):
                    return each, size
        every = {*(each.kind for each in known), *(each.name for each in known)}
        hint = names.suggestion(parts[0], every)
        raise errors.NotFoundException(404, "Not Found", message=f"no kind {parts[0]!r}; {hint}")


class _Described:
    """A walk through the cluster's schemas."""

    def __init__(self, documents: openapi.OpenApi, kind: builtin_kinds.Kind, schema: openapi.Schema) -> None:
        self._openapi = documents
        self._kind = kind
        self._schema = schema

    def follow(self, steps: list[str]) -> tuple[list[str], Field]:
        """The fields' right names, and the last one."""
        schema, name = self._resolved(self._schema)
        taken: list[str] = []
        name = name or self._kind.kind
        for step in steps:
            inner, _ = self._resolved(_element(schema))
            children = inner.get("properties") or {}
            where = ".".join([self._kind.kind, *taken])
            taken.append(_found(step, children, where, is_open=_OPEN in inner))
            schema, name = self._resolved(children[taken[-1]])
        return taken, self._field(schema, name)

    def _resolved(self, schema: openapi.Schema) -> tuple[openapi.Schema, str]:
        return self._openapi.resolve(self._kind.group, self._kind.version, schema)

    def _field(self, schema: openapi.Schema, name: str) -> Field:
        inner, _ = self._resolved(_element(schema))
        parts = inner.get("properties") or {}
        values = schema.get("enum") or inner.get("enum") or ()
        return Field(
            type=self._type(schema, name),
            words=self._words(schema),
            children={key: (self._type(each), self._words(each)) for key, each in parts.items()},
            required=tuple(inner.get("required") or ()),
            values=tuple(map(str, values)),
        )

    def _words(self, schema: openapi.Schema) -> str:
        resolved, _ = self._resolved(schema)
        return str(resolved.get("description") or "")

    def _type(self, schema: openapi.Schema, name: str = "") -> str:
        """As kubectl writes it: `[]Container`, `map[string]string`, `string`."""
        schema, referred = self._resolved(schema)
        if schema.get("type") == "array":
            return f"[]{self._type(schema.get('items') or {})}"
        values = schema.get("additionalProperties")
        if isinstance(values, dict):
            return f"map[string]{self._type(values)}"
        if schema.get("x-kubernetes-int-or-string"):
            return "int or string"
        return referred or name or str(schema.get("type") or "any")


def _element(schema: openapi.Schema) -> openapi.Schema:
    """What a list or map is made of; anything else itself."""
    inner = schema.get("items") or schema.get("additionalProperties")
    return _element(inner) if isinstance(inner, dict) else schema


class _Bundled:
    """A walk through the models the SDK was made with: types, no words."""

    def __init__(self, kind: builtin_kinds.Kind) -> None:
        self._kind = kind

    def follow(self, steps: list[str]) -> tuple[list[str], Field]:
        """The fields' right names, and the last one. Raises NotFoundException for a kind without a model."""
        if not self._kind.model:
            text = f"there is no description of {self._kind.kind} here; look at one: k8s.get('{self._kind.plural}')[0]"
            raise errors.NotFoundException(404, "Not Found", message=text)
        taken: list[str] = []
        kind = self._kind.model
        for step in steps:
            children = _children(kind)
            taken.append(_found(step, children, ".".join([self._kind.kind, *taken])))
            kind = children[taken[-1]]
        types = {name: (_bare(each), "") for name, each in _children(kind).items()}
        return taken, Field(_bare(kind), "", types)


def _children(kind: str) -> dict[str, str]:
    """JSON name ▶ type of a model's fields, or of the elements' of a list."""
    while kind.startswith(("List[", "Dict[")):
        kind = kind[5:-1].rpartition(", ")[2]
    fields = operations.models().get(kind, {})
    return {
        names.camel(name) if isinstance(entry, str) else entry[1]: entry if isinstance(entry, str) else entry[0]
        for name, entry in fields.items()
    }


def _bare(kind: str) -> str:
    """A model's type as kubectl writes it: List[V1Container] is []Container."""
    kind = re.sub(r"Dict\[str, (.*?)\]", r"map[string]\1", kind)
    kind = re.sub(r"List\[(.*)\]", r"[]\1", kind)
    kind = re.sub(r"\bstr\b", "string", kind)
    return re.sub(r"\b(?:Core)?V\d(?:(?:alpha|beta)\d)?(?=[A-Z])", "", kind)


def _found(step: str, children: Mapping[str, Any], where: str, *, is_open: bool = False) -> str:
    """The field's right name. Raises NotFoundException naming the nearest."""
    if step in children:
        return step
    if same := names.spelled(step, children):
        return same
    hint = names.suggestion(step, children) if children else "it has no fields"
    if is_open and not names.nearest(step, children):
        hint = "its schema is open: look at an object, k8s.get(...)[0]"
    raise errors.NotFoundException(404, "Not Found", message=f"{where} has no field {step!r}; {hint}")


class Field(NamedTuple):
    """A field, or the whole object."""

    type: str
    words: str
    children: Mapping[str, tuple[str, str]]
    """Name ▶ type and words."""
    required: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    """What an enumeration may be."""


def text(kind: builtin_kinds.Kind, steps: list[str], field: Field, *, bundled: bool) -> str:
    """What `k8s.explain` gives. `bundled`: it is not from the cluster."""
    title = ".".join([kind.kind, *steps])
    note = " (types only: no OpenAPI here)" if bundled else ""
    lines = [f"{title} <{field.type}>, {kind.api_version}{note}"]
    if field.words:
        lines.append(_short(field.words, MAX_WORDS))
    if field.values:
        values = ", ".join(field.values)
        lines.append(f"one of: {values}"[:MAX_WORDS])
    lines.extend(_listed(field, MAX_LINES - len(lines)))
    return "\n".join(lines)


def _listed(field: Field, room: int) -> list[str]:
    """One child on a line, with its meaning; several on one where there are too many."""
    if len(field.children) <= room:
        return [_child(name, field) for name in field.children]
    lines = [""]
    for name, (kind, _) in field.children.items():
        mark = "*" if name in field.required else ""
        word = f"{name} <{kind}>{mark}"
        if len(lines[-1]) + len(word) > WIDTH:
            lines.append("")
        lines[-1] += f", {word}" if lines[-1] else f"  {word}"
    return lines[:room]


def _child(name: str, field: Field) -> str:
    kind, words = field.children[name]
    required = " required" if name in field.required else ""
    text = f"  {name} <{kind}>{required}"
    note = _short(words, MAX_NOTE)
    return f"{text}: {note}" if note else text


def _short(words: str, size: int) -> str:
    """The first sentences that fit."""
    flat = _LINKS.sub("", " ".join(words.split()))
    if len(flat) <= size:
        return flat
    kept = ""
    for sentence in _CAPITAL.split(flat):
        if len(kept) + len(sentence) > size:
            break
        kept = f"{kept} {sentence}".strip()
    return kept or flat[: size - 1].rstrip() + "…"
