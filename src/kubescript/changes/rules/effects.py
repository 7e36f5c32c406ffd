"""The policy on a write's effects, which a masking process finds in its dry run. It does no I/O.

`writes` has judged the request before. No part of a reason comes from the cluster, since a denial is presented as
kubescript's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from kubescript import config
from kubescript.changes.rules import table, writes
from kubescript.kube import images, selectors
from kubescript.policy import decisions
from kubescript.request import request
from kubescript.wire import inspection

__all__ = ["Findings", "Notice", "findings", "is_count_within", "list_counts"]

_COUNTS: Final = frozenset({"replicas", "minReplicas", "maxReplicas", "parallelism"})
"""The fields with a number of pods, or with the bounds of a HorizontalPodAutoscaler."""
_LEVELS: Final[Mapping[str, Literal["warning", "critical"]]] = {"warn": "warning", "critical": "critical"}
"""Maps the levels in settings to those of findings."""
_MOST_SHOWN: Final = 1_000
"""How many characters of names a notice has."""
_WHOLE: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Notice:
    """A rule's message to the people who approve a write."""

    rule: str
    message: str
    level: Literal["warning", "critical"] = "warning"
    """A critical notice blocks a plan unless the approver overrides it."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The rules' findings on a write's changes."""

    denials: tuple[decisions.Decision, ...] = ()
    notices: tuple[Notice, ...] = ()


def findings(
    call: request.Request, changes: inspection.Changes, rules: writes.Policy, *, replaces: bool = False
) -> Findings:
    """Returns the rules' findings on the changes shown by the dry run of `call`; `replaces` says whether it creates an
    object in place of one that the same plan deletes.

    `changes.before` describes the object itself, even if the call is for a subresource.
    """
    denials = [
        *_deny_creation(call, changes, rules),
        *_targets(call, changes, rules, replaces=replaces),
        *_counts(changes, rules),
        *_images(changes, rules),
        *_risks(changes),
    ]
    notices = [*_hidden(changes), *_list_taken(changes)]
    for rule in _list_rules(call, changes):
        level = rules.level(rule)
        if level == "refuse":
            denials.append(writes.by(rule))
        elif level != "allow":
            notices.append(Notice(rule.id, rule.notice, _LEVELS[level]))
    for own, text in _objections(call, changes, rules):
        name = f"writes.expressions.{own.id}"
        if own.action == "deny" or (own.action == "critical" and not rules.is_read):
            denials.append(_deny(name, text, ""))
        else:
            notices.append(Notice(name, text, _LEVELS[own.action]))
    return Findings(tuple(denials), tuple(notices))


def _list_rules(call: request.Request, changes: inspection.Changes) -> Iterator[table.Rule]:
    """Yields the built-in rules that cover a write and its changes."""
    operation = writes.operation(call, exists=changes.before is not None)
    found = set(changes.risks)
    for rule in table.RULES:
        is_covered = operation in rule.operations and rule.is_about(call)
        if is_covered or found.intersection(rule.risks):
            yield rule


def _deny_creation(
    call: request.Request, changes: inspection.Changes, rules: writes.Policy
) -> Iterator[decisions.Decision]:
    """Denies an apply that creates its object if only changes are permitted."""
    if changes.before is None and changes.after is not None:
        denied = writes.check_verb(call, "create", rules)
        if denied is not None:
            yield denied


def _targets(
    call: request.Request, changes: inspection.Changes, rules: writes.Policy, *, replaces: bool
) -> Iterator[decisions.Decision]:
    matches = selectors.labels(rules.targets)
    is_new = changes.before is None and not replaces
    if matches is None or is_new:
        return
    # Attack: a change, or the replacement of an object, removes the label, so that the object is no longer covered by
    # the rule. A Scale has no labels.
    after = None if call.subresource else changes.after
    states = [state for state in (changes.before, after) if state is not None]
    documents = [{"metadata": {"labels": state.labels}} for state in states]
    if not all(map(matches, documents)):
        yield _deny("writes.targets", f"only objects with {rules.targets} may be changed", "leave this one as it is")


def _counts(changes: inspection.Changes, rules: writes.Policy) -> Iterator[decisions.Decision]:
    least, most = rules.replicas
    for text in list_counts(changes):
        if not is_count_within(text, least, most):
            yield _deny("writes.replicas", f"{least} to {most} replicas are permitted", "choose such a whole number")
            return


def is_count_within(text: str, least: int, most: int) -> bool:
    """Says whether one of `list_counts` is a whole number in this range."""
    # Attack: a custom resource accepts a number as a string, or as 1e9.
    is_number = _WHOLE.fullmatch(text) is not None
    return is_number and least <= int(text) <= most


def list_counts(changes: inspection.Changes) -> Iterator[str]:
    """Yields the numbers of pods that a change sets, as JSON text."""
    for row in changes.rows:
        if row.new is not None and _is_count(row.path):
            yield row.new
    if changes.after is None or changes.after.replicas is None:
        return
    before = changes.before.replicas if changes.before is not None else None
    if changes.after.replicas != before:
        yield str(changes.after.replicas)


def _is_count(path: str) -> bool:
    """Says whether a field is a number of pods."""
    # Attack: a masker that was taken over sends a path of 8 MiB, of which a list of fields would take 160 MiB.
    first, _, _ = path.partition(".")
    _, _, last = path.rpartition(".")
    return first.startswith("spec") and last in _COUNTS


def _images(changes: inspection.Changes, rules: writes.Policy) -> Iterator[decisions.Decision]:
    if not rules.registries or changes.after is None:
        return
    # An image that the object already has is not an effect of this write.
    old = changes.before.images if changes.before is not None else ()
    new = [image for image in changes.after.images if image not in old]
    if not all(images.is_from(image, rules.registries) for image in new):
        yield _deny("writes.registries", f"images come from {writes.some(rules.registries)}", "choose such an image")


def _risks(changes: inspection.Changes) -> Iterator[decisions.Decision]:
    # Attack: a compromised masking process invents a risk that no rule covers.
    if set(changes.risks).difference(inspection.RISKS):
        yield _deny("writes.risks", "the change has a risk that is not known", writes.COMMAND)


def _hidden(changes: inspection.Changes) -> Iterator[Notice]:
    """Yields what approvers must know about new text that masks hide."""
    rows = [row for row in changes.rows if row.hidden_lines]
    # The approver sees what the request brings in the request's own words. Attack: a webhook or a default adds code
    # that looks like a secret, and neither the request nor the plan tells what it is.
    unseen = [row for row in rows if row.brought is None]
    seen = [row for row in rows if row.brought is not None]
    if unseen:
        text = f"masks hide new text that no approver can read: {_extent(unseen)}"
        yield Notice("writes.hidden", text, "critical")
    if seen:
        text = (
            f"new text looks like secrets; it is shown here, and the record and the model have masks: {_extent(seen)}"
        )
        yield Notice("writes.hidden", text)


def _list_taken(changes: inspection.Changes) -> Iterator[Notice]:
    """Yields what approvers must know about the fields that other managers lose."""
    for each in changes.taken:
        fields = "1 field" if each.count == 1 else f"{each.count:,} fields"
        shown = ", ".join(each.fields)
        if each.count > len(each.fields) or len(shown) > _MOST_SHOWN:
            shown = f"{shown[:_MOST_SHOWN]} …"
        # Unlike a denial, a notice may have words of the cluster: approvers see them as such.
        yield Notice("writes.force", f"takes {fields} from the manager {each.manager[:_MOST_SHOWN]}: {shown}")


def _extent(rows: Sequence[inspection.Row]) -> str:
    """Returns the extent of what masks hide: `fields 2, lines 3, bytes 120`."""
    lines = sum(row.hidden_lines for row in rows)
    size = sum(row.hidden_bytes for row in rows)
    return f"fields {len(rows):,}, lines {lines:,}, bytes {size:,}"


def _objections(
    call: request.Request, changes: inspection.Changes, rules: writes.Policy
) -> Iterator[tuple[config.Expression, str]]:
    """Yields the operator's rules that apply to this change and are violated, with their messages."""
    known = {rule.id: rule for rule in rules.expressions}
    operation = writes.operation(call, exists=changes.before is not None)
    resource = writes.resource(call)
    for objection in changes.objections:
        # The masking processes evaluate all rules of all clusters.
        rule = known.get(objection.rule)
        if rule is None or operation not in rule.operations:
            continue
        if not rule.resources or resource in rule.resources:
            yield rule, objection.message


def _deny(rule: str, reason: str, instead: str) -> decisions.Decision:
    return decisions.Decision("deny", rule, reason, instead)
