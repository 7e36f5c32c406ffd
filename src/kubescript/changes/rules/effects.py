"""The policy on a write's effects, which a masking process finds in its dry run. It does no I/O.

`writes` has judged the request before. No text of a reason comes from the cluster, since a denial is presented as
kubescript's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kubescript import config
from kubescript.changes.rules import images, writes
from kubescript.kube import selectors
from kubescript.policy import policy
from kubescript.request import request
from kubescript.wire import inspection

__all__ = ["Findings", "Notice", "findings"]

_COUNTS: Final = frozenset({"replicas", "minReplicas", "maxReplicas", "parallelism"})
"""Fields with a number of pods, or with the bounds of a HorizontalPodAutoscaler."""
_WHOLE: Final = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Notice:
    """A rule's message to the people who approve a write."""

    rule: str
    message: str


@dataclass(frozen=True, slots=True)
class Findings:
    """The rules' findings on a write's changes."""

    denials: tuple[policy.Decision, ...] = ()
    notices: tuple[Notice, ...] = ()


def findings(call: request.Request, changes: inspection.Changes, rules: writes.Policy) -> Findings:
    """Returns the rules' findings on the changes shown by the dry run of `call`.

    `changes.before` describes the object itself, even if the call is for a subresource.
    """
    objections = list(_objections(call, changes, rules))
    denials = (
        *_deny_creation(call, changes, rules),
        *_targets(call, changes, rules),
        *_counts(changes, rules),
        *_images(changes, rules),
        *_risks(changes, rules),
        *(_deny(_name(rule), text, "") for rule, text in objections if rule.action == "deny"),
    )
    notices = tuple(Notice(_name(rule), text) for rule, text in objections if rule.action == "warn")
    return Findings(denials, notices)


def _deny_creation(
    call: request.Request, changes: inspection.Changes, rules: writes.Policy
) -> Iterator[policy.Decision]:
    """Denies an apply that creates its object if only changes are permitted."""
    if changes.before is None and changes.after is not None:
        denied = writes.check_verb(call, "create", rules)
        if denied is not None:
            yield denied


def _targets(call: request.Request, changes: inspection.Changes, rules: writes.Policy) -> Iterator[policy.Decision]:
    matches = selectors.labels(rules.targets)
    if matches is None or changes.before is None:
        return
    states = [changes.before]
    # Attack: a change removes the label, so that the object is no longer covered by it. A Scale has no labels.
    if changes.after is not None and not call.subresource:
        states.append(changes.after)
    if not all(matches({"metadata": {"labels": state.labels}}) for state in states):
        yield _deny("writes.targets", f"only objects with {rules.targets} may be changed", "leave this one as it is")


def _counts(changes: inspection.Changes, rules: writes.Policy) -> Iterator[policy.Decision]:
    least, most = rules.replicas
    texts = [row.new for row in changes.rows if row.new is not None and _is_count(row.path)]
    before = changes.before.replicas if changes.before is not None else None
    if changes.after is not None and changes.after.replicas not in {None, before}:
        texts.append(str(changes.after.replicas))
    # Attack: a custom resource accepts a number as text, or as 1e9.
    if not all(_WHOLE.fullmatch(text) and least <= int(text) <= most for text in texts):
        yield _deny("writes.replicas", f"{least} to {most} replicas are permitted", "choose such a whole number")


def _is_count(path: str) -> bool:
    first, last = path.partition(".")[0], path.rpartition(".")[2]
    return first.startswith("spec") and last in _COUNTS


def _images(changes: inspection.Changes, rules: writes.Policy) -> Iterator[policy.Decision]:
    if not rules.registries or changes.after is None:
        return
    old = changes.before.images if changes.before is not None else ()
    if not all(images.is_from(image, rules.registries) for image in changes.after.images if image not in old):
        yield _deny("writes.registries", f"images come from {writes.some(rules.registries)}", "choose such an image")


def _risks(changes: inspection.Changes, rules: writes.Policy) -> Iterator[policy.Decision]:
    found = set(changes.risks)
    for rule in writes.RULES:
        if found.intersection(rule.risks) and rule.id not in rules.permit:
            yield writes.by(rule)
    if found.difference(inspection.RISKS):
        yield _deny("writes.risks", "the change has a risk that is not known", writes.COMMAND)


def _objections(
    call: request.Request, changes: inspection.Changes, rules: writes.Policy
) -> Iterator[tuple[config.Expression, str]]:
    """Yields the operator's rules that apply to this change and are violated, with their messages."""
    known = {rule.id: rule for rule in rules.expressions}
    operation = writes.operation(call, exists=changes.before is not None)
    for objection in changes.objections:
        # The masking processes evaluate all rules of all clusters.
        rule = known.get(objection.rule)
        if rule is None or operation not in rule.operations:
            continue
        if not rule.resources or writes.resource(call) in rule.resources:
            yield rule, objection.message


def _name(rule: config.Expression) -> str:
    return f"writes.expressions.{rule.id}"


def _deny(rule: str, reason: str, instead: str) -> policy.Decision:
    return policy.Decision("deny", rule, reason, instead)
