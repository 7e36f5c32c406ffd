"""The safety rules' findings on a plan. The planner asks before the plan is shown to a person.

The steps become a transcript of changes. The fields that a request names are read from its body, which is the script's
own text and has been checked; bytes from the cluster are read only after a masking process has processed them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from kubescript import errors
from kubescript.changes import plan
from kubescript.changes.rules.conduct import configuration, creation, rules, transcript
from kubescript.kube import documents, field_paths
from kubescript.wire import inspection

__all__ = ["change_of", "from_plan", "review"]

_FINALIZERS: Final = "metadata.finalizers"
_IGNORED: Final = (
    "metadata.creationTimestamp", "metadata.generation", "metadata.managedFields", "metadata.selfLink", "status",
)  # fmt: skip
_VERSION: Final = "metadata.resourceVersion"
_REPLICAS: Final = "spec.replicas"
_MAX_DIGITS: Final = 10


def review(steps: Sequence[plan.Step], settings: configuration.Configuration) -> list[tuple[plan.Finding, ...]]:
    """Returns the rules' findings for each step of a plan."""
    found: list[list[plan.Finding]] = [[] for _ in steps]
    changes = from_plan(steps)
    judgement = rules.judge(changes, settings)
    for each in judgement.findings:
        finding = plan.Finding(each.rule, each.severity, each.message)
        found[each.change].append(finding)
    return [tuple(each) for each in found]


def from_plan(steps: Sequence[plan.Step]) -> transcript.Transcript:
    """Returns the changes of a plan."""
    changes = map(change_of, steps)
    return transcript.Transcript(tuple(changes))


def change_of(step: plan.Step) -> transcript.Change:
    """Returns one step in the form that the rules need."""
    body = json.loads(step.request.body) if step.request.body else None
    existed = step.precondition is not None
    state = step.state
    change = transcript.Change(
        verb=step.verb,
        group=step.group,
        version=step.version,
        resource=step.resource,
        subresource=step.subresource,
        namespace=step.namespace,
        name=step.name,
        content_type=step.request.content_type,
        existed=existed,
        healthy=state.healthy if state is not None else None,
        running=state.running if state is not None else None,
        terminating=state.terminating if state is not None else None,
        labels=step.labels if existed else documents.labels(body),
        owners=_owners(state),
        uses=step.pods.references if step.pods is not None else (),
        images=step.images or None,
    )
    if change.removes:
        return msgspec.structs.replace(change, orphans=documents.orphans(body))
    return _with_content(change, step, body)


def _with_content(change: transcript.Change, step: plan.Step, body: Any) -> transcript.Change:
    """Adds the request's contents and effects."""
    rows = [row for row in step.rows if not row.by_server]
    named = _name_fields(body)
    if not step.subresource:
        named = tuple(path for path in named if not _is_ignored(path))
    dropped: tuple[str, ...] = ()
    if change.method in {"apply", "replace"}:
        dropped = tuple(row.path for row in rows if row.new is None)
    purpose = ""
    if not change.existed:
        values = {row.path: row.new for row in step.rows if row.new is not None}
        purpose = creation.purpose(change.group, change.resource, values)
    return msgspec.structs.replace(
        change,
        fields=tuple(row.path for row in rows),
        named=named,
        dropped=dropped,
        replicas=_replicas(step, body),
        new_images=tuple(_images(step.rows)),
        finalizers=_find_removed_finalizers(step.rows),
        locked=_VERSION in named,
        purpose=purpose,
    )


def _replicas(step: plan.Step, body: Any) -> int | None:
    """Returns the number of replicas after the step; if it does not change, the number that the request names."""
    # Attack: a request scales to zero by leaving the number out, or by a patch of all of `spec`.
    for row in step.rows:
        if row.path == _REPLICAS and row.new is not None and row.new.isdecimal():
            return int(row.new[:_MAX_DIGITS])
    return documents.replicas(body)


def _owners(state: inspection.State | None) -> tuple[str, ...] | None:
    """Returns the object's controller, if it has one; None if that is unknown."""
    if state is None:
        return None
    if not state.owner:
        return ()
    return (state.owner,)


def _name_fields(body: Any) -> tuple[str, ...]:
    try:
        return field_paths.list_named(body)
    except field_paths.TooManyError:
        # Attack: the paths of many fields below long keys would fill the host's memory.
        raise errors.PlanError(
            "a request names more fields than a person can read; change fewer of them", code="plan.too_large"
        ) from None


def _is_ignored(path: str) -> bool:
    """Says whether the API server ignores the field. Every object that a script has read has such fields."""
    return any(field_paths.covers(field, path) for field in _IGNORED)


def _images(rows: Sequence[inspection.Row]) -> Iterator[str]:
    """Yields the images that a change sets."""
    for row in rows:
        if row.new is None:
            continue
        path = field_paths.plain(row.path)
        if path.endswith("ontainers.image"):
            yield row.new.strip('"')


def _find_removed_finalizers(rows: Sequence[inspection.Row]) -> tuple[str, ...]:
    # The rows of list items are numbered, and the items move up when one is removed. So the values are compared, not
    # the rows.
    before, after = set(), set()
    for row in rows:
        if field_paths.plain(row.path) != _FINALIZERS:
            continue
        if row.old is not None:
            before.add(row.old.strip('"'))
        if row.new is not None:
            after.add(row.new.strip('"'))
    removed = before - after - {"[]"}
    return tuple(sorted(removed))
