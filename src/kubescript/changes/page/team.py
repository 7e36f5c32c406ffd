"""The page of a server whose callers are known: a person logs in, and reads and decides plans.

`login` has the log-in, `rights` says which plans a person sees. Requests are authenticated by the page's own session
alone: a token or a certificate by itself opens nothing here, and a session opens nothing elsewhere.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from kubescript import concurrency, errors
from kubescript.auth import codes, namesakes
from kubescript.changes import authors
from kubescript.changes.page import deciding, login, place, rendering, rights, serving, sessions, unread
from kubescript.changes.store import record
from kubescript.changes.view import view
from kubescript.transports import endpoints, retained

if TYPE_CHECKING:
    from kubescript.auth import authenticator, user
    from kubescript.changes.page import host

__all__ = ["app"]

log = logging.getLogger(__name__)

_PER_AUTHOR: Final = 20
"""How many waiting plans of one author the overview lists."""
# Attack: one person has a long page made on many connections at once. A place is a thread, which computes nearly all of
# the time. By the rule of `concurrency`, each person has at most one of two, and people take turns.
_PLACES: Final = 2
"""How many requests are worked on at the same time."""
_QUEUE: Final = 8
"""How many requests of one person may wait for a place."""
_STATUS: Final = {"auth.access": 403, "auth.scope": 403, "busy.rate": 429, "plan.policy": 404}
"""HTTP statuses by the error's code; for all others the page is unavailable."""
_UNKNOWN: Final = "There is no such plan, or it is none of yours and not yours to approve."


def app(served: host.Host, verifier: authenticator.Authenticator) -> Starlette:
    """Returns the web application, below `endpoints.PAGE`."""
    pages = rendering.Pages(place.Place(served.settings).base)
    kept = sessions.Sessions(lambda: served.plans().store().sessions)
    entrance = login.Entrance(served, verifier, kept, pages)
    team = _Team(served, entrance, pages)
    routes = [
        Route("/style.css", rendering.style),
        Route("/", team.history),
        Route("/plans", team.history),
        Route("/plans/{id}", team.plan),
        Route("/plans/{id}", team.decide, methods=["POST"]),
        Route("/login", entrance.show),
        Route("/login", entrance.enter, methods=["POST"]),
        Route("/login/start", entrance.start),
        Route("/callback", entrance.finish),
        Route("/logout", entrance.leave, methods=["POST"]),
    ]
    made = Starlette(
        routes=[Route(endpoints.PAGE, team.history), Mount(endpoints.PAGE, routes=routes)],
        middleware=[Middleware(unread.Answers), Middleware(serving.Headers)],
        exception_handlers={
            login.Refused: login.answer_refusal,
            errors.AuthError: team.tell_failure,
            errors.Busy: team.tell_failure,
            errors.PlanError: team.tell_failure,
        },
    )
    # Such a redirect would name the scheme and the host that the last proxy has used.
    made.router.redirect_slashes = False
    return made


class _Team:
    """The handlers of requests about plans."""

    def __init__(self, served: host.Host, entrance: login.Entrance, pages: rendering.Pages) -> None:
        self._served = served
        self._entrance = entrance
        self._pages = pages
        self._longest = retained.most(served.settings.http)
        self._places = concurrency.Concurrency(_PLACES, _QUEUE, shared=True, what="requests to the page", setting="")

    async def history(self, request: Request) -> Response:
        """Returns the page of a person's own plans, and of those that wait for the person."""
        session, person = await self._entrance.admit(request)
        return await self._work(person, lambda: self._history(session, person))

    async def plan(self, request: Request) -> Response:
        """Returns one plan's page."""
        session, person = await self._entrance.admit(request)
        plan_id = request.path_params["id"]
        return await self._work(person, lambda: self._plan(request, session, person, self._find(person, plan_id)))

    async def decide(self, request: Request) -> Response:
        """Handles a person's decision."""
        session, person = await self._entrance.admit(request)
        form = await deciding.read_form(request)
        return await self._work(person, lambda: self._decide(request, session, person, form))

    def tell_failure(self, request: Request, error: Exception) -> Response:
        """Returns the page for a request that has failed."""
        assert isinstance(error, errors.KubescriptError)
        # Attack: the answer about another person's plan differs from that about an unknown one.
        if error.code in {"plan.unknown", "plan.changed"}:
            return self._pages.tell(404, "There is no such plan", _UNKNOWN)
        log.warning("the page: %s", error.message, extra=error.log_fields)
        status = _STATUS.get(error.code, 503)
        return self._pages.tell(status, "This cannot be shown", error.message)

    def _history(self, session: sessions.Session, person: user.User) -> Response:
        plans = self._served.plans().store()
        own = plans.newest_of(person.person, rendering.NEWEST)
        with contextlib.closing(plans.list_pending(_PER_AUTHOR)) as pending:
            theirs = (entry for entry in pending if self._waits_for(person, entry))
            others = list(itertools.islice(theirs, rendering.NEWEST))
        return self._pages.render(
            "team.html",
            own=[view.summary(entry) for entry in own],
            others=[view.summary(entry) for entry in others],
            most=rendering.NEWEST,
            **self._entrance.greet(session, person),
        )

    def _waits_for(self, person: user.User, entry: record.Record) -> bool:
        """Says whether another person's plan waits for this one."""
        if rights.is_own(person, entry.plan):
            return False
        return self._may_decide(person, entry)

    def _may_decide(self, person: user.User, entry: record.Record) -> bool:
        """Says whether a person may decide on a plan now."""
        return rights.may_decide(self._served.settings, self._served.fleet, person, entry.plan)

    def _find(self, person: user.User, plan_id: str) -> record.Record:
        """Returns a plan that a person may see. Raises PlanError."""
        found = self._served.plans().approvals.get(plan_id)
        if not rights.may_see(self._served.settings, person, found.plan):
            raise errors.PlanError(_UNKNOWN, code="plan.unknown")
        return found

    def _decide(self, request: Request, session: sessions.Session, person: user.User, form: deciding.Form) -> Response:
        entry = self._find(person, request.path_params["id"])
        token = self._token(session, entry.plan.id, form.get("hash"))
        is_ours = self._entrance.is_own_form(request) and codes.is_equal(form.get("token"), token)
        if not is_ours or not self._may_decide(person, entry):
            return self._refuse_form()
        plans = self._served.plans()
        approver = namesakes.label(self._served.settings, person)
        identity = authors.identify(person, self._served.settings)
        decided = deciding.decide(plans.approvals, entry, form, approver, identity)
        if decided is None:
            return self._refuse_form()
        if isinstance(decided, deciding.Left):
            return self._plan(request, session, person, self._find(person, entry.plan.id), decided)
        if decided.state == "approved":
            plans.apply_later(entry.plan.id)
        return self._pages.redirect(entry.plan.id)

    def _refuse_form(self) -> Response:
        text = f"The form was not sent from this plan's page, or the plan is not yours to decide. {deciding.AGAIN}"
        return self._pages.tell(403, "Nothing was decided", text)

    def _plan(
        self,
        request: Request,
        session: sessions.Session,
        person: user.User,
        entry: record.Record,
        left: deciding.Left | None = None,
    ) -> Response:
        token = ""
        if self._may_decide(person, entry):
            token = self._token(session, entry.plan.id, entry.plan.hash)
        shown = self._pages.show(
            request,
            entry,
            token,
            otherwise="You may read this plan, but not decide it: your right to make such plans was taken away.",
            left=left,
            **self._entrance.greet(session, person),
        )
        if len(shown.body) > self._longest:
            text = f"Its page has {len(shown.body) >> 20} MiB. Decide with `kubescript approve {entry.plan.id}`."
            return self._pages.tell(503, "This plan is too long for a page", text)
        return shown

    @staticmethod
    def _token(session: sessions.Session, plan_id: str, plan_hash: str) -> str:
        """Returns the token of a form about a plan: it is valid for this session, this plan and the hash shown."""
        return sessions.sign(session, "plan", plan_id, plan_hash)

    async def _work(self, person: user.User, work: Callable[[], Response]) -> Response:
        """Works in a thread when it is the person's turn. Raises Busy if too many of the person's requests wait."""
        async with self._places.place(person.person):
            return await anyio.to_thread.run_sync(work)
