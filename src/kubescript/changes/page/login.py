"""How a person logs in to a server's page, and how each request is found to be a logged-in person's.

A person comes back from the identity provider, types a token, or has a client certificate. A request is admitted by the
session in its cookie; a typed token and a certificate are verified again each time.
"""

from __future__ import annotations

import contextlib
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeVar, TypeVarTuple

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from kubescript import errors
from kubescript.auth import codes, namesakes
from kubescript.changes.page import deciding, place, rates, rendering, rights, sessions, unread
from kubescript.changes.view import characters
from kubescript.transports import scope_keys

if TYPE_CHECKING:
    from kubescript.auth import authenticator, user
    from kubescript.changes.page import host

__all__ = ["Entrance", "Refused", "answer_refusal"]

_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")
log = logging.getLogger(__name__)

# No redirect leads elsewhere, since nothing but an id is taken from a request.
_PLAN_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LOGIN_S: Final = 600
"""How many seconds a person may take at the identity provider."""
# Attack: a program types token after token. All people behind one proxy share an address, so the limit is no lower.
_MOST_FAILED: Final = 30
"""How many log-ins may fail per minute at one address, or be under way."""
_SECRET_BYTES: Final = 32
_THREADS: Final = anyio.CapacityLimiter(8)


class Refused(Exception):
    """A request that is answered without its handler."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


class Entrance:
    """The log-in of one server's page. Used by one event loop."""

    def __init__(
        self,
        served: host.Host,
        verifier: authenticator.Authenticator,
        kept: sessions.Sessions,
        pages: rendering.Pages,
    ) -> None:
        self._served = served
        self._verifier = verifier
        self._sessions = kept
        self._pages = pages
        self._place = place.Place(served.settings)
        self._failed = rates.Rate(_MOST_FAILED, "too many log-ins have failed here, or are under way; wait a minute")
        self._unread = unread.Budgets(served.settings.http)
        most = served.settings.http.requests_per_minute
        self._requests = rates.Rate(most, f"you have sent {most} requests within a minute; wait a little")

    async def admit(self, request: Request) -> tuple[sessions.Session, user.User]:
        """Returns the session and the person of a request. Raises Refused, AuthError if the person may no longer use
        the server, and PlanError."""
        session = await self._find(request)
        if session is None:
            raise Refused(self._send_to_login(request))
        try:
            person = await self._verify(request, session)
        except errors.AuthError as error:
            if error.code == "auth.unavailable":
                raise
            await _in_thread(self._sessions.end, session.name)
            raise Refused(self._send_to_login(request)) from None
        # From now on the bytes of the request and of its answer count as this person's.
        request.scope[scope_keys.CONNECTION].owner = person.person
        request.scope[scope_keys.ANSWER].budget = self._unread.find(person.person)
        rights.check(self._served.settings, person)
        # Attack: one person has all plans read again and again.
        self._requests.take(person.person)
        return session, person

    def greet(self, session: sessions.Session, person: user.User) -> dict[str, Any]:
        """Returns what each page says about its person, and the token of its log-out."""
        return {"user": characters.show(person.name), "leaving": sessions.sign(session, "leave")}

    def is_own_form(self, request: Request) -> bool:
        """Says whether a form was sent by one of this server's pages."""
        return deciding.is_from(request, self._place.find_origin(request))

    async def show(self, request: Request) -> Response:
        """Returns the page on which a person logs in."""
        return self._offer(request, _plan_id(request.query_params.get("plan", "")))

    async def enter(self, request: Request) -> Response:
        """Logs a person in by a typed token or by a certificate."""
        form = await deciding.read_form(request)
        plan_id = _plan_id(form.get("plan"))
        # Attack: a page of another site logs this browser in as its own owner, who then reads what is decided.
        if not self.is_own_form(request):
            address = f"{self._place.find_origin(request)}{self._pages.base}"
            text = f"The form was not sent from this server's page. Open {address}"
            return self._pages.tell(403, "You are not logged in", text)
        way: sessions.Way = "token" if form.get("token") else "certificate"
        try:
            with self._counting(request):
                found = await self._identify(request, way, form.get("token").strip())
                rights.check(self._served.settings, found.user)
        except errors.AuthError as error:
            return self._refuse(request, plan_id, error)
        answer = self._pages.redirect(plan_id)
        await self._begin(request, answer, found, way)
        return answer

    async def start(self, request: Request) -> Response:
        """Sends a person to the identity provider."""
        if not self._verifier.issuer:
            return self._offer(request, "")
        plan_id = _plan_id(request.query_params.get("plan", ""))
        secret = secrets.token_urlsafe(_SECRET_BYTES)
        answer = RedirectResponse(await self._verifier.begin_login(secret, self._place.find_callback(request)), 303)
        # The identity provider sends the browser back from another site.
        self._place.set_cookie(request, answer, "-login", f"{secret}.{plan_id}", "lax", _LOGIN_S)
        return answer

    async def finish(self, request: Request) -> Response:
        """Logs a person in who comes back from the identity provider."""
        kept = self._place.read_cookie(request, "-login")
        secret, _, plan_id = kept.partition(".")
        plan_id = _plan_id(plan_id)
        try:
            # Attack: a page of another site has this browser come here often. Nothing was guessed, so nothing counts.
            code = self._verifier.read_code(secret, dict(request.query_params))
        except errors.AuthError as error:
            return self._refuse(request, plan_id, error)
        back = self._place.find_callback(request)
        try:
            with self._counting(request):
                found = await self._verifier.finish_login(secret, back, code)
                rights.check(self._served.settings, found.user)
        except errors.AuthError as error:
            answer = self._refuse(request, plan_id, error)
        else:
            end = f"/{plan_id}" if plan_id else ""
            answer = self._pages.pass_on(f"{self._pages.base}/plans{end}", "You are logged in")
            await self._begin(request, answer, found, "login")
        # Attack: the answer is sent again.
        self._place.set_cookie(request, answer, "-login", "", "lax", 0)
        return answer

    async def leave(self, request: Request) -> Response:
        """Logs a person out."""
        session = await self._find(request)
        form = await deciding.read_form(request)
        if session is not None:
            token = sessions.sign(session, "leave")
            if not self.is_own_form(request) or not codes.is_equal(form.get("token"), token):
                return self._pages.tell(403, "You are still logged in", "The form was not sent from this page.")
            await _in_thread(self._sessions.end, session.name)
        answer = self._pages.tell(200, "You are logged out", "", onward=f"{self._pages.base}/login", words="Log in")
        self._place.set_cookie(request, answer, "", "", "strict", 0)
        return answer

    @contextlib.contextmanager
    def _counting(self, request: Request) -> Iterator[None]:
        """Counts a log-in as a failure, unless it succeeds or the provider does not answer. Raises Busy after too many
        failures."""
        address = _address(request)
        # Attack: guesses are sent at the same time. So each counts before it is known what it is.
        self._failed.take(address)
        try:
            yield
        except errors.AuthError as error:
            # A provider that does not answer does not know yet whether this is a guess.
            if error.code == "auth.unavailable":
                self._failed.give_back(address)
            raise
        self._failed.give_back(address)

    def _refuse(self, request: Request, plan_id: str, error: errors.AuthError) -> Response:
        """Returns the page on which the person of a log-in that has failed tries again."""
        log.warning("a log-in to the page is refused: %s", error.message, extra=error.log_fields)
        status = 503 if error.code == "auth.unavailable" else 403
        return self._offer(request, plan_id, error.message, status)

    async def _find(self, request: Request) -> sessions.Session | None:
        name = self._place.read_cookie(request)
        return await _in_thread(self._sessions.find, name)

    async def _verify(self, request: Request, session: sessions.Session) -> user.User:
        """Returns the person of a session, as known now. Raises AuthError if the credential is no longer valid."""
        if session.way == "login":
            return session.user
        found = await self._identify(request, session.way, session.token)
        # Attack: a connection with another certificate, or a token that now belongs to somebody else.
        if found.user.person != session.user.person:
            raise errors.AuthError("the credential is now another person's")
        return found.user

    async def _identify(self, request: Request, way: sessions.Way, token: str) -> user.Credential:
        if way == "token":
            return await self._verifier.verify_typed(token)
        certificate = request.scope.get(scope_keys.CERTIFICATE)
        if certificate is None:
            raise errors.AuthError("type a token")
        return self._verifier.certificate(certificate)

    async def _begin(self, request: Request, answer: Response, found: user.Credential, way: sessions.Way) -> None:
        """Begins a session, in place of the browser's earlier one."""
        before = self._place.read_cookie(request)
        if before:
            await _in_thread(self._sessions.end, before)
        session = await _in_thread(self._sessions.begin, found, way)
        seconds = max(0, int(session.expires - time.time()))
        self._place.set_cookie(request, answer, "", session.name, "strict", seconds)
        label = namesakes.label(self._served.settings, found.user)
        log.info("%s has logged in to the page", label, extra={"event": "page.login"})

    def _send_to_login(self, request: Request) -> Response:
        """Returns the answer to a request without a session."""
        plan_id = _plan_id(request.path_params.get("id", ""))
        if request.method == "POST":
            text = "Your log-in has ended. Log in again, and decide then."
            return self._pages.tell(403, "Nothing was decided", text, onward=self._login(plan_id), words="Log in")
        # A link that was followed from another site: the browser has kept the cookie to itself.
        if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            end = f"/{plan_id}" if plan_id else ""
            return self._pages.pass_on(f"{self._pages.base}/plans{end}", "Opening the plan")
        return RedirectResponse(self._login(plan_id), 303)

    def _login(self, plan_id: str) -> str:
        """Returns the path of the log-in that leads to a plan."""
        query = f"?plan={plan_id}" if plan_id else ""
        return f"{self._pages.base}/login{query}"

    def _offer(self, request: Request, plan_id: str, alert: str = "", status: int = 200) -> Response:
        """Returns the page on which a person logs in."""
        certificate = None
        if scope_keys.CERTIFICATE in request.scope:
            try:
                certificate = self._verifier.certificate(request.scope[scope_keys.CERTIFICATE]).user.name
            except errors.AuthError as error:
                log.warning("a certificate is refused: %s", error.message, extra=error.log_fields)
        query = f"?plan={plan_id}" if plan_id else ""
        return self._pages.render(
            "login.html",
            status,
            alert=alert,
            plan=plan_id,
            issuer=self._verifier.issuer,
            start=f"{self._pages.base}/login/start{query}",
            takes_tokens=self._verifier.takes_typed_tokens,
            certificate=characters.show(certificate) if certificate is not None else None,
        )


def answer_refusal(_request: Request, refused: Exception) -> Response:
    """Returns the answer in a `Refused`."""
    assert isinstance(refused, Refused)
    return refused.answer


def _address(request: Request) -> str:
    """Returns from where a request comes."""
    return rates.network(request.client.host) if request.client is not None else ""


def _plan_id(text: str) -> str:
    """Returns a plan's id from a request; an empty string if it is none."""
    return text if _PLAN_ID.fullmatch(text) else ""


async def _in_thread(work: Callable[[*_Arguments], _T], *arguments: *_Arguments) -> _T:
    return await anyio.to_thread.run_sync(work, *arguments, limiter=_THREADS)
