"""What the steps of a plan mean beyond their own objects: the rules' findings, and the effects on other objects.

The effects are found by one of kubescript's scripts in the sandbox, since it reads many objects of the cluster. The
script's answer is hostile, since it contains names from the cluster: only lines of text, and findings of known rules,
are taken from it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from kubescript import contexts
from kubescript.broker import operation
from kubescript.changes import claims, needs, nodes, plan, pods, scripts
from kubescript.kube import documents
from kubescript.wire import inspection
from kubescript_sandbox import runs

__all__ = ["Assessor", "Review", "Run"]

Run = Callable[[str, operation.Operation, contexts.Contexts], tuple[runs.Outcome, Callable[[str], str]]]
"""A function that runs one of kubescript's scripts on these clusters; returns its outcome, and the function that makes
strings of the result fit for display."""
Review = Callable[[Sequence[plan.Step]], Sequence[tuple[plan.Finding, ...]]]
"""A function that returns the rules' findings for each step."""

_UNKNOWN: Final = "writes.effects"
"""The rule of the finding that effects could not be found out."""
_RULES: Final = frozenset(
    {claims.RULE, "writes.endpoints", "writes.evicted", "writes.new_registry", "writes.undone", "writes.used"}
)
"""The rules that the script may report."""
_MAX_LINES: Final = 30
"""The maximum number of lines, and of findings, for one step."""
_MAX_LINE: Final = 400
_MAX_AFFECTED: Final = 500
"""The maximum number of effects of one step that are compared."""
_MAX_UIDS: Final = 1_000
_MAX_UID: Final = 36
_POLICIES: Final = frozenset({"orphanDependents", "propagationPolicy"})
"""The options of a deletion that say what becomes of the dependents."""
_ORPHANS_BY_DEFAULT: Final = frozenset({("", "replicationcontrollers"), ("batch", "jobs")})
"""Resources whose dependents the API server spares where a deletion does not say otherwise."""
_FIELDS: Final = ("group", "version", "resource", "subresource", "namespace", "name", "verb", "kind")
_IMAGES: Final = ("images", "new_images")
_PODS: Final = ("pods", "new_pods")


class _Remark(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A finding, as the script reports it."""

    rule: str
    level: Literal["warning", "critical"]
    message: str
    about: str = ""


class _Effects(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the script reports about one step."""

    effects: tuple[str, ...]
    findings: tuple[_Remark, ...]
    affected: tuple[plan.Affected, ...] = ()


@dataclass(frozen=True, slots=True)
class _Looked:
    """What the script has found of one step, fit for display."""

    findings: tuple[plan.Finding, ...]
    lines: tuple[str, ...] = ()
    affected: tuple[plan.Affected, ...] = ()


@dataclass(frozen=True, slots=True)
class Assessor:
    """Assesses the steps of plans for one cluster. Safe for use from many threads."""

    run: Run
    context: str
    """The cluster's name among the operator's contexts; empty if there is only one."""
    clusters: contexts.Contexts
    """The cluster under that name, and no other one."""
    review: Review

    def assess(self, steps: Sequence[plan.Step], operation: operation.Operation) -> tuple[plan.Step, ...]:
        """Returns the steps with the findings of the rules, their effects, and the findings on these."""
        judged = self.judge(steps)
        on_pods = pods.describe(steps)
        on_others = needs.describe(steps)
        told = []
        for step, first, last in zip(judged, on_pods, on_others, strict=True):
            effects = first + nodes.describe(step) + last
            told.append(msgspec.structs.replace(step, effects=effects))
        return self.look(told, operation)

    def judge(self, steps: Sequence[plan.Step]) -> tuple[plan.Step, ...]:
        """Returns the steps with the findings of the rules added. Calls no cluster."""
        judged = []
        for step, found, lost in zip(steps, self.review(steps), claims.judge(steps), strict=True):
            judged.append(msgspec.structs.replace(step, findings=step.findings + found + lost))
        return tuple(judged)

    def look(self, steps: Sequence[plan.Step], operation: operation.Operation) -> tuple[plan.Step, ...]:
        """Returns the steps with their effects on other objects, and the findings on these added. Most plans cost no
        run of the script, and others one for each namespace."""
        by_namespace: defaultdict[str, list[int]] = defaultdict(list)
        for index, step in enumerate(steps):
            if _has_effects(step):
                by_namespace[step.namespace].append(index)
        looked = list(steps)
        # Attack: deletions in forty namespaces take all the calls that one run may make, so that it finds no outage.
        for indexes in by_namespace.values():
            asked = [steps[index] for index in indexes]
            for index, found in zip(indexes, self._look(asked, operation), strict=True):
                looked[index] = _add(steps[index], found)
        return tuple(looked)

    def _look(self, steps: Sequence[plan.Step], operation: operation.Operation) -> list[_Looked]:
        """Returns what the script finds of each of some steps."""
        changes = [_describe(step) for step in steps]
        cluster = scripts.cluster(self.context)
        # Attack: the name of an object is code. The `repr` of these values is a Python literal, so no string in them
        # becomes code.
        script = f"{cluster}.tools.plan_effects(changes={changes!r})"
        outcome, clean = self.run(script, operation.aside(), self.clusters)
        return _read(outcome, len(steps), clean)


def _has_effects(step: plan.Step) -> bool:
    """Says whether a step may affect other objects, so that the script has to look for them."""
    return step.removes or pods.affects_others(step) or bool(step.evicting)


def _describe(step: plan.Step) -> dict[str, Any]:
    """Returns a step as the script needs it."""
    change: dict[str, Any] = {field: getattr(step, field) for field in _FIELDS}
    change |= {field: list(getattr(step, field)) for field in _IMAGES}
    change |= {field: _without_references(getattr(step, field)) for field in _PODS}
    change["taints"] = [msgspec.to_builtins(taint) for taint in step.evicting]
    change["uid"] = step.precondition.uid if step.precondition is not None else ""
    change["orphans"] = _orphans(step)
    return change


def _without_references(pods: inspection.Pods | None) -> Any:
    """Returns what an object says about pods as the script needs it."""
    if pods is None:
        return None
    return msgspec.to_builtins(msgspec.structs.replace(pods, references=()))


def _orphans(step: plan.Step) -> bool:
    """Says whether a step deletes its object and spares the dependents."""
    if not step.removes:
        return False
    options = json.loads(step.request.body or "{}")
    if step.subresource == "eviction":
        options = documents.mapping(options, "deleteOptions")
    if _POLICIES & options.keys():
        return documents.orphans(options)
    if step.orphans is not None:
        return step.orphans
    return (step.group, step.resource) in _ORPHANS_BY_DEFAULT


def _add(step: plan.Step, found: _Looked) -> plan.Step:
    """Returns a step with what the script has found."""
    findings = step.findings + found.findings
    lines = step.effects + found.lines
    return msgspec.structs.replace(step, findings=findings, effects=lines, affected=found.affected)


def _read(outcome: runs.Outcome, count: int, clean: Callable[[str], str]) -> list[_Looked]:
    """Returns what the script has found of each step, with texts made fit for display by `clean`."""
    if outcome.fault is not None:
        return [_explain_unknown(outcome.fault.code)] * count
    try:
        found = msgspec.json.decode(outcome.result or b"", type=tuple[_Effects, ...])
    except msgspec.MsgspecError:
        return [_explain_unknown("no answer")] * count
    known = all(remark.rule in _RULES for each in found for remark in each.findings)
    if len(found) != count or not known:
        return [_explain_unknown("no answer")] * count
    return [_clean(each, clean) for each in found]


def _explain_unknown(reason: str) -> _Looked:
    """Returns the finding that the effects of a step are unknown."""
    # Attack: a plan makes the search for its effects fail, so that what is critical in it is only unknown.
    return _Looked((plan.Finding(_UNKNOWN, "critical", f"what it affects could not be found out ({reason})"),))


def _clean(found: _Effects, clean: Callable[[str], str]) -> _Looked:
    """Returns what the script has found, bounded, with texts made fit for display."""
    findings = tuple(_list_findings(found, clean))
    lines = tuple(map(clean, _list_lines(found.effects)))
    affected = []
    for each in found.affected[:_MAX_AFFECTED]:
        what = clean(_shorten(each.what))
        uids = tuple(uid[:_MAX_UID] for uid in each.uids[:_MAX_UIDS])
        affected.append(plan.Affected(what, each.count, uids, each.left))
    return _Looked(findings, lines, tuple(affected))


def _list_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yields as many lines as a person can read, and the number of the others."""
    for line in lines[:_MAX_LINES]:
        yield _shorten(line)
    more = len(lines) - _MAX_LINES
    if more > 0:
        yield f"… and {more} more"


def _list_findings(found: _Effects, clean: Callable[[str], str]) -> Iterator[plan.Finding]:
    """Yields as many findings as a person can read, the critical ones first, and the number of the others."""
    remarks = sorted(found.findings, key=lambda remark: remark.level)
    for remark in remarks[:_MAX_LINES]:
        message = clean(_shorten(remark.message))
        about = clean(_shorten(remark.about))
        yield plan.Finding(remark.rule, remark.level, message, about)
    rest = remarks[_MAX_LINES:]
    if rest:
        yield plan.Finding(rest[0].rule, rest[0].level, f"… and {len(rest)} more findings")


def _shorten(line: str) -> str:
    return line if len(line) <= _MAX_LINE else line[:_MAX_LINE] + " …"
