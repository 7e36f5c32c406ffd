"""A cluster's recorded changes: writes a plan's steps into its record, and reads them back.

A change is a call that was allowed, was carried out by the API server, and was not a dry run. The record of a call
contains only its target. If the call was part of a plan, the plan's record has the rest.
"""

from __future__ import annotations

import datetime
import itertools
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
# The objects of these groups are created only to get an answer.
_QUESTIONS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups whose objects do not count as changes."""
_LISTS: Final = ("finalizers", "owners", "uses", "images", "new_images", "fields", "dropped", "named")
"""The strings of a change that come from the cluster or the script, in the order in which a record keeps them."""
# The other lists are left out entirely when too long.
_CUT: Final = frozenset({"fields", "dropped"})
"""The lists that are still useful when shortened."""
_MAX_TEXT: Final = 300
_KEYS_BYTES: Final = 120
"""How many bytes the names of all lists may take."""


# --- writing ----------------------------------------------------------------------------------------------------------


def fields_of(step: plan.Step, text_filter: script_records.TextFilter, most: int) -> dict[str, Any]:
    """Returns the fields of one step in a plan's record, in at most `most` bytes of JSON, unless its target takes
    more."""
    change = review.change_of(step)
    fields: dict[str, Any] = msgspec.to_builtins(change)
    fields["namespace"] = text_filter(change.namespace)
    fields["name"] = text_filter(change.name)
    texts = _take_texts(fields)
    rules = {finding.rule for finding in step.findings}
    fields["findings"] = sorted(rules)
    left = most - len(orjson.dumps(fields)) - _KEYS_BYTES
    # Text that does not fit is not masked at all. It is cut again after masking, since a mask may be longer than its
    # value.
    fitting = _within(texts, left)
    masked = _mask_texts(fitting, text_filter)
    kept = _within(masked, left)
    labels = kept.pop("labels", None)
    # A mask may have swallowed the sign between a label and its value.
    if labels is not None and all("=" in pair for pair in labels):
        fields["labels"] = dict(pair.split("=", 1) for pair in labels)
    fields |= kept
    more = len(change.fields or ()) - len(kept.get("fields", ()))
    if more:
        fields["more_fields"] = more
    return fields


def _take_texts(fields: dict[str, Any]) -> dict[str, list[str]]:
    """Removes the labels and the lists of a change from its fields; returns them as strings."""
    texts: dict[str, list[str]] = {}
    labels = fields.pop("labels", None)
    if labels is not None:
        texts["labels"] = [f"{key}={value}" for key, value in labels.items()]
    for name in _LISTS:
        if name in fields:
            texts[name] = fields.pop(name)
    return texts


def _mask_texts(texts: dict[str, list[str]], text_filter: script_records.TextFilter) -> dict[str, list[str]]:
    """Returns the strings masked, each on one line; none of them when masking has merged lines."""
    lines: list[str] = []
    for each in texts.values():
        lines += [text.replace("\n", " ") for text in each]
    whole = text_filter.redact("\n".join(lines), lambda _: None, script_records.patience())
    masked = whole.split("\n")
    if len(masked) != max(1, len(lines)):
        return {}
    shown = iter(masked)
    result = {}
    for name, each in texts.items():
        # The cut comes after masking, since half a secret matches no pattern.
        own = itertools.islice(shown, len(each))
        result[name] = [sanitizing.printable(line[:_MAX_TEXT]) for line in own]
    return result


def _within(texts: dict[str, list[str]], most: int) -> dict[str, list[str]]:
    """Returns the strings that fit into `most` bytes of JSON."""
    kept = {}
    for name, each in texts.items():
        fitting = _fitting(each, most)
        is_whole = len(fitting) == len(each)
        if is_whole or name in _CUT:
            kept[name] = fitting
            most -= len(orjson.dumps(fitting))
    return kept


def _fitting(texts: list[str], most: int) -> list[str]:
    """Returns the first strings that fit into `most` bytes."""
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
        time = found["time"]
        moment = datetime.datetime.fromisoformat(time)
        dated = msgspec.structs.replace(change, at=moment.timestamp())
        self.changes.append(dated)
        self.origins.append(_origin(found))
        self.times.append(str(time))


def sessions(records: Iterable[Mapping[str, Any]], *, planned: bool = False) -> list[Session]:
    """Returns each client's changes, oldest first; with `planned`, including plans that were not applied.

    Raises KeyError, TypeError or ValueError for a record of a different shape.
    """
    found: dict[tuple[str, str], Session] = {}
    plans: dict[str, tuple[Session, list[transcript.Change]]] = {}
    for one in records:
        key = (one.get("session", ""), one.get("context", ""))
        session = found.setdefault(key, Session())
        if one.get("type") == "plan":
            steps = [_change(step) for step in one["steps"]]
            plans[one["plan"]] = session, steps
            if planned:
                for step in steps:
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
    # A call that could not be parsed has no resource, and one that does not concern an object has a path.
    if "resource" not in one or "path" in one:
        return False
    if one["decision"] != "allow" or not 200 <= one["status"] < 300:
        return False
    return one["verb"] in _WRITES and one["group"] not in _QUESTIONS


def _take_step(steps: list[transcript.Change], one: Mapping[str, Any]) -> transcript.Change | None:
    """Removes from `steps` the first step that the call sends, and returns it."""
    for step in steps:
        if _is_same(step, one):
            steps.remove(step)
            return step
    return None


def _is_same(step: transcript.Change, one: Mapping[str, Any]) -> bool:
    """Says whether a call sends this step."""
    for name in _TARGET:
        # A creation has its object's name in the body, not in the call.
        is_named = name != "name" or one["name"]
        if is_named and getattr(step, name) != one[name]:
            return False
    return True


def _change_of_call(one: Mapping[str, Any]) -> transcript.Change:
    """Returns the change of a call without a plan: its target, and whether the object existed, as the status
    implies."""
    fields = {name: one[name] for name in _TARGET}
    # An apply that creates its object is answered with 201.
    fields["existed"] = one["verb"] != "create" and one["status"] != 201
    return _change(fields)


def _change(fields: Mapping[str, Any]) -> transcript.Change:
    """Returns the change that the fields of a record describe. Raises ValueError."""
    names = transcript.Change.__struct_fields__
    known = {name: fields[name] for name in names if name in fields}
    try:
        return msgspec.convert(known, transcript.Change)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None


def _origin(found: Mapping[str, Any]) -> str:
    """Returns the plan, script or tool of a record."""
    if found.get("plan"):
        return f"plan {found['plan']}"
    if found.get("script"):
        digest = str(found["script"])
        return f"script {digest[:8]}"
    origin = found.get("tool") or found.get("client") or "?"
    return str(origin)
