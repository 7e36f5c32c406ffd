"""Whose identity the requests to a cluster have: the server's own, the caller's token, or an impersonated user."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubescript import config
from kubescript.auth import access_rules, exchanged_tokens, user
from kubescript.cluster import acting

__all__ = ["find", "find_bearer"]


def find(
    settings: config.Settings,
    caller: user.User | None,
    open_exchange: Callable[[], exchanged_tokens.Exchange | None] = lambda: None,
) -> acting.Acting | None:
    """Returns the identity under which requests are sent; None: the server's own. `open_exchange` returns what
    exchanges tokens. Raises ConfigError."""
    if caller is None or settings.acts_as == "server":
        return None
    if settings.acts_as == "caller":
        # Attack: a caller who may use one of several clusters has its administrator read a token for all of them.
        return _bearer(open_exchange(), is_only=not settings.names_clusters)
    names = settings.impersonation
    user = names.user_prefix + caller.name
    groups = _list_groups(names, caller.groups)
    return acting.Impersonated(user, groups)


def find_bearer(
    settings: config.Settings,
    caller: user.User | None,
    open_exchange: Callable[[], exchanged_tokens.Exchange | None] = lambda: None,
) -> acting.Bearer | None:
    """Returns what passes a caller's token on to the sources that take it; None if none does. Raises ConfigError."""
    takes = [each for own in settings.clusters for each in own.sources.values() if each.auth == "caller"]
    if caller is None or not takes:
        return None
    # No source is a server's only cluster, so each token must be meant for it.
    return _bearer(open_exchange(), is_only=False)


def _bearer(exchange: exchanged_tokens.Exchange | None, *, is_only: bool) -> acting.Bearer:
    return acting.Bearer(is_only, exchanged_tokens.Exchanges(exchange).get if exchange is not None else None)


def _list_groups(names: config.Impersonation, groups: Sequence[str]) -> tuple[str, ...]:
    """Returns the groups that are passed to the cluster."""
    passed_on = []
    for group in groups:
        name = names.group_prefix + group
        # Attack: an identity provider gives a caller the group `system:masters`.
        if access_rules.matches((group,), names.groups) and not acting.is_reserved(name):
            passed_on.append(name)
    return tuple(passed_on)
