"""Changes of a cluster as recorded: writes a plan's steps into its record, and reads them back.

A change is a call that was allowed, was carried out by the API server, and was not a dry run. The record of a call
contains only its target. If the call was part of a plan, the plan's record has the rest.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import orjson

from kubescript.audit import script_records
from kubescript.changes import plan, review
from kubescript.changes.rules.conduct import transcript
from kubescript.output import sanitizing

__all__ = ["Session", "fields_of", "sessions"]

_TARGET: Final = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
_WRITES: Final = frozenset({"create", "delete", "deletecollection", "patch", "update"})
_QUESTIONS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups whose objects are created only to get an answer."""
_LISTS: Final = ("finalizers", "owners", "uses", "images", "new_images", "fields", "dropped", "named")
"""Texts of a change that come from the cluster or the script, in the order in which a record keeps them."""
_CUT: Final = frozenset({"fields", "dropped"})
"""Those that are still useful when shortened. The others are left out entirely when too long."""
_MAX_TEXT: Final = 300
_KEYS_BYTES: Final = 120
"""Bytes for the names of all lists."""


# --- writing ----------------------------------------------------------------------------------------------------------


def fields_of(step: plan.Step, text_filter: script_records.TextFilter, most: int) -> dict[str, Any]:
    """Returns the fields of one step in a plan's record, in at most `most` bytes of JSON, unless its target takes
    more."""
    change = review.change_of(step)
    fields: dict[str, Any] = msgspec.to_builtins(change)
    for name in ("namespace", "name"):
        fields[name] = text_filter(getattr(change, name))
    texts = _take_texts(fields)
    fields["findings"] = sorted({finding.rule for finding in step.findings})
    left = most - len(orjson.dumps(fields)) - _KEYS_BYTES
    # Text that does not fit is not masked at all. It is cut again after masking, since a mask may be longer than its
    # value.
    masked = _mask_texts(_within(texts, left), text_filter)
    kept = _within(masked, left)
    labels = kept.pop("labels", None)
    if labels is not None and all("=" in pair for pair in labels):
        fields["labels"] = dict(pair.split("=", 1) for pair in labels)
    fields |= kept
    more = len(change.fields or ()) - len(kept.get("fields", ()))
    if more:
        fields["more_fields"] = more
    return fields


def _take_texts(fields: dict[str, Any]) -> dict[str, list[str]]:
    """Removes the labels and the lists of a change from its fields; returns them as texts."""
    texts: dict[str, list[str]] = {}
    if "labels" in fields:
        labels = fields.pop("labels")
        texts["labels"] = [f"{key}={value}" for key, value in labels.items()]
    for name in _LISTS:
        if name in fields:
            texts[name] = fields.pop(name)
    return texts


def _mask_texts(texts: dict[str, list[str]], text_filter: script_records.TextFilter) -> dict[str, list[str]]:
    """Returns the texts masked, on one line each; none when masking has merged lines."""
    lines = [text.replace("\n", " ") for each in texts.values() for text in each]
    whole = text_filter.redact("\n".join(lines), lambda _: None, script_records.patience())
    masked = whole.split("\n")
    if len(masked) != max(1, len(lines)):
        return {}
    shown = (sanitizing.printable(line[:_MAX_TEXT]) for line in masked)
    return {name: [next(shown) for _ in each] for name, each in texts.items()}


def _within(texts: dict[str, list[str]], most: int) -> dict[str, list[str]]:
    """Returns the texts that fit into `most` bytes of JSON."""
    kept = {}
    for name, each in texts.items():
        fitting = _fitting(each, most)
        if len(fitting) == len(each) or name in _CUT:
            kept[name] = fitting
            most -= len(orjson.dumps(fitting))
    return kept


def _fitting(texts: list[str], most: int) -> list[str]:
    """Returns the first texts that fit into `most` bytes."""
    for count, text in enumerate(texts):
        most -= len(orjson.dumps(text)) + 1
        if most < 0:
            return texts[:count]
    return texts


# --- reading ----------------------------------------------------------------------------------------------------------


@dataclass
class Session:
    """The changes that one client made in one cluster."""

    changes: list[transcript.Change] = field(default_factory=list)
    origins: list[str] = field(default_factory=list)
    """Origin of each change: `plan p-5f0e…`, `script c8f949e8`, `kubectl_apply`."""
    times: list[str] = field(default_factory=list)

    def add(self, change: transcript.Change, found: Mapping[str, Any]) -> None:
        """Adds a change from this record."""
        moment = datetime.datetime.fromisoformat(found["time"])
        self.changes.append(msgspec.structs.replace(change, at=moment.timestamp()))
        self.origins.append(_origin(found))
        self.times.append(str(found["time"]))


def sessions(records: Iterable[Mapping[str, Any]], *, planned: bool = False) -> list[Session]:
    """Returns each client's changes, oldest first; with `planned`, including plans that were not applied.

    Raises KeyError, TypeError or ValueError for a record of another shape.
    """
    found: dict[tuple[str, str], Session] = {}
    plans: dict[str, tuple[Session, list[transcript.Change]]] = {}
    for one in records:
        session = found.setdefault((one.get("session", ""), one.get("context", "")), Session())
        if one.get("type") == "plan":
            steps = [_change(step) for step in one["steps"]]
            plans[one["plan"]] = session, steps
            for step in steps if planned else ():
                session.add(step, one)
        elif _is_change(one):
            # The approver's session applies a plan, but its changes belong to the session that planned them.
            session, steps = plans.get(one.get("plan", ""), (session, []))
            sent = _take_step(steps, one)
            if sent is None:
                session.add(_change_of_call(one), one)
            elif not planned:
                session.add(sent, one)
    return [session for session in found.values() if session.changes]


def _is_change(one: Mapping[str, Any]) -> bool:
    """Says whether a record is of a call that changed something."""
    if one.get("type") != "call" or one.get("dry_run"):
        return False
    if "resource" not in one or "path" in one:
        return False
    was_done = one["decision"] == "allow" and 200 <= one["status"] < 300
    return was_done and one["verb"] in _WRITES and one["group"] not in _QUESTIONS


def _take_step(steps: list[transcript.Change], one: Mapping[str, Any]) -> transcript.Change | None:
    """Removes from `steps` the first step that the call sends, and returns it."""
    for step in steps:
        if _is_same(step, one):
            steps.remove(step)
            return step
    return None


def _is_same(step: transcript.Change, one: Mapping[str, Any]) -> bool:
    """Says whether a call sends this step. A create has its object's name in the body, not in the call."""
    names = (name for name in _TARGET if name != "name" or one["name"])
    return all(getattr(step, name) == one[name] for name in names)


def _change_of_call(one: Mapping[str, Any]) -> transcript.Change:
    """Returns the change of a call without a plan: its target, and whether the object existed, as the status
    implies."""
    target = {name: one[name] for name in _TARGET}
    existed = one["verb"] != "create" and one["status"] != 201
    return _change(target | {"existed": existed})


def _change(fields: Mapping[str, Any]) -> transcript.Change:
    """Returns the change in the fields of a record. Raises ValueError."""
    known = {name: fields[name] for name in transcript.Change.__struct_fields__ if name in fields}
    try:
        return msgspec.convert(known, transcript.Change)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def _origin(found: Mapping[str, Any]) -> str:
    """Returns the plan, script or tool of a record."""
    if found.get("plan"):
        return f"plan {found['plan']}"
    if found.get("script"):
        return f"script {str(found['script'])[:8]}"
    return str(found.get("tool") or found.get("client") or "?")
