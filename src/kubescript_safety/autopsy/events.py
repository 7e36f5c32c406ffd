"""Reads the requests in the audit log: which of them change something, and what each changes, for the rules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from kubescript.changes.rules.conduct import creation
from kubescript.changes.rules.conduct import transcript as changes
from kubescript.kube import documents, field_paths
from kubescript_safety import transcript
from kubescript_safety.autopsy import facts, fields, state

__all__ = [
    "READS",
    "WRITES",
    "find_changed_paths",
    "find_changes",
    "is_asking",
    "is_change",
    "is_idle",
    "is_ok",
    "is_write",
]

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
READS: Final = frozenset({"get", "list", "watch"})
_QUESTIONS: Final = frozenset({
    "localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectreviews", "selfsubjectrulesreviews",
    "subjectaccessreviews", "tokenreviews",
})  # fmt: skip
"""Resources whose creation is a query and changes nothing."""
_TUNNELS: Final = frozenset({"attach", "exec", "log", "portforward", "proxy", "token"})
"""Subresources whose requests change no object."""
_LIST: Final = re.compile(r"\([^()]*\)")
"""The values of a requirement, whose commas must not separate requirements."""
_REPLICAS: Final = "spec.replicas"
_MAX_NAME: Final = 253
"""The longest Kubernetes name. Attack: an agent sends names of a megabyte, which are then compared with each other."""
_IGNORED: Final = (
    "metadata.creationTimestamp", "metadata.generation", "metadata.managedFields", "metadata.resourceVersion",
    "metadata.selfLink", "metadata.uid", "status",
)  # fmt: skip


def is_ok(event: transcript.Event) -> bool:
    """Says whether a request succeeded."""
    return 200 <= event.status < 300


def is_asking(event: transcript.Event) -> bool:
    """Says whether a request cannot change anything: a dry run, a query, a tunnel."""
    if event.is_dry:
        return True
    return event.resource in _QUESTIONS or event.subresource in _TUNNELS


def is_write(event: transcript.Event) -> bool:
    """Says whether a request would change something, including dry runs and refused requests."""
    if event.verb not in WRITES:
        return False
    return event.resource not in _QUESTIONS and event.subresource not in _TUNNELS


def is_change(event: transcript.Event) -> bool:
    """Says whether a request changed something."""
    if event.verb not in WRITES:
        return False
    return is_ok(event) and not is_asking(event)


def is_idle(event: transcript.Event) -> bool:
    """Says whether a request left the object unchanged, such as an apply that is a no-op."""
    # A deletion is a change, whatever its answer shows.
    if event.subresource or event.verb.startswith("delete"):
        return False
    if event.before is None or event.after is None:
        return False
    changed = fields.differences(event.before, event.after)
    return all(map(_is_ignored, changed))


def find_changes(event: transcript.Event, call: str, at: float, inside: dict[str, int]) -> Iterator[facts.Made]:
    """Yields a request's changes; for a deletecollection, itself and every object that it deleted."""
    is_collection = event.verb == "deletecollection"
    selectors = (event.query.get("labelSelector", ""), event.query.get("fieldSelector", ""))
    is_bounded = not is_collection or any(map(_is_choosing, selectors))
    content = 0
    if event.resource == "namespaces" and event.verb == "delete":
        content = inside.get(event.name, 0)
    change = _change(event, at)
    yield facts.Made(
        change, call, event.audit, began=event.at, before=event.before, content=content, bounded=is_bounded
    )
    if is_collection:
        for item, each in _list_deleted(event, change):
            yield facts.Made(each, call, event.audit, began=event.at, before=item, collected=True)


def _list_deleted(event: transcript.Event, change: changes.Change) -> Iterator[tuple[dict[str, Any], changes.Change]]:
    """Yields the objects that a deletecollection deleted, as its answer lists them, and the deletion of each."""
    answer = event.after or {}
    # The items of a list do not contain their kind.
    kind = str(answer.get("kind", "")).removesuffix("List")
    items = answer.get("items")
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        metadata = documents.mapping(item, "metadata")
        known = state.of(item, kind)
        yield item, msgspec.structs.replace(
            change, verb="delete", name=str(metadata.get("name", ""))[:_MAX_NAME], existed=True, healthy=known.healthy,
            running=known.running, labels=documents.labels(item), owners=known.owners,
            images=state.images(item) or None, node=state.node(item),
            namespace=str(metadata.get("namespace", "") or change.namespace)[:_MAX_NAME],
            uses=state.uses(item) if event.resource == "pods" else None,
        )  # fmt: skip


def _is_choosing(selector: str) -> bool:
    """Says whether a selector states which objects are meant, and not only which are not, as `!a`, `a!=b` and `a notin
    (b)` do."""
    bare = _LIST.sub("", selector)
    parts = [part for part in bare.split(",") if part.strip()]
    return any("!" not in part and " notin" not in part for part in parts)


def find_changed_paths(event: transcript.Event) -> frozenset[str]:
    """Returns the paths that somebody else's request changed, without those of the status."""
    if event.subresource == "scale":
        return frozenset({_REPLICAS})  # the answer is not the object's state
    # Unless both states are known, what the request names is taken for what it changed.
    is_known = event.before is not None and event.after is not None and event.verb != "delete"
    found = fields.differences(event.before, event.after) if is_known else field_paths.list_named(event.body)
    return frozenset(path for path in found if not _is_ignored(path))


def _content_type(event: transcript.Event) -> str:
    """Returns the body's type. The audit log does not record it, but an apply is the only patch that must contain its
    kind, API version and field manager."""
    if event.content_type or event.verb != "patch":
        return event.content_type
    if not isinstance(event.body, dict) or "fieldManager" not in event.query:
        return ""
    if {"apiVersion", "kind"} <= event.body.keys():
        return "application/apply-patch+yaml"
    return ""


def _change(event: transcript.Event, at: float) -> changes.Change:
    """Returns a request as a change for the rules of `kubescript.changes.rules.conduct`."""
    # An apply may create an object too, which only this status shows.
    is_new = event.status == 201 and event.verb != "delete" and not event.subresource
    known = state.of(None if is_new else event.before)
    name = event.name or str(documents.mapping(event.after or event.body, "metadata").get("name", ""))
    # The answer is a list, whose name is not the name of an object.
    if event.verb == "deletecollection":
        name = ""
    # Attack: an agent sends names of a megabyte.
    change = changes.Change(
        verb=event.verb,
        group=event.group[:_MAX_NAME],
        version=event.version,
        resource=event.resource[:_MAX_NAME],
        subresource=event.subresource[:_MAX_NAME],
        namespace=event.namespace[:_MAX_NAME],
        name=name[:_MAX_NAME],
        content_type=_content_type(event),
        existed=not is_new,
        healthy=known.healthy,
        running=known.running,
        terminating=known.terminating,
        node=state.node(event.before),
        uses=state.uses(event.before) if event.resource == "pods" else None,
        labels=_labels(event, is_new=is_new),
        owners=known.owners,
        images=state.images(event.before) or None,
        at=at,
    )
    # A removal changes no field.
    if change.removes:
        return msgspec.structs.replace(change, orphans=_orphans(event))
    return _with_content(change, event)


def _labels(event: transcript.Event, *, is_new: bool) -> dict[str, str] | None:
    """Returns the labels of a new object, or else those from before the request; None when they are not known."""
    if is_new:
        return documents.labels(event.after if isinstance(event.after, dict) else event.body)
    if event.before is None:
        return None
    return documents.labels(event.before)


def _orphans(event: transcript.Event) -> bool:
    """Says whether a deletion leaves the dependents in place."""
    body = event.body if isinstance(event.body, dict) else {}
    policy = event.query.get("propagationPolicy") or body.get("propagationPolicy")
    # Clients older than the policy send this option.
    return policy == "Orphan" or body.get("orphanDependents") is True


def _with_content(change: changes.Change, event: transcript.Event) -> changes.Change:
    """Adds the request's content and its effect."""
    said = field_paths.list_named(event.body)
    if event.subresource == "scale":
        said = tuple(path for path in said if path == _REPLICAS)
    named = tuple(path for path in said if event.subresource or not _is_ignored(path))
    rows = _rows(event, change, named)
    dropped: tuple[str, ...] = ()
    if change.method in {"apply", "replace"}:
        dropped = tuple(path for path, (_, new) in (rows or {}).items() if new is None)
    values = {} if change.existed else fields.flat(event.after or event.body)
    return msgspec.structs.replace(
        change,
        fields=None if rows is None else tuple(rows),
        named=named,
        dropped=dropped,
        replicas=documents.replicas(event.body),
        new_images=tuple(_new_images(rows or {})),
        finalizers=_finalizers(event) if change.existed and not event.subresource else (),
        locked="metadata.resourceVersion" in said,
        purpose="" if change.existed else creation.purpose(change.group, change.resource, values),
    )


Rows = dict[str, tuple[str | None, str | None]]


def _rows(event: transcript.Event, change: changes.Change, named: tuple[str, ...]) -> Rows | None:
    """Returns the fields that the request changed; None if unknown. Changes that the API server or a webhook added are
    left out."""
    if event.after is None or (event.before is None and change.existed):
        return None
    if event.subresource == "scale" and event.after.get("kind") == "Scale":
        was = _count_replicas(event.before)
        becomes = _count_replicas(event.after)
        return {} if was == becomes else {_REPLICAS: (was, becomes)}
    whole = fields.differences(event.before if change.existed else None, event.after)
    # Defaults and webhooks change fields that the request does not name.
    places = {field_paths.plain(path) for path in named}
    above = {prefix for place in places for prefix in _prefixes(place)}
    is_whole = change.method in {"apply", "replace"}
    kept = {}
    for path, (old, new) in whole.items():
        if _is_ignored(path):
            continue
        plain = field_paths.plain(path)
        is_named = plain in above or not places.isdisjoint(_prefixes(plain))
        # A whole object removes what it leaves out.
        if is_named or (is_whole and new is None):
            kept[path] = (old, new)
    return kept


def _count_replicas(document: dict[str, Any] | None) -> str:
    """Returns the replicas of an object or a Scale as JSON."""
    spec = documents.mapping(document, "spec")
    return json.dumps(spec.get("replicas"))


def _prefixes(path: str) -> Iterator[str]:
    """Yields the path and its prefixes. Attack: an agent sends a key with a million dots, so only 60 are yielded."""
    yield path
    for _ in range(60):
        path, dot, _ = path.rpartition(".")
        if not dot:
            return
        yield path


def _is_ignored(path: str) -> bool:
    """Says whether a path is one that the API server sets itself."""
    # A rule that counted these paths would find that every write of every agent changed more than it said.
    return any(field_paths.covers(each, path) for each in _IGNORED)


def _new_images(rows: Rows) -> Iterator[str]:
    """Yields the images that are new for their containers."""
    for path, (_, new) in rows.items():
        if new is not None and field_paths.plain(path).endswith("ontainers.image"):
            yield new.strip('"')


def _finalizers(event: transcript.Event) -> tuple[str, ...]:
    """Returns the finalizers that the request removed."""
    if event.before is None or event.after is None:
        return ()
    removed = _read_finalizers(event.before) - _read_finalizers(event.after)
    return tuple(sorted(removed))


def _read_finalizers(document: dict[str, Any]) -> set[str]:
    metadata = documents.mapping(document, "metadata")
    return set(map(str, metadata.get("finalizers") or []))
