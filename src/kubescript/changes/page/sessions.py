"""The sessions of people who are logged in to a server's page, and the tokens of their forms.

A session's name is a secret that only the browser keeps, in a cookie. Everything else is derived from it, so that any
replica recognizes a session and its forms.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

import msgspec

from kubescript.auth import codes, seals, user

__all__ = ["Session", "Sessions", "Store", "Way", "sign"]

Way = Literal["login", "token", "certificate"]
"""How a person has logged in: at the identity provider, with a typed token, or with a client certificate."""
_LONGEST_S: Final = 8 * 3600.0
"""How many seconds a session lasts at most."""
_BYTES: Final = 32
_LONGEST_NAME: Final = 64


class Store(Protocol):
    """The part of `store.sessions.Sessions` that is needed here. Its methods raise PlanError."""

    def add(self, digest: str, person: str, expires: float, sealed: bytes) -> None:
        """Keeps a new session."""

    def get(self, digest: str) -> bytes | None:
        """Returns a session as it was sealed; None if it has ended."""

    def end(self, digest: str) -> None:
        """Ends a session."""


class _Sealed(msgspec.Struct, frozen=True):
    """What the store has of a session, unreadable without the session's name."""

    way: Way
    user: user.User
    expires: float
    token: str


@dataclass(frozen=True, slots=True)
class Session:
    """A person's session."""

    name: str = field(repr=False)
    """The secret in the browser's cookie."""
    way: Way
    user: user.User
    """The person, as known at the log-in."""
    expires: float
    """In seconds since the epoch."""
    token: str = field(default="", repr=False)
    """A typed token, which is verified again with each request."""


_SEALED: Final = msgspec.json.Decoder(_Sealed)


class Sessions:
    """The sessions of one server, or of all its replicas. Used by many threads. Its methods raise PlanError."""

    def __init__(self, store: Callable[[], Store]) -> None:
        self._store = store

    def begin(self, credential: user.Credential, way: Way) -> Session:
        """Begins a session, which ends before its credential does."""
        # Attack: another person puts a name of their own into the browser (session fixation). So a name is always new.
        name = secrets.token_urlsafe(_BYTES)
        expires = time.time() + _LONGEST_S
        if credential.expires is not None:
            expires = min(expires, credential.expires)
        token = credential.token if way == "token" else ""
        begun = Session(name, way, credential.user, expires, token)
        content = msgspec.json.encode(_Sealed(way, begun.user, expires, token))
        sealed = seals.seal(name, content)
        self._store().add(codes.digest(name), begun.user.person, expires, sealed)
        return begun

    def find(self, name: str) -> Session | None:
        """Returns the session of this name; None if it has ended."""
        if not name or len(name) > _LONGEST_NAME:
            return None
        kept = self._store().get(codes.digest(name))
        content = seals.unseal(name, kept) if kept is not None else None
        if content is None:
            return None
        try:
            sealed = _SEALED.decode(content)
        except msgspec.MsgspecError:
            return None
        if time.time() >= sealed.expires:
            return None
        return Session(name, sealed.way, sealed.user, sealed.expires, sealed.token)

    def end(self, name: str) -> None:
        """Ends the session of this name."""
        self._store().end(codes.digest(name))


def sign(session: Session, *parts: str) -> str:
    """Returns the token that a form of this session must carry; `parts` say what the form is about."""
    return codes.derive(session.name, "form", *parts).hex()
