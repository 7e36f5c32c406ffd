"""Access to the page: one-time keys, the sessions they begin, and the tokens of its forms.

A key is made with the server's secret, and can be spent only at that server. Sessions last at most as long as the
server runs. Everything is kept in memory, so nothing that is copied from a disk grants access.
"""

from __future__ import annotations

import dataclasses
import secrets
import threading
import time
from typing import Final

from kubescript import errors
from kubescript.auth import codes

__all__ = ["SECRET_BYTES", "Access", "Link", "path"]

SECRET_BYTES: Final = 32
_SESSION_S: Final = 8 * 3600
"""How many seconds a session lasts."""
_NONCE_BYTES: Final = 16
# A code has 128 bits.
_DIGITS: Final = 32
"""How many hexadecimal digits a code has."""


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """A maker of one server's one-time links."""

    url: str
    """The server's address: `http://127.0.0.1:41234`."""
    secret: bytes = dataclasses.field(repr=False)

    def to(self, plan_id: str, until: float) -> str:
        """Returns a link that opens a plan once; `until` is when it stops working, in seconds since the epoch."""
        nonce = secrets.token_hex(_NONCE_BYTES)
        seconds = str(int(until))
        code = _code(self.secret, "key", plan_id, nonce, seconds)
        pages = self.url + path(self.secret)
        return f"{pages}/plans/{plan_id}?key={nonce}.{seconds}.{code}"


@dataclasses.dataclass(slots=True)
class _Session:
    ends: float
    plans: set[str] = dataclasses.field(default_factory=set)
    """The plans that the session may decide; it may read all plans."""


class Access:
    """The keys, sessions and tokens of one server."""

    def __init__(self, secret: bytes | None = None) -> None:
        self.secret = secret or secrets.token_bytes(SECRET_BYTES)
        self.path = path(self.secret)
        """The prefix of the page's paths."""
        suffix = _code(self.secret, "cookie")[:8]
        # The name is unique to the server: a browser sends the cookies of all servers on a host to each of them.
        self.cookie = f"kubescript-{suffix}"
        self._lock = threading.Lock()
        self._spent: set[str] = set()
        self._sessions: dict[str, _Session] = {}

    def open(self, plan_id: str, key: str, session: str) -> str:
        """Spends a key; returns the session that may now decide the plan: the given one if it is still valid. Raises
        PlanError for an invalid key."""
        nonce, _, rest = key.partition(".")
        until, _, code = rest.partition(".")
        expected = _code(self.secret, "key", plan_id, nonce, until)
        if not codes.is_equal(code, expected):
            raise errors.PlanError("This link is not one that this server has made.", code="plan.link")
        with self._lock:
            if nonce in self._spent:
                raise errors.PlanError("This link has been opened before. A link opens once.", code="plan.link_spent")
            if time.time() >= int(until):
                raise errors.PlanError("This link is too old.", code="plan.link_spent")
            self._spent.add(nonce)
            lasting = self._lasting(session)
            if lasting is None:
                session = secrets.token_urlsafe(SECRET_BYTES)
                lasting = _Session(time.time() + _SESSION_S)
                self._sessions[codes.digest(session)] = lasting
            lasting.plans.add(plan_id)
        return session

    def reads(self, session: str) -> bool:
        """Says whether a session may view plans."""
        with self._lock:
            return self._lasting(session) is not None

    def decides(self, session: str, plan_id: str) -> bool:
        """Says whether a link to this plan began the session, or was opened in it later."""
        with self._lock:
            lasting = self._lasting(session)
            if lasting is None:
                return False
            return plan_id in lasting.plans

    def token(self, session: str, plan_id: str, plan_hash: str) -> str:
        """Returns the token that a session's form about a plan must carry."""
        return _code(self.secret, "form", session, plan_id, plan_hash)

    def fits(self, token: str, session: str, plan_id: str, plan_hash: str) -> bool:
        """Says whether a form's token is valid."""
        expected = self.token(session, plan_id, plan_hash)
        return codes.is_equal(token, expected)

    def _lasting(self, session: str) -> _Session | None:
        digest = codes.digest(session)
        found = self._sessions.get(digest)
        if found is None:
            return None
        if time.time() >= found.ends:
            del self._sessions[digest]
            return None
        return found


def path(secret: bytes) -> str:
    """Returns the prefix of the page's paths."""
    # Attack: a browser sends the cookies of 127.0.0.1 to every port, so another server there could read the cookies of
    # this one. It gets none, because the cookies belong to a path that it cannot guess.
    return "/" + _code(secret, "path")[:16]


def _code(secret: bytes, *parts: str) -> str:
    """Returns a code that only the secret's owner can make."""
    return codes.derive(secret, *parts).hex()[:_DIGITS]
