"""What a write changes, from the object before it, the object after its dry run, and the request's body; of a scaling,
also from the Scale before it.

They arrive as one body (`inspection.Comparison`); the answer is an `inspection.Changes` in JSON. The unmasked
values decide what has changed; displayed values are masked. `inspector` calls this module. A stranger may have written
the objects, so each step is bounded and takes time linear in their bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from kubescript.inspection import (
    changed_fields,
    expressions,
    facts,
    field_managers,
    hidden,
    node_parts,
    nodes,
    requested,
    reverse_patch,
    rights,
    risks,
    scales,
)
from kubescript.wire import inspection
from kubescript_masking.engine import program
from kubescript_sandbox.wire import outline

__all__ = ["ComparisonError", "compare", "write_changes"]

# The API server's own limit for a request.
_MAX_BYTES: Final = 3 * 1024 * 1024
"""The maximum size of each document in bytes."""
# There is a limit because each level takes four nested function calls.
_MAX_DEPTH: Final = 100
"""The maximum number of levels in each document."""
_BOOKKEEPING: Final = frozenset(
    {"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"}
)
"""Metadata that the API server manages itself."""


class ComparisonError(program.WithheldError):
    """The documents cannot be compared."""


def write_changes(
    about: inspection.Comparison, chunks: Iterable[bytes], mask: program.Mask, own_rules: expressions.Expressions
) -> bytes:
    """Returns what a write changes, as JSON. Raises ComparisonError."""
    before, after, scale, body = _split(about, chunks)
    if not about.masked:
        mask = _pass_unmasked
    asked = None
    if body:
        asked = _decode_bounded(body)
    old = _object(before, mask, echo=False)
    new = _object(after, mask, echo=True)
    old_scale = _object(scale, mask, echo=False)
    changes = compare(about, old, new, asked, old_scale)
    result = _raw(new)
    if about.subresource == "scale" and result is not None:
        result = scales.complete(result)
    objections = own_rules.objections(about, _raw(old), result)
    changes = msgspec.structs.replace(changes, objections=objections)
    answer = msgspec.json.encode(changes)
    if len(answer) > inspection.MAX_CHANGES:
        raise ComparisonError("rows")
    return answer


def compare(
    about: inspection.Comparison,
    before: nodes.Node | None,
    after: nodes.Node | None,
    body: Any,
    scale: nodes.Node | None = None,
) -> inspection.Changes:
    """Returns what a write changes. `body` is the decoded body of the request; None if it has none. Of a scaling,
    `after` is a Scale, and `scale` the one before it, which only custom resources need. Raises ComparisonError."""
    is_scaling = about.subresource == "scale"
    # A built-in kind has the number of replicas in the same field as its Scale.
    scale = scale or before
    risky: tuple[str, ...] = ()
    grants = rights.Grants()
    if after is not None and not is_scaling:
        grants = rights.between(about, _raw(before), after.raw)
        risky = _list_risks(about, _raw(before), after.raw, grants)
    was = _facts(about, before)
    now = _facts(about, after)
    if is_scaling:
        was = _count_replicas(was, scale)
        now = _count_replicas(now, after)
        old = scales.select(scale)
        new = scales.select(after)
    else:
        old, new = _select_content(before, after, body)
    found = changed_fields.Differences()
    digest = _digest(was, None)
    if new is not None:
        found = _find_differences(about, old, new, body, now)
        digest = _digest(was, found)
    undo = ""
    if is_scaling and scale is not None and new is not None:
        undo = scales.undo(scale)
    elif old is not None and new is not None:
        undo = reverse_patch.patch(old, new)
    return inspection.Changes(
        before=was,
        after=now,
        rows=found.rows,
        digest=digest,
        requested=found.requested or _digest(was, None),
        undo=undo,
        risks=risky,
        binds=grants.binds,
        taken=_list_taken(about, before, after),
    )


def _list_risks(
    about: inspection.Comparison, before: dict[str, Any] | None, after: dict[str, Any], grants: rights.Grants
) -> tuple[str, ...]:
    """Returns the risks of a change, sorted."""
    found = set(risks.between(before, after))
    if grants.escalates:
        found.add("escalation")
    if node_parts.changes_more(about, before, after):
        found.add("node")
    return tuple(sorted(found))


def _list_taken(
    about: inspection.Comparison, before: nodes.Node | None, after: nodes.Node | None
) -> tuple[inspection.Taken, ...]:
    try:
        return field_managers.list_taken(about, before, after)
    except field_managers.TooManyError:
        raise ComparisonError("managers") from None


def _find_differences(
    about: inspection.Comparison, old: nodes.Node | None, new: nodes.Node, body: Any, now: inspection.Facts | None
) -> changed_fields.Differences:
    """Returns the differences between two objects. Raises ComparisonError when there are too many."""
    uid = now.uid if now is not None else ""
    # Only kinds of the core group have fields that the API server allots anew.
    resource = "" if about.group or about.subresource else about.resource
    asked = requested.of(about, body)
    masks = hidden.Finder(about, old, body)
    try:
        return changed_fields.between(old, new, asked, masks, uid, resource)
    except changed_fields.TooManyError:
        raise ComparisonError("rows") from None


def _digest(was: inspection.Facts | None, found: changed_fields.Differences | None) -> str:
    """Returns the digest of what a request does to this very object. Without `found`, the request removes the
    object."""
    uid = content = ""
    changed = "removed"
    if was is not None:
        uid = was.uid
    if found is not None:
        changed = found.digest
    elif was is not None:
        # A removal has no differences, since it concerns the whole content.
        content = was.digest
    text = f"{uid} {content} {changed}"
    return hashlib.sha256(text.encode()).hexdigest()


def _facts(about: inspection.Comparison, document: nodes.Node | None) -> inspection.Facts | None:
    if document is None:
        return None
    is_status = about.subresource == "status"
    try:
        return facts.of(document.raw, status=is_status, manager=about.manager)
    except facts.TooManyError:
        raise ComparisonError("values") from None


def _count_replicas(described: inspection.Facts | None, scale: nodes.Node | None) -> inspection.Facts | None:
    """Returns an object's facts with the number of replicas in its Scale."""
    if described is None or scale is None:
        return None
    return msgspec.structs.replace(described, replicas=scales.count(scale))


def _select_content(
    before: nodes.Node | None, after: nodes.Node | None, body: Any
) -> tuple[nodes.Node | None, nodes.Node | None]:
    """Returns the parts of both objects that are compared."""
    # Attack: in a custom resource without a status subresource, status is a field like any other. For a new object it
    # is compared only when the request names it, since API servers fill in the status of many kinds.
    has_status = before is not None or (isinstance(body, dict) and "status" in body)
    old = _content(before, status=has_status) if before is not None else None
    new = _content(after, status=has_status) if after is not None else None
    return old, new


def _content(document: nodes.Node, *, status: bool) -> nodes.Node:
    """Returns an object without the fields that the API server manages."""
    found = nodes.fields(document)
    if not status:
        found.pop("status", None)
    metadata = found.get("metadata")
    if metadata is not None and isinstance(metadata.node.raw, dict):
        members = nodes.fields(metadata.node)
        for key in _BOOKKEEPING:
            members.pop(key, None)
        found["metadata"] = metadata._replace(node=nodes.join(members))
    return nodes.join(found)


def _split(about: inspection.Comparison, chunks: Iterable[bytes]) -> tuple[bytes, bytes, bytes, bytes]:
    """Returns the four documents."""
    whole = bytearray()
    for chunk in chunks:
        whole += chunk
        if len(whole) > 4 * _MAX_BYTES:
            raise ComparisonError("values")
    first = about.before
    second = first + about.after
    third = second + about.scale
    return bytes(whole[:first]), bytes(whole[first:second]), bytes(whole[second:third]), bytes(whole[third:])


def _object(document: bytes, mask: program.Mask, *, echo: bool) -> nodes.Node | None:
    """Returns an object's raw and displayable forms; None for an empty document."""
    if not document:
        return None
    raw = _decode_bounded(document)
    if not isinstance(raw, dict):
        raise ComparisonError("object")
    masked = mask(document, echo=echo)
    # Nothing is masked, so one decoding serves both forms.
    if masked == document:
        return nodes.Node(raw, raw)
    return nodes.Node(raw, _decode(masked))


def _raw(node: nodes.Node | None) -> Any:
    """Returns an object's raw form; None without an object."""
    if node is None:
        return None
    return node.raw


def _decode_bounded(document: bytes) -> Any:
    """Returns the decoded value of a document that is not too large."""
    if len(document) > _MAX_BYTES:
        raise ComparisonError("values")
    # The values are counted before they are decoded, since 100,000 of them take 30 MiB and half a second.
    values = outline.outline(document, outline.MAX_VALUES)
    if values is None or outline.depth(values) > _MAX_DEPTH:
        raise ComparisonError("values")
    return _decode(document)


def _decode(document: bytes) -> Any:
    try:
        # Unlike orjson, msgspec reads numbers of any length exactly. Attack: two numbers differ in the twentieth digit.
        return msgspec.json.decode(document)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ComparisonError("object") from None


def _pass_unmasked(document: bytes, *, echo: bool) -> bytes:
    return document
