"""The local web page on which a person reads a plan and approves or declines it.

`app` makes the web application; `serving` serves it. Opening a plan's one-time link sets a cookie and redirects to the
page, so that the link is not in the history.
"""

from __future__ import annotations

from collections.abc import Callable

from starlette import concurrency
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route

from kubescript import errors
from kubescript.changes import planner
from kubescript.changes.page import access, deciding, rendering, serving
from kubescript.changes.store import record
from kubescript.changes.view import view
from kubescript.output import sanitizing
from kubescript.transports import guard

__all__ = ["app"]


def app(store: deciding.Store, on_approved: Callable[[str], None], keys: access.Access) -> Starlette:
    """Returns the web application. `on_approved` is called with the id of a plan that has all its approvals; it starts
    the application and returns. It is called in a separate thread, and must not raise."""
    pages = _Pages(store, on_approved, keys)
    routes = [
        Route("/style.css", rendering.style),
        Route("/plans", pages.history),
        Route("/plans/{id}", pages.plan),
        Route("/plans/{id}", pages.decide, methods=["POST"]),
    ]
    return Starlette(
        routes=[Mount(keys.path, routes=routes)],
        middleware=[Middleware(serving.Headers), Middleware(guard.Guard)],
        exception_handlers={errors.PlanError: pages.tell_failure},
    )


class _Pages:
    """The handlers of the page's requests."""

    def __init__(self, store: deciding.Store, on_approved: Callable[[str], None], keys: access.Access) -> None:
        self._store = store
        self._on_approved = on_approved
        self._keys = keys
        self._pages = rendering.Pages(keys.path)

    def history(self, request: Request) -> Response:
        """Returns the page of the newest plans."""
        if not self._keys.reads(self._session(request)):
            return self._refuse(request)
        plans = self._store.newest(rendering.NEWEST)
        views = [view.summary(entry) for entry in plans]
        return self._pages.render("plans.html", views=views, most=rendering.NEWEST)

    def plan(self, request: Request) -> Response:
        """Returns one plan's page, or opens it with its key."""
        plan_id = request.path_params["id"]
        session = self._session(request)
        # Only a link has a key. Later requests have only the session that the key opens.
        if "key" in request.query_params:
            return self._open(request, plan_id, session)
        if not self._keys.reads(session):
            return self._refuse(request)
        entry = self._store.get(plan_id)
        return self._plan(request, entry)

    async def decide(self, request: Request) -> Response:
        """Handles a person's decision."""
        form = await deciding.read_form(request)
        return await concurrency.run_in_threadpool(self._decide, request, form)

    def tell_failure(self, request: Request, error: Exception) -> Response:
        """Returns the page for a plan that cannot be shown."""
        assert isinstance(error, errors.PlanError)
        status = 503
        if error.code == "plan.unknown":
            status = 404
        return self._pages.tell(status, "This plan cannot be shown", error.explained)

    def _open(self, request: Request, plan_id: str, session: str) -> Response:
        # A browser that prefetches, or a program that only checks a link, must not use up the key.
        if request.method != "GET" or "prefetch" in request.headers.get("sec-purpose", ""):
            return Response(status_code=503)
        answer = self._pages.redirect(plan_id)
        if self._keys.decides(session, plan_id):
            return answer
        try:
            session = self._keys.open(plan_id, request.query_params["key"], session)
        except errors.PlanError as error:
            return self._pages.tell(403, error.message, _how_to_get_a_link(plan_id))
        answer.set_cookie(
            self._keys.cookie,
            session,
            path=self._keys.path,
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
        return answer

    def _refuse(self, request: Request) -> Response:
        """Returns the answer to a browser without a session."""
        # A link that was followed from another site has opened the plan.
        if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            return self._pages.pass_on(request.url.path, "Opening the plan")
        plan_id = request.path_params.get("id", "PLAN")
        return self._pages.tell(403, "This page opens with a plan's link", _how_to_get_a_link(plan_id))

    def _decide(self, request: Request, form: deciding.Form) -> Response:
        plan_id = request.path_params["id"]
        if not self._is_ours(request, form):
            return self._refuse_form()
        entry = self._store.get(plan_id)
        decided = deciding.decide(self._store, entry, form, planner.local_user())
        if decided is None:
            return self._refuse_form()
        if isinstance(decided, deciding.Left):
            return self._plan(request, self._store.get(plan_id), decided)
        if decided.state == "approved":
            self._on_approved(plan_id)
        return self._pages.redirect(plan_id)

    def _refuse_form(self) -> Response:
        text = f"The form was not sent from this plan's page. {deciding.AGAIN}"
        return self._pages.tell(403, "Nothing was decided", text)

    def _is_ours(self, request: Request, form: deciding.Form) -> bool:
        """Says whether a form was sent from the page of its plan, by a session that may decide it."""
        plan_id = request.path_params["id"]
        session = self._session(request)
        if not self._keys.decides(session, plan_id):
            return False
        if not deciding.is_from(request, f"{request.url.scheme}://{request.headers['host']}"):
            return False
        # Only the server can make a token, and it is valid only for this session, this plan and the hash that was
        # shown.
        return self._keys.fits(form.get("token"), session, plan_id, form.get("hash"))

    def _plan(self, request: Request, entry: record.Record, left: deciding.Left | None = None) -> Response:
        plan_id = entry.plan.id
        session = self._session(request)
        token = ""
        if self._keys.decides(session, plan_id):
            token = self._keys.token(session, plan_id, entry.plan.hash)
        otherwise = f"This browser may read the plan, but not decide it: {_how_to_get_a_link(plan_id)}"
        return self._pages.show(request, entry, token, otherwise=otherwise, left=left)

    def _session(self, request: Request) -> str:
        """Returns the session in a browser's cookie; an empty string if there is no cookie."""
        return request.cookies.get(self._keys.cookie, "")


def _how_to_get_a_link(plan_id: str) -> str:
    plan_id = sanitizing.printable(plan_id)
    return (
        f"A new link comes from the command `kubescript plans link {plan_id}`, or with the next call of the tool. "
        f"`kubescript approve {plan_id}` decides on a terminal."
    )
