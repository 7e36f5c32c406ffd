"""Whose identity the requests to a cluster have: the server's own, the caller's token, or an impersonated user."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubescript import config
from kubescript.auth import access_rules, exchanged_tokens, user
from kubescript.cluster import acting

__all__ = ["find"]


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
        exchange = open_exchange()
        # Attack: a caller who may use one of several clusters has its administrator read a token for all of them.
        is_only = not settings.names_clusters
        return acting.Bearer(is_only, exchanged_tokens.Exchanges(exchange).get if exchange is not None else None)
    names = settings.impersonation
    user = names.user_prefix + caller.name
    groups = _list_groups(names, caller.groups)
    return acting.Impersonated(user, groups)


def _list_groups(names: config.Impersonation, groups: Sequence[str]) -> tuple[str, ...]:
    """Returns the groups that are passed to the cluster."""
    passed_on = []
    for group in groups:
        name = names.group_prefix + group
        # Attack: an identity provider gives a caller the group `system:masters`.
        if access_rules.matches((group,), names.groups) and not acting.is_reserved(name):
            passed_on.append(name)
    return tuple(passed_on)
