"""Users of the same name, where several ways of authentication let users in."""

from __future__ import annotations

from collections.abc import Iterator

from kubescript import config
from kubescript.auth import user

__all__ = ["find", "label"]


def label(settings: config.Settings, caller: user.User) -> str:
    """Returns a user's name as written in approvals and plans, with the issuer if there may be several."""
    if len(settings.ways) < 2:
        return caller.label
    # Attack: where users choose their names, somebody takes that of a user in the tokens file, or one that reads as the
    # name and the issuer of another user: `bob of tokens_file`.
    name = caller.label.replace(" of ", "%20of%20")
    return f"{name} of {user.escape(caller.issuer)}"


def find(settings: config.Settings) -> Iterator[str]:
    """Yields the tables that name users without saying who vouches for them, although several may."""
    if len(settings.ways) < 2:
        return
    ways = ", ".join(settings.ways)
    for name, table in _tables(settings):
        if table.users and table.issuer is None:
            yield f"{name} names users without an `issuer`: whoever has such a name by any way counts ({ways})"


def _tables(settings: config.Settings) -> Iterator[tuple[str, config.Callers]]:
    """Yields all tables that go by users, by their names."""
    for access in settings.access:
        yield "[[access]]", access
    for approvers in settings.approvers:
        yield "[[approvers]]", approvers
    for name, approved in settings.runbooks.approved.items():
        yield f"[runbooks.approved.{name}]", approved
