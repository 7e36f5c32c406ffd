"""The server as its page sees it. `app.Application` implements it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kubescript import config

if TYPE_CHECKING:
    from kubescript.changes.page import deciding
    from kubescript.changes.store import store
    from kubescript.fleet import fleet

__all__ = ["Host", "Plans"]


class Plans(Protocol):
    """The part of `planning.Planning` that the page needs."""

    @property
    def approvals(self) -> deciding.Store:
        """The plans."""

    def store(self) -> store.Store:
        """Returns the store. Raises PlanError."""

    def apply_later(self, plan_id: str) -> None:
        """Applies an approved plan, in a separate thread."""


class Host(Protocol):
    """A server."""

    @property
    def settings(self) -> config.Settings:
        """The settings in force."""

    @property
    def fleet(self) -> fleet.Fleet:
        """The clusters that no setting lists."""

    def plans(self) -> Plans:
        """Returns the server's plans. Raises PlanError if no cluster takes any."""
