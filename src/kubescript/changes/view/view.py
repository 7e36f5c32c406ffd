"""A plan as a person sees it: the page shows it, and `plain` writes it for a terminal or a client's question."""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from kubescript.changes import plan
from kubescript.changes.store import record
from kubescript.changes.view import characters, comparisons, lookalikes, model, rows
from kubescript.kube import paths

__all__ = ["client", "findings", "moment", "of", "summary"]

_TITLES: Final[Mapping[record.State, str]] = {
    "pending": "Waits for a decision",
    "approved": "Approved, and about to be applied",
    "applying": "Being applied",
    "applied": "Applied",
    "declined": "Declined: nothing was changed",
    "expired": "Expired: nothing was changed",
    "stopped": "Stopped before its end",
}
_NAMES: Final = {
    "server": "",
    "impersonate": ", in whose name it is sent",
    "caller": ", whose next call after the approval sends it, with its own token",
}
"""In whose name a plan is sent, by `plan.Identity.acts_as`."""
_MOST_NAMESPACES: Final = 3
"""How many namespaces the sentence names."""
_MOST_NAMED: Final = 100
"""How many characters of a client's name are shown."""
_NTH: Final = ("first", "second", "third")


def of(entry: record.Record, now: float | None = None) -> model.View:
    """Returns a plan for display, as it is at the time `now` in seconds since the epoch."""
    one = entry.plan
    found = findings(one)
    # Critical findings block the plan, so they should be read first.
    critical_first = sorted(found, key=lambda finding: not finding.is_critical)
    return model.View(
        summary=summary(entry, now),
        hash=one.hash,
        findings=tuple(critical_first),
        changes=tuple(_changes(entry, found)),
        reads=tuple(map(characters.show, one.reads)),
        approvals=one.approvals,
        outcome=characters.show(entry.text),
        script=characters.show(one.script),
        runbook=tuple(_runbook(one.runbook)),
    )


def summary(entry: record.Record, now: float | None = None) -> model.Summary:
    """Returns a plan's entry in a list, as it is at the time `now` in seconds since the epoch."""
    if now is None:
        now = time.time()
    one = entry.plan
    state = entry.state
    if state == "pending" and now >= one.expires:
        state = "expired"
    return model.Summary(
        id=one.id,
        state=state,
        title=_title(one, state),
        sentence=tuple(_sentence(one, state, now)),
        opinions=tuple(map(_opinion, entry.decisions)),
        created=moment(one.created),
    )


def _title(one: plan.Plan, state: record.State) -> str:
    if state == "approved" and one.author.brings_token:
        return "Approved: its author's next call applies it"
    return _TITLES[state]


def findings(one: plan.Plan) -> list[model.Finding]:
    """Returns the rules' findings, in order, each identified by its position; what a rule says of several changes
    stands once."""
    places = defaultdict(list)
    for at, step in enumerate(one.steps, 1):
        place = model.Place(at, characters.show(step.target))
        for said in dict.fromkeys((each.rule, each.level, each.message) for each in step.findings):
            places[said].append(place)
    return [
        model.Finding(
            number=number,
            rule=characters.show(rule),
            rule_id=rule,
            is_critical=level == "critical",
            message=characters.show(message),
            places=tuple(found),
        )
        for number, ((rule, level, message), found) in enumerate(places.items())
    ]


def moment(seconds: float) -> str:
    """Returns a time in UTC, accurate to the minute."""
    at = datetime.fromtimestamp(seconds, UTC)
    return at.strftime("%Y-%m-%d %H:%M UTC")


def client(author: plan.Author) -> str:
    """Returns the client of an author, by the name that it gives itself, in quotes."""
    # Attack: a client's name goes on as if these were kubescript's own words: `cron, made by runbook restart-web`.
    name = author.client[:_MOST_NAMED]
    more = "…" if len(author.client) > len(name) else ""
    return f"client {json.dumps(name)}{more}" if name else "a client without a name"


def _runbook(used: plan.Runbook | msgspec.UnsetType) -> Iterator[characters.Shown]:
    """Yields the runbook that has made a plan, and each of its arguments."""
    if not used:
        return
    yield characters.show(f"{used.name}, SHA-256 {used.sha256}")
    for name, value in used.arguments.items():
        # JSON's quotes show where a value begins and ends.
        yield characters.show(f"{name} = {json.dumps(value, ensure_ascii=False)}")


def _names(one: plan.Plan) -> Iterator[str]:
    for step in one.steps:
        yield step.name
        if step.namespace:
            yield step.namespace


def _sentence(one: plan.Plan, state: record.State, now: float) -> Iterator[str | characters.Shown]:
    """Yields, for example: 5 changes to 4 objects in namespace shop of cluster kind-dev, asked for by client
    "claude-code", expires in 12 minutes."""
    changes = model.count(len(one.steps), "change")
    keys = {step.key for step in one.steps}
    objects = model.count(len(keys), "object")
    yield f"{changes} to {objects} "
    namespaces = {step.namespace for step in one.steps}
    yield from _where(namespaces)
    yield "of cluster "
    yield characters.show(one.place or one.context or one.cluster)
    yield ", asked for by "
    yield from _author(one.author)
    if one.runbook:
        yield ", made by runbook "
        yield characters.show(one.runbook.name)
    yield _NAMES[one.author.identity.acts_as if one.author.identity else "server"]
    if one.approvals > 1:
        yield f", needs the approval of {one.approvals} people, of whom none has made it"
    if state == "pending":
        yield f", expires in {_duration(one.expires - now)}"


def _where(namespaces: set[str]) -> Iterator[str | characters.Shown]:
    """Yields the part of the sentence that names the namespaces."""
    named = sorted(namespaces - {""})
    if len(named) > _MOST_NAMESPACES:
        yield f"in {len(named)} namespaces "
    elif named:
        yield "in namespace " if len(named) == 1 else "in namespaces "
        first, *others = named
        yield characters.show(first)
        for namespace in others:
            yield ", "
            yield characters.show(namespace)
        yield " "
    if "" in namespaces:
        yield "and outside namespaces " if named else "outside namespaces "


def _author(author: plan.Author) -> Iterator[str | characters.Shown]:
    """Yields the part of the sentence that names the author."""
    yield characters.show(client(author))
    if author.tool:
        yield " with "
        yield characters.show(author.tool)
    if author.user:
        yield " for "
        yield characters.show(author.user)


def _duration(seconds: float) -> str:
    """Returns the remaining time in the largest fitting unit."""
    if seconds < 60:
        return model.count(int(seconds), "second")
    if seconds < 2 * 3600:
        return model.count(int(seconds // 60), "minute")
    return model.count(int(seconds // 3600), "hour")


def _changes(entry: record.Record, found: Iterable[model.Finding]) -> Iterator[model.Change]:
    imitated = lookalikes.between_names(_names(entry.plan))
    compared = comparisons.Comparisons()
    of_change = defaultdict(list)
    for finding in found:
        for place in finding.places:
            of_change[place.change].append(finding)
    turns = _turns(entry.plan.steps)
    for index, step in enumerate(entry.plan.steps):
        application = record.Application()
        if index < len(entry.steps):
            application = entry.steps[index]
        number = index + 1
        turn = next(turns)
        yield rows.change(number, step, turn, of_change[number], application, imitated, compared)


def _turns(steps: Iterable[plan.Step]) -> Iterator[str]:
    """Yields for each step its position among the changes to its object."""
    # Attack: if two patches look the same, nobody reads the second one.
    counts = Counter(step.key for step in steps)
    seen: Counter[paths.Key] = Counter()
    for step in steps:
        key = step.key
        seen[key] += 1
        turn = seen[key]
        nth = f"number {turn}" if turn > len(_NTH) else _NTH[turn - 1]
        text = f"{nth} of {counts[key]} changes to this object"
        yield text if counts[key] > 1 else ""


def _opinion(decision: record.Decision) -> model.Opinion:
    return model.Opinion(
        verdict=_verdict(decision),
        approver=characters.show(decision.approver),
        channel=decision.channel,
        at=moment(decision.at),
        reason=characters.show(decision.reason),
        overrides=tuple(map(characters.show, decision.overrides)),
    )


def _verdict(decision: record.Decision) -> str:
    if not decision.approves:
        return "declined"
    return "approved" if decision.counts else "no longer approved"
