"""Which plans a person may see and decide on a server's page: their own, and those of `[[approvers]]`.

The settings in force decide anew with each request, so a reload takes rights away.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubescript import config, errors
from kubescript.auth import access_rules, user
from kubescript.changes import authors, plan
from kubescript.changes.rules import writes
from kubescript.fleet import directory, fleet

__all__ = ["check", "is_own", "may_decide", "may_see", "may_still_decide"]


def check(settings: config.Settings, person: user.User) -> None:
    """Raises AuthError if a person may not use the server at all."""
    access_rules.narrow(settings, person)


def may_see(settings: config.Settings, person: user.User, planned: plan.Plan) -> bool:
    """Says whether a person may see a plan."""
    return is_own(person, planned) or _covers(settings, person, planned)


def may_decide(settings: config.Settings, found: fleet.Fleet, person: user.User, planned: plan.Plan) -> bool:
    """Says whether a person may decide on a plan; `found` has the clusters that no setting lists."""
    # Attack: an author who may not plan any more approves the own plan as one of the approvers of others' plans.
    if is_own(person, planned):
        return _may_plan(settings, found, person, planned.context)
    return _covers(settings, person, planned)


def may_still_decide(settings: config.Settings, found: fleet.Fleet, known: plan.Identity, planned: plan.Plan) -> bool:
    """Says whether a person who was authenticated earlier may decide on a plan by now. Raises ConfigError."""
    try:
        person, _ = authors.find_rights(known, settings)
    except errors.PlanError:
        return False
    return may_decide(settings, found, person, planned)


def is_own(person: user.User, planned: plan.Plan) -> bool:
    """Says whether a person is a plan's author."""
    # Attack: a user of another issuer has the author's name, or the author has another name by now.
    is_same_account = bool(person.account) and planned.author.account == person.account
    return is_same_account or planned.author.person == person.person


def _may_plan(settings: config.Settings, found: fleet.Fleet, person: user.User, context: str) -> bool:
    """Says whether a person may still make plans for a cluster."""
    # Attack: a person whose right to make plans was taken away approves one from before.
    own = access_rules.narrow(settings, person)
    if not context:
        return "plan" in own.modes
    known = directory.Directory(own, found)
    entry = known.find(context)
    return entry is not None and known.settings_of(entry).mode == "plan"


def _covers(settings: config.Settings, person: user.User, planned: plan.Plan) -> bool:
    """Says whether the tables for a person cover all that a plan changes."""
    context = planned.context or _find_context(settings)
    patterns = list(_patterns(settings, person, context))
    namespaces = {step.reach for step in planned.steps}
    return bool(namespaces) and all(writes.covers(namespace, patterns) for namespace in namespaces)


def _find_context(settings: config.Settings) -> str:
    """Returns the context of plans that do not name it; an empty string if the server has several."""
    if settings.is_several:
        return ""
    return next(iter(settings.context_names), settings.context or "")


def _patterns(settings: config.Settings, person: user.User, context: str) -> Iterator[str]:
    """Yields the namespaces of all tables for a person in a cluster."""
    for table in settings.approvers:
        if access_rules.is_for(table, person) and (table.contexts is None or context in table.contexts):
            yield from table.namespaces
