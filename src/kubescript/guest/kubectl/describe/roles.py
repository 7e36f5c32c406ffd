"""Roles and ClusterRoles, with their rules compacted as in kubectl, and their bindings."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Final

from kubescript.guest.kubectl.describe import texts
from kubescript.guest.kubectl.describe.subject import Subject
from kubescript.guest.kubectl.describe.text_writer import Writer
from kubescript.guest.kubectl.describe.texts import Object
from kubescript.wire import messages

__all__ = ["binding", "role"]

# Attack: a rule has 1,000 groups, 1,000 resources and 1,000 names, which makes a table of 1,000,000,000 lines. So only
# this many combinations of group, resource and name are examined.
MAX_PARTS: Final = 5_000
MAX_ROWS: Final = 400
_HEAD: Final = ("Resources", "Non-Resource URLs", "Resource Names", "Verbs")

Part = tuple[str, str, str | None]
"""API group, resource, and the name if the rule is for one object."""
Row = tuple[str, tuple[str, ...]]
"""kubectl's sort key of a line of the table, and the cells of the line."""


def role(about: Subject, out: Writer) -> None:
    """Writes a Role or ClusterRole."""
    _write_heading(about, out)
    out.title("PolicyRule")
    rules = about.object.get("rules") or []
    # One more than the limit shows whether there are more.
    parts = list(itertools.islice(_parts(rules), MAX_PARTS + 1))
    rows = [*_url_rows(rules), *_resource_rows(parts[:MAX_PARTS])]
    rows.sort()
    shown = rows[:MAX_ROWS]
    out.table(_HEAD, [cells for _, cells in shown])
    if len(rows) > MAX_ROWS or len(parts) > MAX_PARTS:
        note = messages.text("describe_more_rules", shown=len(shown), rules=len(rules))
        out.row(note, level=1)


def _write_heading(about: Subject, out: Writer) -> None:
    """Writes name, labels and annotations."""
    metadata = about.metadata
    out.field("Name", metadata.get("name"))
    out.labels_and_annotations(metadata)


def _parts(rules: list[Object]) -> Iterator[tuple[Part, list[str]]]:
    """Yields every combination of group, resource and name of the rules, with its verbs."""
    for rule in rules:
        groups = rule.get("apiGroups") or ()
        resources = rule.get("resources") or ()
        names = rule.get("resourceNames") or [None]
        for part in itertools.product(groups, resources, names):
            yield part, rule.get("verbs") or []


def _resource_rows(parts: list[tuple[Part, list[str]]]) -> Iterator[Row]:
    """Yields a row for each combination, with its verbs from all rules."""
    merged: dict[Part, dict[str, None]] = {}
    for part, verbs in parts:
        # A dict keeps the verbs in the order of the rules, without duplicates.
        found = merged.setdefault(part, {})
        found.update(dict.fromkeys(verbs))
    for part, found in merged.items():
        if found:
            yield _resource_row(part, list(found))


def _resource_row(part: Part, verbs: list[str]) -> Row:
    """Returns the row of one combination of group, resource and name."""
    group, resource, name = part
    verbs_text = texts.words(verbs)
    names_text = "[]" if name is None else f"[{texts.text(name)}]"
    key = (
        f"Verbs:{verbs_text},APIGroups:[{group}],Resources:[{resource}],ResourceNames:{names_text},NonResourceURLs:[],"
    )
    return key, (_resource_cell(group, resource), "[]", names_text, verbs_text)


def _resource_cell(group: str, resource: str) -> str:
    """Returns a resource with its group, such as `deployments.apps/scale`."""
    kind, slash, subresource = resource.partition("/")
    if not group:
        return resource
    return f"{kind}.{group}{slash}{subresource}"


def _url_rows(rules: list[Object]) -> Iterator[Row]:
    """Yields the non-resource URLs; kubectl writes a line for each verb."""
    # One more than the limit shows whether there are more.
    for url, verb in itertools.islice(_urls(rules), MAX_ROWS + 1):
        key = f"Verbs:[{verb}],APIGroups:[],Resources:[],ResourceNames:[],NonResourceURLs:[{url}],"
        yield key, ("", f"[{url}]", "[]", f"[{verb}]")


def _urls(rules: list[Object]) -> Iterable[tuple[str, str]]:
    """Yields every combination of URL and verb of the rules."""
    for rule in rules:
        for url in rule.get("nonResourceURLs") or ():
            for verb in rule.get("verbs") or ():
                yield url, verb


def binding(about: Subject, out: Writer) -> None:
    """Writes a RoleBinding or ClusterRoleBinding."""
    _write_heading(about, out)
    reference = about.object.get("roleRef") or {}
    out.title("Role")
    out.field("Kind", reference.get("kind"), 1)
    out.field("Name", reference.get("name"), 1)
    out.title("Subjects")
    subjects = about.object.get("subjects") or ()
    rows = [texts.values(each, "kind", "name", "namespace") for each in subjects]
    out.table(("Kind", "Name", "Namespace"), rows)
