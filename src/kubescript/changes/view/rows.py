"""A plan's steps for display: each field's old and new value, with remarks on them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kubescript.changes import plan
from kubescript.changes.store import record
from kubescript.changes.view import characters, comparisons, decisive, lookalikes, model, verbatim
from kubescript.kube import kinds
from kubescript.wire import inspection
from kubescript_masking.wire import masking

__all__ = ["change"]

_MASK: Final = masking.OPENING.decode()
_USUAL: Final = frozenset({"kind", "apiVersion"})
"""The fields that the body of every deletion has."""
_ACTIONS: Final = {"create": "Create", "update": "Replace", "patch": "Change", "delete": "Delete"}
_APPLY: Final = "application/apply-patch"
_LONG_LINE: Final = 1_000
"""From how many characters on a line's length is told."""


def change(
    number: int,
    step: plan.Step,
    turn: str,
    findings: Sequence[model.Finding],
    application: record.Application,
    imitated: Mapping[str, str],
    comparisons: comparisons.Comparisons,
) -> model.Change:
    """Returns one step for display."""
    first, own, by_server = _sort_rows(step, comparisons)
    action = _action(step)
    return model.Change(
        number=number,
        action=action,
        headline=characters.show(_headline(action, step)),
        target=_target(step, imitated),
        turn=turn,
        request=characters.show(_request(step)),
        decisive=first,
        rows=own,
        server_rows=by_server,
        effects=tuple(map(characters.show, step.effects)),
        warnings=tuple(map(characters.show, step.warnings)),
        findings=tuple(findings),
        state=application.state,
        outcome=characters.show(_outcome(application)),
    )


def _headline(action: str, step: plan.Step) -> str:
    """Returns what a step does to its object, and the first of its effects: what becomes of pods comes first."""
    line = f"{action} {_describe_object(step)}"
    return f"{line}: {step.effects[0]}" if step.effects else line


def _sort_rows(step: plan.Step, comparisons: comparisons.Comparisons) -> tuple[tuple[model.Row, ...], ...]:
    """Returns the decisive rows, the others, and those fields of the latter that only the API server adds; without
    what the heading of a new object says already."""
    images = lookalikes.Known(step.images)
    words = verbatim.Words(step.request)
    heading = _list_heading(step)
    sorted_rows: tuple[list[model.Row], ...] = ([], [], [])
    for row in map(words.restore, step.rows):
        shown = _row(row, comparisons, images)
        # A value with a remark on its characters stays.
        is_told = row.path in heading and heading[row.path] == row.new
        if is_told and row.old is None and not shown.badges:
            continue
        is_decisive = decisive.is_decisive(step, row)
        # Attack: a display may close what the server adds, and a webhook changes a value that is there.
        if row.by_server and row.old is None and not is_decisive:
            sorted_rows[2].append(shown)
            continue
        if row.by_server:
            shown = dataclasses.replace(shown, badges=("set by the server", *shown.badges))
        sorted_rows[0 if is_decisive else 1].append(shown)
    return tuple(map(tuple, sorted_rows))


def _list_heading(step: plan.Step) -> dict[str, str]:
    """Returns the fields of a new object that its heading and its request say exactly: what it is, and where."""
    if _action(step) != "Create":
        return {}
    told = {
        "apiVersion": kinds.api_version(step.group, step.version),
        "kind": step.kind,
        "metadata.name": step.name,
        "metadata.namespace": step.namespace,
    }
    return {path: json.dumps(value, ensure_ascii=False) for path, value in told.items()}


def _action(step: plan.Step) -> str:
    """Returns what a step does to its object, as a verb."""
    if step.subresource == "eviction":
        return "Evict"
    # An apply makes an object that does not exist, and so does the replacement of some kinds.
    is_whole = step.verb == "update" or step.request.content_type.startswith(_APPLY)
    if step.precondition is None and is_whole:
        return "Create"
    return _ACTIONS.get(step.verb, "Send")


def _describe_object(step: plan.Step) -> str:
    """Returns the step's object in words: `Deployment web in namespace shop`."""
    text = f"{step.kind or kinds.full_name(step.group, step.resource)} {step.name}"
    if step.namespace and not step.is_namespace:
        text += f" in namespace {step.namespace}"
    if step.subresource and step.subresource != "eviction":
        text += f" ({step.subresource})"
    return text


def _request(step: plan.Step) -> str:
    """Returns a request as one line; for a removal, with its options, which are not in any row."""
    request = step.request
    line = f"{request.method} {request.path}"
    query = "&".join(f"{key}={value}" for key, value in request.query)
    if query:
        line += f"?{query}"
    if not step.removes or not request.body:
        return line
    # Attack: a deletion leaves a Deployment's pods running, or kills them in the middle of their work.
    options = json.loads(request.body)
    if step.subresource == "eviction":
        options = options.get("deleteOptions") or {}
    told = {key: value for key, value in options.items() if key not in _USUAL}
    if told:
        line += f" {json.dumps(told)}"
    return line


def _target(step: plan.Step, imitated: Mapping[str, str]) -> characters.Shown:
    """Returns a step's target, with remarks on its names."""
    remarks: list[str] = []
    for text in (step.namespace, step.name, step.resource, step.group):
        remarks += characters.name(text, imitated).remarks
    target = characters.show(step.target)
    unique = dict.fromkeys(remarks)
    return characters.Shown(target.pieces, tuple(unique))


def _outcome(application: record.Application) -> str:
    """Returns a step's result as one line."""
    parts = []
    if application.text:
        parts.append(application.text)
    if application.status:
        parts.append(f"HTTP {application.status}")
    if application.audit_id:
        parts.append(f"audit id {application.audit_id}")
    return ", ".join(parts)


def _row(row: inspection.Row, comparisons: comparisons.Comparisons, images: lookalikes.Known) -> model.Row:
    old = _show(row.old)
    new = _show(row.new)
    lines = comparisons.lines(row.old, row.new)
    path = characters.name(row.path, {})
    badges = (*_badges(row, old, new), *_list_imitations(row, images))
    return model.Row(_sign(row), path, old, new, lines, badges, row.by_server)


def _sign(row: inspection.Row) -> str:
    if row.old is None:
        return model.ADDED
    if row.new is None:
        return model.REMOVED
    return model.CHANGED


def _show(value: str | None) -> characters.Shown | None:
    if value is None:
        return None
    return characters.show(value)


def _badges(row: inspection.Row, old: characters.Shown | None, new: characters.Shown | None) -> Iterator[str]:
    values = [value for value in (row.old, row.new) if value is not None]
    masks = sum(_MASK in value for value in values)
    if row.hidden_lines:
        lead = "redacted" if row.brought is None else "on record redacted"
        lines = model.count(row.hidden_lines, "line")
        size = model.count(row.hidden_bytes, "byte")
        yield f"{lead}: {lines}, {size} of new text"
    elif row.masked and masks == 2:
        yield "redacted; differs"
    elif row.masked:
        yield "redacted"
    elif masks:
        # A string of the object may imitate a mask.
        yield "not redacted: a text that looks like it"
    longest = max(len(line) for value in values for line in value.split("\\n"))
    if longest > _LONG_LINE:
        yield f"a line of {longest:,} characters"
    remarks: list[str] = []
    for shown in (old, new):
        if shown is not None:
            remarks += shown.remarks
    yield from dict.fromkeys(remarks)


def _list_imitations(row: inspection.Row, images: lookalikes.Known) -> Iterator[str]:
    """Yields remarks on a new value that looks like the old one, or in parts like it or like the object's images."""
    if row.new is None:
        return
    if row.old is not None and lookalikes.is_alike(row.old, row.new):
        yield "old and new look alike"
        return
    # Attack: a new tag makes registry.examp1e.com differ from registry.example.com as a whole.
    known = [images] if row.old is None else [lookalikes.Known([row.old]), images]
    for each in known:
        imitation = each.find_imitation(row.new)
        if imitation is not None:
            part, imitated = map(characters.show, imitation)
            yield f"{part.text} looks like {imitated.text}"
            return
