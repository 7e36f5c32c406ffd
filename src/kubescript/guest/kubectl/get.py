"""kubectl_get and kubectl_get_yaml."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kubescript.guest import tool_errors, yaml_text
from kubescript.guest.kubectl import prune, tool_kinds
from kubescript.guest.kubectl.rows import cells, event_rows, listing, rendering, states
from kubescript.guest.sdk import client
from kubescript.guest.sdk.objects import schemas
from kubescript.wire import messages

__all__ = ["kubectl_get", "kubectl_get_yaml", "one", "prune_object", "withheld"]

OUTPUTS: Final = ("json", "table", "wide", "name", "yaml")
MAX_ROWS: Final = 100
MAX_OBJECTS: Final = 20
"""How many whole objects an answer may contain."""
MAX_LINES: Final = 450
"""How many lines several objects may take; an answer is cut at 500."""
MAX_COUNTS: Final = 12
"""How many states an answer counts."""
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
        raise tool_errors.ToolError("invalid_choice", name="output", known=", ".join(OUTPUTS), value=output)
    selector = label_selector or ",".join(f"{key}={value}" for key, value in (labels or {}).items())
    scope = _scope(k8s, resource, namespace, name, all_namespaces=all_namespaces, selector=selector)
    if output == "yaml":
        return _yaml(k8s, scope)
    if scope.single and output == "json":
        return one(k8s, scope)
    found = listing.read(k8s, scope, named=output == "name")
    if scope.kind.model in event_rows.MODELS and (output in ("json", "wide") or len(found.rows) > MAX_ROWS):
        found = event_rows.sort_rows(found)
    choice = states.choose(found, scope.kind.model, MAX_ROWS)
    shown = found._replace(rows=choice.rows)
    notes = _notes(scope, found, choice)
    if output == "json":
        return _json(scope, found, shown, notes if found.rows else [_nothing(scope)])
    return "\n".join([_text(scope, shown, output), *notes]) if found.rows else _nothing(scope)


def kubectl_get_yaml(
    k8s: client.K8s,
    resource: str,
    name: str | None = None,
    namespace: str | None = None,
    *,
    all_namespaces: bool = False,
) -> str:
    """Returns objects as YAML, without the API server's bookkeeping."""
    return _yaml(k8s, _scope(k8s, resource, namespace, name, all_namespaces=all_namespaces))


def _scope(
    k8s: client.K8s, resource: str, namespace: str | None, name: str | None, *, all_namespaces: bool, selector: str = ""
) -> listing.Scope:
    if namespace and all_namespaces:
        raise tool_errors.ToolError("namespace_conflict")
    kind = tool_kinds.find(k8s, resource)
    every = all_namespaces or not kind.namespaced
    return listing.Scope(kind, None if every else namespace or "default", name, selector)


def one(k8s: client.K8s, scope: listing.Scope) -> dict[str, Any]:
    """Returns one object, pruned, with a note if only its metadata is served."""
    found, reply = k8s._session.fetch(scope.call("json"), schemas.OBJECT)
    shown = prune_object(scope.kind, listing.strip(found))
    if reply.metadata_rule:
        shown["note"] = withheld(scope, reply.metadata_rule)
    return shown


def prune_object(kind: tool_kinds.Kind, obj: dict[str, Any]) -> dict[str, Any]:
    """Returns an object of this kind without fields that no reader needs."""
    # List items lack both fields, and an object served without its data has those of its metadata-only form.
    named = {**obj, "apiVersion": kind.api_version, "kind": kind.kind}
    return prune.prune(named, defaults=bool(kind.model))


def _yaml(k8s: client.K8s, scope: listing.Scope) -> str:
    limit = () if scope.single else (("limit", str(MAX_OBJECTS)),)
    found, reply = k8s._session.fetch(scope.call("json", *limit), schemas.OBJECT)
    objects = [found] if scope.single else list(found)
    documents = _first_documents(yaml_text.write(prune_object(scope.kind, listing.strip(each))) for each in objects)
    if not documents:
        return _nothing(scope)
    notes = [withheld(scope, reply.metadata_rule)] if reply.metadata_rule else []
    total = "1" if scope.single else _total(found)
    if total != str(len(documents)):
        narrower = "get_first_objects" if scope.kind.namespaced else "get_first_of_cluster"
        notes.append(messages.text(narrower, shown=len(documents), total=total))
    return "".join(f"# {note}\n" for note in notes) + "---\n".join(documents)


def _total(found: Any) -> str:
    """Returns the total number of objects; with a label selector, an API server counts only those of the page."""
    left = found.metadata.get("remainingItemCount")
    if left is None and found.metadata.get("continue"):
        return f"{len(found)}+"
    return str(len(found) + (left or 0))


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


def _json(scope: listing.Scope, found: listing.Listing, shown: listing.Listing, notes: Sequence[str]) -> dict[str, Any]:
    answer: dict[str, Any] = {"items": rendering.as_json(shown, namespaces=scope.every_namespace)}
    if len(shown.rows) < len(found.rows):
        answer["total"] = len(found.rows)
        if scope.kind.model in event_rows.MODELS:
            answer["warnings"] = _most(event_rows.warnings(found))
        elif values := _states(found):
            answer[_COUNTED.lower()] = _counts(values)
    return {**answer, "note": " ".join(notes)} if notes else answer


def _counts(values: Sequence[str]) -> dict[str, int]:
    """Returns how often each value occurs, with the rarest merged if there are many."""
    return _most(Counter(values))


def _most(counts: Counter[str]) -> dict[str, int]:
    """Returns the counts, with the smallest merged if there are many."""
    found = counts.most_common()
    rest = found[MAX_COUNTS:]
    other = {"other": sum(count for _, count in rest)} if rest else {}
    return dict(found[:MAX_COUNTS]) | other


def _text(scope: listing.Scope, shown: listing.Listing, output: str) -> str:
    if output == "name":
        group = f".{scope.kind.group}" if scope.kind.group else ""
        return rendering.as_names(shown, f"{scope.kind.kind.lower()}{group}")
    return rendering.as_table(shown, wide=output == "wide", namespaces=scope.every_namespace)


def _nothing(scope: listing.Scope) -> str:
    """Returns kubectl's message for an empty list."""
    if not scope.kind.namespaced or scope.every_namespace:
        return messages.text("get_nothing")
    return messages.text("get_nothing_in_namespace", namespace=scope.namespace)


def _notes(scope: listing.Scope, found: listing.Listing, choice: states.Choice) -> list[str]:
    notes = [withheld(scope, found.metadata_rule)] if found.metadata_rule else []
    return [*notes, _more(scope, found, choice)] if choice.hidden else notes


def _more(scope: listing.Scope, found: listing.Listing, choice: states.Choice) -> str:
    """Returns a note on the hidden rows: how many, their state, and their namespaces."""
    hidden = str(len(choice.hidden))
    if choice.unusual is not None:
        hidden = messages.text("get_hidden", count=hidden, unusual=choice.unusual)
        if not choice.unusual:
            hidden = messages.text("get_hidden_usual", count=len(choice.hidden))
    if scope.every_namespace:
        counts = _counts([cells.line(row.namespace) for row in choice.hidden])
        hidden += ": " + ", ".join(f"{name} {count}" for name, count in counts.items())
    name = "get_more" if choice.unusual is None else "get_more_unusual"
    return messages.text(name, shown=len(choice.rows), total=len(found.rows), hidden=hidden)


def withheld(scope: listing.Scope, rule: str) -> str:
    """Returns the note that only the kind's metadata is served."""
    return messages.text("get_metadata_only", kind=scope.kind.kind, rule=rule)


def _states(found: listing.Listing) -> list[str]:
    """Returns each row's state; empty if there is no column for it."""
    titles = [column.name for column in found.columns]
    if _COUNTED not in titles:
        return []
    place = titles.index(_COUNTED)
    return [str(row.cell(place)) for row in found.rows]
