"""The local web page on which a person reads a plan and approves or declines it.

`app` makes the web application; `serving` serves it. Opening a plan's one-time link sets a cookie and redirects to the
page, so that the link is not in the history. The page needs no JavaScript.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol
from urllib import parse

import jinja2
from starlette import concurrency
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from kubescript import errors
from kubescript.changes import planner
from kubescript.changes.page import access, serving
from kubescript.changes.store import record
from kubescript.changes.view import model, view
from kubescript.output import sanitizing
from kubescript.transports import guard

__all__ = ["Store", "app"]

_HERE: Final = Path(__file__).parent
_STYLE: Final = _HERE.joinpath("style.css").read_text("utf-8")
_templates: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE / "templates"),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_NEWEST: Final = 50
"""How many plans the overview page lists."""
_REFRESH_S: Final = 2
# A form has a reason, and a tick for each critical finding.
_MAX_FORM: Final = 256 << 10
"""The maximum size of a form in bytes."""
_MAX_FIELDS: Final = 10_000
_MAX_REASON: Final = 2_000
"""The maximum length of a reason in characters."""


class Store(Protocol):
    """The part of `changes.approval.Approvals` that the page needs. Its methods raise PlanError."""

    def get(self, plan_id: str) -> record.Record:
        """Returns a plan and its outcome."""

    def newest(self, limit: int) -> Sequence[record.Record]:
        """Returns the most recent plans, newest first."""

    def decide(self, plan_id: str, decision: record.Decision) -> record.Record:
        """Applies a decision to a plan. Raises AuditError if the decision cannot be recorded."""


def app(store: Store, on_approved: Callable[[str], None], keys: access.Access) -> Starlette:
    """Returns the web application. `on_approved` is called with the id of a plan that has all its approvals; it starts
    the application and returns. It is called in a separate thread, and must not raise."""
    pages = _Pages(store, on_approved, keys)
    routes = [
        Route("/style.css", _style),
        Route("/plans", pages.history),
        Route("/plans/{id}", pages.plan),
        Route("/plans/{id}", pages.decide, methods=["POST"]),
    ]
    return Starlette(
        routes=[Mount(keys.path, routes=routes)],
        middleware=[Middleware(serving.Headers), Middleware(guard.Guard)],
        exception_handlers={errors.PlanError: pages.failed},
    )


class _Pages:
    """The handlers of the page's requests."""

    def __init__(self, store: Store, on_approved: Callable[[str], None], keys: access.Access) -> None:
        self._store = store
        self._on_approved = on_approved
        self._keys = keys

    def history(self, request: Request) -> Response:
        """Returns the page of the newest plans."""
        if not self._keys.reads(self._session(request)):
            return self._refuse(request)
        plans = self._store.newest(_NEWEST)
        views = [view.summary(entry) for entry in plans]
        return self._page("plans.html", views=views, most=_NEWEST)

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
        form = await _form(request)
        return await concurrency.run_in_threadpool(self._decide, request, form)

    def failed(self, request: Request, error: Exception) -> Response:
        """Returns the page for a plan that cannot be shown."""
        assert isinstance(error, errors.PlanError)
        status = 503
        if error.code == "plan.unknown":
            status = 404
        return self._message(status, "This plan cannot be shown", error.explained)

    def _open(self, request: Request, plan_id: str, session: str) -> Response:
        # A browser that prefetches, or a program that only checks a link, must not use up the key.
        if request.method != "GET" or "prefetch" in request.headers.get("sec-purpose", ""):
            return Response(status_code=503)
        answer = self._onward(plan_id)
        if self._keys.decides(session, plan_id):
            return answer
        try:
            session = self._keys.open(plan_id, request.query_params["key"], session)
        except errors.PlanError as error:
            return self._message(403, error.message, _how_to_get_a_link(plan_id))
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
        # A link that was followed from another site has opened the plan, but a browser sends a strict cookie only with
        # requests from the server's own pages. So one of these pages makes the request.
        if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            return self._page("message.html", refresh=0, title="Opening the plan", text="", onward=request.url.path)
        plan_id = request.path_params.get("id", "PLAN")
        return self._message(403, "This page opens with a plan's link", _how_to_get_a_link(plan_id))

    def _decide(self, request: Request, form: dict[str, list[str]]) -> Response:
        plan_id = request.path_params["id"]
        answer = _field(form, "decision")
        if not self._is_ours(request, form) or answer not in {"approve", "decline"}:
            return self._message(403, "Nothing was decided", f"The form was not sent from this plan's page. {_AGAIN}")
        approves = answer == "approve"
        entry = self._store.get(plan_id)
        ticked = frozenset(form.get("override", []))
        # The recorded reason is what a reader sees: without invisible characters, and of limited length.
        reason = sanitizing.clean(_field(form, "reason")).strip()[:_MAX_REASON]
        critical: list[model.Finding] = []
        if approves:
            critical = [finding for finding in view.findings(entry.plan) if finding.is_critical]
        complaint = _complaint(critical, ticked, reason)
        if complaint:
            return self._plan(request, entry, 422, complaint, reason, ticked)
        overrides = dict.fromkeys(finding.rule_id for finding in critical)
        decision = record.Decision(
            approver=planner.local_user(),
            channel="page",
            approves=approves,
            hash=_field(form, "hash"),
            reason=reason,
            overrides=tuple(overrides),
            at=time.time(),
        )
        try:
            decided = self._store.decide(plan_id, decision)
        except errors.KubescriptError as error:
            entry = self._store.get(plan_id)
            return self._plan(request, entry, 409, error.explained, reason, ticked)
        if decided.state == "approved":
            self._on_approved(plan_id)
        return self._onward(plan_id)

    def _is_ours(self, request: Request, form: dict[str, list[str]]) -> bool:
        """Says whether a form was sent from the page of its plan, by a session that may decide it."""
        plan_id = request.path_params["id"]
        session = self._session(request)
        if not self._keys.decides(session, plan_id):
            return False
        # Attack: a page of another site sends a form to this server.
        own_origin = f"{request.url.scheme}://{request.headers['host']}"
        if request.headers.get("origin") != own_origin:
            return False
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return False
        # Only the server can make a token, and it is valid only for this session, this plan and the hash that was
        # shown.
        return self._keys.fits(_field(form, "token"), session, plan_id, _field(form, "hash"))

    def _plan(
        self,
        request: Request,
        entry: record.Record,
        status: int = 200,
        alert: str = "",
        reason: str = "",
        ticked: frozenset[str] = frozenset(),
    ) -> Response:
        shown = view.of(entry)
        summary = shown.summary
        session = self._session(request)
        form = None
        if summary.state == "pending" and self._keys.decides(session, summary.id):
            token = self._keys.token(session, summary.id, shown.hash)
            form = {"token": token, "reason": reason, "overrides": ticked}
        opens_all = "open" in request.query_params
        is_following = summary.state in {"approved", "applying"} and "changes" not in request.query_params
        return self._page(
            "plan.html",
            status,
            view=shown,
            form=form,
            alert=alert,
            open_all=opens_all,
            has_closed=not opens_all and any(change.server_rows for change in shown.changes),
            following=is_following,
            refresh=_REFRESH_S if is_following else None,
            how_to_get_a_link=_how_to_get_a_link(summary.id),
        )

    def _onward(self, plan_id: str) -> Response:
        """Sends the browser on to a plan's page."""
        quoted = parse.quote(plan_id, safe="")
        # With 303, the browser fetches the page, so that a reload does not send the form again.
        return RedirectResponse(f"{self._keys.path}/plans/{quoted}", status_code=303)

    def _message(self, status: int, title: str, text: str) -> Response:
        return self._page("message.html", status, title=title, text=text)

    def _page(self, name: str, status: int = 200, **values: Any) -> Response:
        template = _templates.get_template(name)
        content = template.render(base=self._keys.path, **values)
        return HTMLResponse(content, status)

    def _session(self, request: Request) -> str:
        """Returns the session in a browser's cookie; an empty string if there is no cookie."""
        return request.cookies.get(self._keys.cookie, "")


_AGAIN: Final = "Open the plan's page again, and decide there."


def _style(_request: Request) -> Response:
    return Response(_STYLE, media_type="text/css")


async def _form(request: Request) -> dict[str, list[str]]:
    """Returns the fields of a form; an empty dict if it is too large or malformed."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_FORM:
            return {}
    try:
        return parse.parse_qs(body.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        return {}


def _field(form: dict[str, list[str]], name: str) -> str:
    """Returns the first value of a form's field; an empty string if there is none."""
    return form.get(name, [""])[0]


def _complaint(critical: Sequence[model.Finding], ticked: frozenset[str], reason: str) -> str:
    """Returns what an approval lacks; an empty string if it is complete."""
    left = [finding for finding in critical if str(finding.number) not in ticked]
    if left:
        number = len(left)
        text = model.count(number, "critical finding")
        return f"{text} not overridden. Override each of them, or decline."
    if critical and not reason:
        return "A critical finding can be overridden only with a reason."
    return ""


def _how_to_get_a_link(plan_id: str) -> str:
    plan_id = sanitizing.printable(plan_id)
    return (
        f"A new link comes from the command `kubescript plans link {plan_id}`, or with the next call of the tool. "
        f"`kubescript approve {plan_id}` decides on a terminal."
    )
