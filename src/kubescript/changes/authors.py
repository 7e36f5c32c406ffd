"""The authors of plans: how a plan names its author, and what the author may do under the settings in force."""

from __future__ import annotations

from kubescript import config, errors
from kubescript.auth import access_rules, user, vouching
from kubescript.changes import plan

__all__ = ["find_rights", "identify", "lose_rights"]


def identify(caller: user.User, settings: config.Settings) -> plan.Identity:
    """Returns how plans name this caller; `settings` are those of all callers."""
    asked = access_rules.scopes(settings)
    return plan.Identity(
        name=caller.name,
        issuer=caller.issuer,
        subject=caller.subject,
        groups=caller.groups,
        scopes=tuple(sorted(caller.scopes & asked)),
        asked=tuple(sorted(asked)),
        acts_as=settings.acts_as,
    )


def find_rights(author: plan.Identity, settings: config.Settings) -> tuple[user.User, config.Settings]:
    """Returns an author as a user, and the settings narrowed to that user. Raises PlanError (plan.author) when the
    author may not use the server any more, and ConfigError."""
    # Attack: an author keeps rights that depend on a scope by now. Whether the author's token had it is unknown.
    added = access_rules.scopes(settings).difference(author.asked)
    if added:
        raise lose_rights(author, "rights depend on other scopes than when the plan was made")
    try:
        vouching.check(settings, author.caller)
        return author.caller, access_rules.narrow(settings, author.caller)
    except errors.AuthError as error:
        raise lose_rights(author, error.message) from None


def lose_rights(author: plan.Identity, why: str) -> errors.PlanError:
    """Returns the error of a plan whose author may not have it applied any more."""
    text = f"the plan's author, {author.caller.label}, may not have it applied any more: {why}"
    return errors.PlanError(text, code="plan.author")
