"""What a call is told whose client cannot ask a person, or whose person has not decided: where a person can approve."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from kubescript import errors, types
from kubescript.changes.ask import matters, outcome, remembered
from kubescript.changes.store import record

__all__ = ["Link", "Referral"]

Link = Callable[[record.Record], str]
"""A function that returns a link to a plan's page; an empty string if there is no page."""


@dataclass(frozen=True, slots=True)
class Referral:
    """Where the plans of one caller are approved. Its methods may call the store, so threads call them."""

    link: Link
    has_page: Callable[[], bool]
    """Serves the local page of the plans if possible, and returns whether there is one."""
    has_lasting_page: Callable[[], bool]
    """Returns whether there is a page with a log-in."""
    flags: str
    """The flags with which a command finds this server's plans."""
    is_known: bool
    """Whether the caller is authenticated."""
    brings_token: bool
    """Whether plans are applied with the token of their author's own call."""
    remembered: remembered.Remembered

    def refer(self, matter: matters.Matter) -> types.Answer:
        """Returns the answer to a client that cannot ask a person."""
        found, caller = matter.found, matter.caller
        later = page = ""
        words = found.plan.id + self.flags
        if caller.lasts:
            self.remembered.wait(caller.session)
        elif not self.is_known:
            # This client's later calls cannot be told from those of others.
            later = f"; `kubescript plans show {words}` then tells the user what became of it"
        how = f"run `kubescript approve {words}`"
        if self.has_lasting_page():
            how = f"open {self.link(found)}"
        elif self.has_page():
            page = f", or open what `kubescript plans link {words}` prints,"
        if self.brings_token:
            later = "; your next call then applies it, with the user's own token"
        waits = "waits" if len(found.plan.steps) == 1 else "wait"
        seconds = found.plan.expires - time.time()
        minutes = max(1, round(seconds / 60))
        count = outcome.changes(found)
        return outcome.add_words(
            matter.answer,
            f"plan {found.plan.id}: {count} {waits} for a person's approval; nothing is changed yet. Tell "
            f"the user to {how}{page} within {minutes} minutes{later}",
        )

    def tell_incomplete(self, matter: matters.Matter, error: errors.PlanError) -> types.Answer:
        """Returns the answer about a plan that still waits, since an approval of it lacks a tick or the reason."""
        answer = outcome.add_words(
            matter.answer,
            f"error {error.code}: {error.message}. The approval does not count: it takes a tick at each critical "
            "finding, and a reason. The script asks again when it runs again",
        )
        answer = self.refer(replace(matter, answer=answer))
        return replace(answer, is_error=True, code=error.code)
