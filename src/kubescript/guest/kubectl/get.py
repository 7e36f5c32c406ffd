"""kubectl_get and kubectl_get_yaml."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kubescript.guest import yaml_text
from kubescript.guest.kubectl import prune, tool_kinds
from kubescript.guest.kubectl.rows import cells, event_rows, listing, rendering, states
from kubescript.guest.kubectl.rows.listing import Listing, Scope
from kubescript.guest.kubectl.rows.states import Choice
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import schemas
from kubescript.guest.tool_errors import ToolError
from kubescript.wire import messages

__all__ = ["explain_withheld", "kubectl_get", "kubectl_get_yaml", "one", "prune_object"]

OUTPUTS: Final = ("json", "table", "wide", "name", "yaml")
MAX_ROWS: Final = 100
MAX_OBJECTS: Final = 20
"""How many whole objects an answer may contain."""
# How many lines several objects may take: an answer is cut at 500.
MAX_LINES: Final = 450
# How many different states an answer counts. If there are more, the rarest are merged.
MAX_COUNTS: Final = 12
_COUNTED: Final = "Status"
"""The column whose values are counted."""


def kubectl_get(
    k8s: client.K8s,
    resource: str,
    namespace: str | None = None,
    name: str | None = None,
    *,
    all_namespaces: bool = False,
    label_selector: str | None = None,
    labels: Mapping[str, str] | None = None,
    output: str = "json",
) -> Any:
    """Lists objects of a kind, or shows one. `output` is json, table, wide, name or yaml."""
    if output not in OUTPUTS:
        raise ToolError("invalid_choice", name="output", known=", ".join(OUTPUTS), value=output)
    selector = label_selector or _select(labels or {})
    scope = _scope(k8s, resource, namespace, name, all_namespaces=all_namespaces, selector=selector)
    if output == "yaml":
        return _write_yaml(k8s, scope)
    if scope.single and output == "json":
        return one(k8s, scope)
    found = listing.read(k8s, scope, named=output == "name")
    if _is_sorted(scope, found, output):
        found = event_rows.sort_rows(found)
    choice = states.choose(found, scope.kind.model, MAX_ROWS)
    shown = found._replace(rows=choice.rows)
    notes = _notes(scope, found, choice)
    if output == "json":
        return _write_json(scope, found, shown, notes)
    if not found.rows:
        return _nothing(scope)
    return "\n".join([_write_text(scope, shown, output), *notes])


def _select(labels: Mapping[str, str]) -> str:
    """Returns the selector of objects with these labels."""
    pairs = [f"{key}={value}" for key, value in labels.items()]
    return ",".join(pairs)


def _is_sorted(scope: Scope, found: Listing, output: str) -> bool:
    """Says whether the rows are sorted for a reader who is looking for a fault; in all other tables they are in
    kubectl's order."""
    if scope.kind.model not in event_rows.MODELS:
        return False
    if output in ("json", "wide"):
        return True
    return len(found.rows) > MAX_ROWS


def kubectl_get_yaml(
    k8s: client.K8s,
    resource: str,
    name: str | None = None,
    namespace: str | None = None,
    *,
    all_namespaces: bool = False,
) -> str:
    """Returns objects as YAML, without the API server's bookkeeping."""
    scope = _scope(k8s, resource, namespace, name, all_namespaces=all_namespaces)
    return _write_yaml(k8s, scope)


def _scope(
    k8s: client.K8s, resource: str, namespace: str | None, name: str | None, *, all_namespaces: bool, selector: str = ""
) -> Scope:
    """Returns the requested objects. Raises ToolError for arguments that contradict each other."""
    if namespace and all_namespaces:
        raise ToolError("namespace_conflict")
    kind = tool_kinds.find(k8s, resource)
    where = None
    # As in kubectl, a cluster-wide kind accepts any namespace, which has no effect.
    if kind.namespaced and not all_namespaces:
        where = namespace or "default"
    return Scope(kind, where, name, selector)


def one(k8s: client.K8s, scope: Scope) -> dict[str, Any]:
    """Returns one pruned object, with a note if only its metadata is served."""
    found, reply = k8s._session.fetch(scope.call("json"), schemas.OBJECT)
    shown = prune_object(scope.kind, listing.strip(found))
    if reply.metadata_rule:
        shown["note"] = explain_withheld(scope, reply.metadata_rule)
    return shown


def prune_object(kind: tool_kinds.Kind, obj: dict[str, Any]) -> dict[str, Any]:
    """Returns an object of this kind without fields that no reader needs."""
    # List items lack both fields, and in an object served without its data they are those of the metadata-only form.
    named = {**obj, "apiVersion": kind.api_version, "kind": kind.kind}
    return prune.prune(named, defaults=bool(kind.model))


def _write_yaml(k8s: client.K8s, scope: Scope) -> str:
    """Returns objects as YAML documents, after comments about those that are left out."""
    if scope.single:
        found, reply = k8s._session.fetch(scope.call("json"), schemas.OBJECT)
        documents = [_write_document(scope, found)]
        total = "1"
    else:
        call = scope.call("json", ("limit", str(MAX_OBJECTS)))
        found, reply = k8s._session.fetch(call, schemas.OBJECT)
        documents = _first_documents(_write_document(scope, each) for each in list(found))
        total = _total(found)
    if not documents:
        return _nothing(scope)
    notes = []
    if reply.metadata_rule:
        notes.append(explain_withheld(scope, reply.metadata_rule))
    if total != str(len(documents)):
        narrower = "get_first_objects" if scope.kind.namespaced else "get_first_of_cluster"
        notes.append(messages.text(narrower, shown=len(documents), total=total))
    head = "".join(f"# {note}\n" for note in notes)
    return head + "---\n".join(documents)


def _write_document(scope: Scope, view: Any) -> str:
    """Returns one object as YAML."""
    data = listing.strip(view)
    obj = prune_object(scope.kind, data)
    return yaml_text.write(obj)


def _total(found: Any) -> str:
    """Returns the total number of objects; with a label selector, an API server counts only those on the page."""
    remaining = found.metadata.get("remainingItemCount")
    if remaining is None and found.metadata.get("continue"):
        return f"{len(found)}+"
    total = len(found) + (remaining or 0)
    return str(total)


def _first_documents(documents: Iterable[str]) -> list[str]:
    """Returns the first document, and further ones that fit in an answer."""
    found: list[str] = []
    lines = 0
    for each in itertools.islice(documents, MAX_OBJECTS):
        lines += each.count("\n") + 1
        if found and lines > MAX_LINES:
            break
        found.append(each)
    return found


def _write_json(scope: Scope, found: Listing, shown: Listing, notes: Sequence[str]) -> dict[str, Any]:
    """Returns the rows as JSON. If some are not shown, counts all."""
    answer: dict[str, Any] = {"items": rendering.as_json(shown, namespaces=scope.every_namespace)}
    if len(shown.rows) < len(found.rows):
        answer["total"] = len(found.rows)
        answer |= _count_rows(scope, found)
    if not found.rows:
        notes = [_nothing(scope)]
    if notes:
        answer["note"] = " ".join(notes)
    return answer


def _count_rows(scope: Scope, found: Listing) -> dict[str, dict[str, int]]:
    """Returns how often each state or each warning occurs; an empty map if the columns do not show it."""
    if scope.kind.model in event_rows.MODELS:
        warnings = event_rows.warnings(found)
        return {"warnings": _merge_rare(warnings)}
    values = _states(found)
    if not values:
        return {}
    return {_COUNTED.lower(): _merge_rare(Counter(values))}


def _merge_rare(counts: Counter[str]) -> dict[str, int]:
    """Returns the counts, with the smallest merged if there are many."""
    ordered = counts.most_common()
    merged = dict(ordered[:MAX_COUNTS])
    rest = ordered[MAX_COUNTS:]
    if rest:
        merged["other"] = sum(count for _, count in rest)
    return merged


def _write_text(scope: Scope, shown: Listing, output: str) -> str:
    """Returns the rows as names or as kubectl's table."""
    if output != "name":
        return rendering.as_table(shown, wide=output == "wide", namespaces=scope.every_namespace)
    kind = scope.kind
    name = kind.kind.lower()
    # The full name is such as deployment.apps.
    if kind.group:
        name += f".{kind.group}"
    return rendering.as_names(shown, name)


def _nothing(scope: Scope) -> str:
    """Returns kubectl's message for an empty list."""
    if scope.namespace is None:
        return messages.text("get_nothing")
    return messages.text("get_nothing_in_namespace", namespace=scope.namespace)


def _notes(scope: Scope, found: Listing, choice: Choice) -> list[str]:
    """Returns notes about what the answer does not show."""
    notes = []
    if found.metadata_rule:
        notes.append(explain_withheld(scope, found.metadata_rule))
    if choice.hidden:
        notes.append(_describe_hidden(scope, choice))
    return notes


def _describe_hidden(scope: Scope, choice: Choice) -> str:
    """Returns a note on the hidden rows: how many, their state, and their namespaces."""
    hidden = _count_hidden(choice)
    if scope.every_namespace:
        namespaces = Counter(cells.line(row.namespace) for row in choice.hidden)
        counts = [f"{name} {count}" for name, count in _merge_rare(namespaces).items()]
        hidden += ": " + ", ".join(counts)
    name = "get_more" if choice.unusual is None else "get_more_unusual"
    shown = len(choice.rows)
    total = shown + len(choice.hidden)
    return messages.text(name, shown=shown, total=total, hidden=hidden)


def _count_hidden(choice: Choice) -> str:
    """Returns how many rows are hidden, and how many of them are unhealthy if the columns show it."""
    count = len(choice.hidden)
    if choice.unusual is None:
        return str(count)
    if not choice.unusual:
        return messages.text("get_hidden_usual", count=count)
    return messages.text("get_hidden", count=count, unusual=choice.unusual)


def explain_withheld(scope: Scope, rule: str) -> str:
    """Returns the note that only the kind's metadata is served."""
    return messages.text("get_metadata_only", kind=scope.kind.kind, rule=rule)


def _states(found: Listing) -> list[str]:
    """Returns each row's state; an empty list if there is no column for it."""
    titles = [column.name for column in found.columns]
    if _COUNTED not in titles:
        return []
    place = titles.index(_COUNTED)
    return [str(row.cell(place)) for row in found.rows]
