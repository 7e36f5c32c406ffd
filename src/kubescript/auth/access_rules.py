"""A caller's rights, from the first of the `[[access]]` tables that matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from kubescript import config, errors
from kubescript.auth import user
from kubescript.kube import selectors, wildcards
from kubescript.output import sanitizing

__all__ = ["describe", "is_for", "matches", "narrow", "reduce", "scopes"]

_MAX_SHOWN: Final = 500
"""How many characters of a list of names a refusal shows."""


def narrow(settings: config.Settings, caller: user.User) -> config.Settings:
    """Returns the settings narrowed to this caller. Raises AuthError when no table matches."""
    if not settings.access:
        return settings
    fitting = (rule for rule in settings.access if is_for(rule, caller) and caller.scopes.issuperset(rule.scopes))
    rule = next(fitting, None)
    if rule is None:
        groups = _shorten(caller.groups) or "none"
        raise errors.AuthError(
            f"none of this server's [[access]] tables fits {caller.label} (groups: {groups}); its operator can add one",
            code="auth.access",
        )
    updates: dict[str, object] = {"access": ()}
    if rule.toolsets is not None:
        kept = [name for name in settings.toolsets if name in rule.toolsets]
        updates["toolsets"] = tuple(kept)
    updates |= _contexts(settings, rule, caller)
    reach = config.Reach(rule.contexts, rule.context_selector, frozenset(settings.contexts))
    chosen = settings.model_copy(update=updates).limit_namespaces(rule.namespaces).with_reach(reach)
    if rule.writes is None:
        return chosen
    return _lower(chosen, rule.writes)


def scopes(settings: config.Settings) -> frozenset[str]:
    """Returns the scopes that some rule or setting requires."""
    needed = set(settings.auth.scopes)
    for rule in settings.access:
        needed.update(rule.scopes)
    return frozenset(needed)


def describe(table: config.Access) -> str:
    """Returns a table in one line: for whom it is, and to what it limits them."""
    whom = {*config.Callers.model_fields, "scopes"}
    callers: list[str] = []
    limits: list[str] = []
    for name in type(table).model_fields:
        value = getattr(table, name)
        if name not in table.model_fields_set or not value:
            continue
        text = value if isinstance(value, str) else ", ".join(value)
        part = callers if name in whom else limits
        part.append(f"{name} {text}")
    for_whom = "; ".join(callers) or "every caller"
    limited_to = "; ".join(limits) or "everything"
    return f"{for_whom}: {limited_to}"


def reduce(settings: config.Settings, caller: user.User) -> user.User:
    """Returns the caller without the scopes that no rule or setting requires."""
    # Attack: a user gets token after token, each with different scopes, to be a new caller each time, with new limits.
    needed = scopes(settings)
    return replace(caller, scopes=caller.scopes & needed)


def is_for(table: config.Callers, caller: user.User) -> bool:
    """Says whether a table is for this caller by users, issuer and groups; what it does not name, it does not
    restrict."""
    is_user = not table.users or matches((caller.name,), table.users)
    is_member = not table.groups or matches(caller.groups, table.groups)
    # Attack: a user of another issuer has the name.
    return is_user and is_member and table.issuer in {None, caller.issuer}


def matches(names: Iterable[str], patterns: Sequence[str]) -> bool:
    """Says whether one of the names matches one of the patterns; `*` stands for anything."""
    return any(wildcards.matches(name, patterns) for name in names)


def _shorten(names: Sequence[str]) -> str:
    """Returns a list of names for a refusal."""
    text = ", ".join(names)
    return sanitizing.printable(text[:_MAX_SHOWN])


def _contexts(settings: config.Settings, rule: config.Access, caller: user.User) -> dict[str, object]:
    """Returns the settings of the remaining listed clusters. Raises AuthError when there are none, and none can be
    found."""
    if rule.contexts is None and rule.context_selector is None:
        return {}
    selects = selectors.on_labels(rule.context_selector or "")
    kept = {
        name: own
        for name, own in settings.contexts.items()
        if (rule.contexts is None or name in rule.contexts) and selects(own.labels)
    }
    # Found clusters come and go, so only a call can say that there is none.
    if settings.fleet.is_on:
        return {"contexts": kept}
    # Without any `contexts`, the settings would mean one cluster: the server's own.
    if not kept:
        remedy = "its operator can correct it" if settings.contexts else "its operator has to set `contexts`"
        names = _shorten(rule.contexts or (f"context_selector {rule.context_selector}",))
        raise errors.AuthError(
            f"the [[access]] table for {caller.label} names no context of this server ({names}); {remedy}",
            code="auth.access",
        )
    default = settings.context
    if default not in kept:
        default = None
    return {"contexts": kept, "context": default}


def _lower(settings: config.Settings, most: config.Mode) -> config.Settings:
    """Returns the settings with no cluster's mode above `most`, and with an `openstack` that writes only if it is
    `direct`."""
    mode = config.lower(settings.mode, most)
    updates = config.lower_tables(settings, most)
    updates["writes"] = mode
    # `read_only` is evaluated together with `writes`, so it must match the mode.
    updates["read_only"] = mode == "off"
    return settings.model_copy(update=updates)
