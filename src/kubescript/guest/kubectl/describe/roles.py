"""Roles and ClusterRoles, with their rules compacted as in kubectl, and their bindings."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Final

from kubescript.guest.kubectl.describe import subject, text_writer, texts
from kubescript.wire import messages

__all__ = ["binding", "role"]

# Attack: a rule has 1,000 groups, 1,000 resources and 1,000 names, which makes a table of 1,000,000,000 lines.
MAX_PARTS: Final = 5_000
"""How many combinations of group, resource and name are examined."""
MAX_ROWS: Final = 400
_HEAD: Final = ("Resources", "Non-Resource URLs", "Resource Names", "Verbs")

Part = tuple[str, str, str | None]
"""API group, resource, and the name if the rule is for one object."""


def role(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a Role or ClusterRole."""
    _heading(about, out)
    out.title("PolicyRule")
    rules = about.object.get("rules") or []
    parts = list(itertools.islice(_parts(rules), MAX_PARTS + 1))
    rows = [*_urls(rules), *_compact(parts[:MAX_PARTS])]
    rows.sort()
    out.table(_HEAD, [cells for _, cells in rows[:MAX_ROWS]])
    if len(rows) > MAX_ROWS or len(parts) > MAX_PARTS:
        out.row(messages.text("describe_more_rules", shown=min(len(rows), MAX_ROWS), rules=len(rules)), level=1)


def _heading(about: subject.Subject, out: text_writer.Writer) -> None:
    metadata = about.object.get("metadata") or {}
    out.field("Name", metadata.get("name"))
    out.labels("Labels", metadata.get("labels"))
    out.annotations("Annotations", metadata.get("annotations"))


def _parts(rules: list[texts.Object]) -> Iterator[tuple[Part, list[str]]]:
    """Yields every combination of group, resource and name of the rules, with its verbs."""
    for rule in rules:
        names = rule.get("resourceNames") or [None]
        for part in itertools.product(rule.get("apiGroups") or (), rule.get("resources") or (), names):
            yield part, rule.get("verbs") or []


def _compact(parts: list[tuple[Part, list[str]]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields each combination once, with all its verbs: kubectl's sort key, and the cells of its line."""
    merged: dict[Part, dict[str, None]] = {}
    for part, own in parts:
        merged.setdefault(part, {}).update(dict.fromkeys(own))
    for (group, resource, name), found in merged.items():
        verbs, names = texts.words(list(found)), texts.words([] if name is None else [name])
        if not found:
            continue
        kind, slash, subresource = resource.partition("/")
        cell = f"{kind}.{group}{slash}{subresource}" if group else resource
        key = f"Verbs:{verbs},APIGroups:[{group}],Resources:[{resource}],ResourceNames:{names},NonResourceURLs:[],"
        yield key, (cell, "[]", names, verbs)


def _urls(rules: list[texts.Object]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields the non-resource URLs; kubectl writes a line for each verb."""
    found = (
        (url, verb) for rule in rules for url in rule.get("nonResourceURLs") or () for verb in rule.get("verbs") or ()
    )
    for url, verb in itertools.islice(found, MAX_ROWS + 1):
        key = f"Verbs:[{verb}],APIGroups:[],Resources:[],ResourceNames:[],NonResourceURLs:[{url}],"
        yield key, ("", f"[{url}]", "[]", f"[{verb}]")


def binding(about: subject.Subject, out: text_writer.Writer) -> None:
    """Writes a RoleBinding or ClusterRoleBinding."""
    _heading(about, out)
    role = about.object.get("roleRef") or {}
    out.title("Role")
    out.field("Kind", role.get("kind"), 1)
    out.field("Name", role.get("name"), 1)
    out.title("Subjects")
    out.table(("Kind", "Name", "Namespace"), map(_subject, about.object.get("subjects") or ()))


def _subject(found: texts.Object) -> tuple[str, ...]:
    return tuple(texts.text(found.get(key)) for key in ("kind", "name", "namespace"))
