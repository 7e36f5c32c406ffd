"""The parts that plans need, assembled when the first plan is made. `app` makes them if a cluster accepts plans."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kubescript import config, contexts, errors, types
from kubescript.auth import namesakes
from kubescript.broker import records
from kubescript.changes import application, approval, impact, plan, planner, recovery, review, turns, undo, writer
from kubescript.changes.rules import write_settings
from kubescript.changes.rules.conduct import configuration

if TYPE_CHECKING:
    from kubescript.changes.page import access
    from kubescript.changes.store import record, store

__all__ = ["Planning"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Page:
    """The page while it is served."""

    links: access.Link
    address: str
    closers: tuple[Callable[[], None], ...]


class Planning:
    """The parts that one caller's plans need. Safe for use from many threads."""

    def __init__(
        self,
        settings: config.Settings,
        accesses: Mapping[str, writer.WritableAccess],
        ledger: approval.Ledger | None,
        kept: recovery.Keeper,
        run: impact.Run,
        caller: plan.Identity | None = None,
        flags: str = "",
        authors: approval.Authors | None = None,
        approvers: approval.Approvers | None = None,
    ) -> None:
        """`accesses` has the clusters by context name; `caller` is the authenticated caller, if any; `flags` are for
        `plan.Plan.flags`; `authors` finds who applies the plans of authenticated callers, and
        `approvers` judges who has approved them."""
        self._settings = settings
        self._ledger = ledger
        self._lock = threading.Lock()
        self._keeper = kept
        self._page: _Page | None = None
        self._turns = turns.Turns(self._apply)
        # The page does not distinguish callers: it is for the one person at this machine.
        self._is_known = caller is not None
        self._has_page = settings.plans.page and not self._is_known
        author = _author(settings, caller)
        self._caller = caller.caller.as_caller() if caller is not None else types.Caller()
        # Requests that are sent with the caller's identity have this author's rights, so no other author's plan is
        # applied.
        self._person = None if settings.acts_as == "server" else author.person
        self._accesses = accesses
        self._run = run
        self._rules = _safety_rules(settings)
        self.planner = planner.Planner(
            kept.store,
            self._terms,
            expires_s=settings.plans.expires_s,
            author=author,
            audit=ledger,
            flags=flags,
        )
        # Attack: one caller's server goes on with another one's plan, and the record says that the first one sent it.
        sent_as = types.Caller() if self._person is None else self._caller
        self.approvals = approval.Approvals(
            kept.store, self._applier, ledger, sent_as, caller, authors, kept.tell, approvers
        )

    def store(self) -> store.Store:
        """Returns the store, which is opened when it is first used. Raises PlanError."""
        return self._keeper.store()

    def undo(self, plan_id: str, caller: types.Caller) -> undo.Reverse:
        """Makes and keeps the reverse of a plan, for a person to approve. Raises KubescriptError."""
        done = self.approvals.get(plan_id)
        if done.plan.author.is_sender:
            text = "it was sent as its author, and so must be what takes it back: the author's own script can plan that"
            raise errors.PlanError(text, code="plan.author")
        # What takes back a plan on record is on the same record.
        if done.plan.audit:
            self.approvals.check_record(done.plan)
        target = self._applier().check(done.plan, self._list_policies(done.plan.context))
        journal = records.NOWHERE
        if self._ledger is not None:
            journal = self._ledger.application(done.plan, self._caller)
        made = undo.make(done, target.writer, self.planner, caller, journal)
        # The plan is recorded before it is kept: an unrecorded plan must not be approved.
        if self._ledger is not None:
            self._ledger.record_plan(made.plan)
        self.planner.keep(made.plan)
        return made

    def recover(self) -> None:
        """Continues plans whose server died; see `recovery.Keeper.recover`."""
        self._keeper.recover(self)

    def take_over(self) -> None:
        """Continues plans whose server died, in threads of their own. Raises PlanError if the store fails."""
        # Attack: a caller's plans wait for objects that never go, and keep all others' half done ones waiting.
        for plan_id, author in self.approvals.list_unfinished().items():
            self._turns.add(author, plan_id)

    def forget(self) -> None:
        """See `approval.Approvals.forget`."""
        self.approvals.forget()

    def link(self, found: record.Record) -> str:
        """Returns a link that opens a plan's page once, or its lasting address; an empty string if there is no page."""
        if self.has_lasting_page():
            return self._keeper.link(found.plan.id)
        opened = self._page_or_none()
        if opened is None:
            return ""
        return opened.links.to(found.plan.id, found.plan.expires)

    def tell(self, found: record.Record) -> None:
        """Tells a team's chat of a plan. Raises nothing."""
        self._keeper.tell(found)

    def has_lasting_page(self) -> bool:
        """Says whether the page has a log-in, so that the address of a plan's page opens it again and again."""
        return self._is_known and bool(self._keeper.page)

    def has_page(self) -> bool:
        """Serves the page if it is not served yet; returns whether there is one."""
        return self._page_or_none() is not None

    def _page_or_none(self) -> _Page | None:
        try:
            return self._open_page()
        except errors.PlanError as error:
            # The page's port is taken; plans can be decided elsewhere.
            log.warning("plans: %s", error.message, extra=error.log_fields)
            return None

    def _open_page(self) -> _Page | None:
        """Returns the page, which is served as soon as there is a plan."""
        if not self._has_page:
            return None
        from kubescript import private_files
        from kubescript.changes.page import access, links, page, serving

        store = self.store().where
        with self._lock:
            if self._page is None:
                keys = access.Access()
                url, close = serving.serve(page.app(self.approvals, self.apply_later, keys), self._settings.plans.port)
                link = access.Link(url, keys.secret)
                folder = private_files.state_folder()
                try:
                    private_files.make_folders(folder)
                    withdraw = links.publish(folder, link, store)
                except BaseException:
                    close()
                    raise
                self._page = _Page(link, url + keys.path, (withdraw, close))
                log.info("plans are approved at %s", self._page.address, extra={"event": "plans.page"})
            return self._page

    def apply_later(self, plan_id: str) -> None:
        """Applies a plan that was approved on a page, in a separate thread, unless that takes its author's own call.
        Logs why that was impossible."""
        # The browser is answered at once, and its page follows the application.
        try:
            author = self.approvals.get(plan_id).plan.author
        except errors.KubescriptError as error:
            log.warning("plan %s: %s", plan_id, error.message, extra=error.log_fields)
            return
        if not author.brings_token:
            self._turns.add(author.person or author.user, plan_id)

    def _apply(self, plan_id: str) -> None:
        if not self._keeper.is_closed:  # else the next server applies what waits
            self.approvals.resume(plan_id)

    def close(self) -> None:
        """Closes the page. Other callers' plans continue."""
        self._keeper.leave(self)
        with self._lock:
            if self._page is not None:
                for close in self._page.closers:
                    close()

    def _applier(self) -> application.Applier:
        kept = self._keeper
        return application.Applier(kept.store(), self._target, lambda: kept.is_closed, self._person)

    def _find(self, context: str) -> tuple[config.Settings, writer.WritableAccess] | None:
        """Returns settings and access of a cluster by its name in plans, which do not name the only one; None if it
        takes no plans, or is gone."""
        if bool(context) != self._settings.names_clusters:
            return None
        name = context or next(iter(self._accesses))
        access = self._accesses.get(name)
        if access is None:
            return None
        own = access.settings or (self._settings.of_context(name) if name else self._settings)
        return (own, access) if own.mode == "plan" else None

    def _terms(self, context: str) -> planner.Terms | None:
        found = self._find(context)
        return None if found is None else _terms(*found, self._assessor(context, found[1]))

    def _target(self, context: str) -> application.Target | None:
        # Attack: the cluster is replaced between two looks: one server is identified, and another one is sent to.
        found = self._find(context)
        if found is None:
            return None
        own, access = found
        return application.Target(access.writer, write_settings.digest(own), self._assessor(context, access))

    def _list_policies(self, context: str) -> list[str]:
        """Returns the digests of a cluster's settings for writes as authors have them who are limited to namespaces."""
        found = self._find(context)
        if found is None:
            return []
        own, _ = found
        return [write_settings.digest(own.limit_namespaces(table.namespaces)) for table in self._settings.access]

    def _assessor(self, context: str, access: writer.WritableAccess) -> impact.Assessor:
        # Attack: a server that takes the cluster's name over is asked what a plan means, and hides it.
        only = contexts.Contexts({context: access})
        return impact.Assessor(self._run, context, only, lambda steps: review.review(steps, self._rules))


def _author(settings: config.Settings, caller: plan.Identity | None) -> plan.Author:
    """Returns the author of the plans that are made here."""
    if caller is not None:
        return plan.Author(namesakes.label(settings, caller.caller), identity=caller)
    return plan.Author(planner.local_user() if settings.transport == "stdio" else "")


def _terms(settings: config.Settings, access: writer.WritableAccess, assessor: impact.Assessor) -> planner.Terms:
    cluster = access.cluster

    def place() -> str:
        # Only the address is used: what follows the space is a digest of the API server's CA.
        address, _, _ = cluster.address.partition(" ")
        return f"{cluster.name} ({address})"

    return planner.Terms(
        policy=write_settings.digest(settings),
        budget=settings.write_policy.objects,
        assessor=assessor,
        approvals=lambda namespaces: write_settings.approvals(settings.write_policy, namespaces),
        identify=access.writer.identify,
        place=place,
    )


def _safety_rules(settings: config.Settings) -> configuration.Configuration:
    """Returns the safety rules about plans. Raises ConfigError."""
    if settings.safety_rules is None:
        return configuration.Configuration()
    rules = configuration.read(settings.safety_rules)
    for note in rules.notes:
        log.warning("%s: %s", settings.safety_rules, note)
    return rules
