"""The identity under which requests are sent to a cluster, if not the server's own. `live` asks for the headers.

A name comes from a verified token and is chosen at its issuer, so it is checked here once more.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, Self

from kubescript import errors
from kubescript_sandbox.host import cancellation

__all__ = ["Acting", "Bearer", "Exchange", "Impersonated", "Token", "current", "is_reserved", "using"]

_MAX_NAME: Final = 256
_MAX_GROUPS: Final = 200
# Printable ASCII. Attack: a line break in a name begins another header.
_NAME: Final = re.compile(r"[!-~]([ -~]*[!-~])?")
# Attack: a provider names a user's group `system:masters` or `kubeadm:cluster-admins`, which may do everything.
_RESERVED: Final = ("system:", "kubeadm:")
"""How the names of Kubernetes' own users and groups begin."""


@dataclass(frozen=True, slots=True)
class Token:
    """A request's bearer token, and for whom it is meant. The `repr` does not show it."""

    text: str = field(default="", repr=False)
    expires: float | None = None
    """Seconds since the epoch."""
    audiences: frozenset[str] = frozenset()
    """The audiences in an identity provider's token; empty for all others."""
    reviewer: str = ""
    """The address of the cluster that has vouched for the token, as `base.Cluster.address`; empty if none has."""

    @property
    def is_valid(self) -> bool:
        """Whether there is a token that has not expired."""
        return bool(self.text) and (self.expires is None or time.time() < self.expires)


class Acting(Protocol):
    """A caller on whose behalf requests are sent."""

    @property
    def with_credentials(self) -> bool:
        """Whether the server's own credentials are sent too."""

    def at(self, context: str, audience: str) -> Acting:
        """Returns the same caller at one cluster: `context` is its name, and `audience` that of the tokens that its API
        server takes; both may be empty."""

    def headers(self, address: str, deadline: float, cancel: cancellation.Cancellation) -> Sequence[tuple[str, str]]:
        """Returns extra headers for each request to the API server at this address, no later than at the deadline
        (time.monotonic). Raises ClusterError when the caller cannot be named."""


Exchange = Callable[[Token, str, float, cancellation.Cancellation], str]
"""Returns a token of another audience in exchange for a caller's, no later than at a deadline (time.monotonic). Raises
ClusterError."""
_NONE: Final = Token()
_token: contextvars.ContextVar[Token] = contextvars.ContextVar("token", default=_NONE)
"""The token of the request that is being answered."""


def current() -> Token:
    """Returns the token of the request that is being answered; an empty one if there is none."""
    return _token.get()


@contextlib.contextmanager
def using(token: Token) -> Iterator[None]:
    """Sends a caller's requests with this token, within the block and in threads that inherit this context."""
    # Attack: the requests of a caller with a weak token are sent with a stronger token of the same user.
    given = _token.set(token)
    try:
        yield
    finally:
        _token.reset(given)


@dataclass(frozen=True, slots=True)
class Bearer:
    """The token of the request being answered, at clusters for which it is meant."""

    is_only: bool = False
    """Whether the server has no other cluster, whose API server then judges every token."""
    exchange: Exchange | None = None
    context: str = ""
    audience: str = ""
    # Attack: a caller acts as the server, since an API server ignores the token beside the server's client certificate.
    with_credentials: bool = False

    def at(self, context: str, audience: str) -> Self:
        """See `Acting.at`."""
        return replace(self, context=context, audience=audience)

    def headers(self, address: str, deadline: float, cancel: cancellation.Cancellation) -> Sequence[tuple[str, str]]:
        """Returns the caller's authorization."""
        token = _token.get()
        if not token.is_valid:
            raise errors.ClusterError(
                "the caller's token has expired, or there is none to act with", code="cluster.auth"
            )
        text = token.text
        if not self._takes(token, address):
            text = self._exchange(token, deadline, cancel)
        return (("Authorization", f"Bearer {text}"),)

    def _takes(self, token: Token, address: str) -> bool:
        """Says whether a token is meant for this cluster. Raises ClusterError if no token can be had that is."""
        # Attack: the administrator of one cluster reads the tokens that arrive, and uses them at the others.
        if token.reviewer and token.reviewer != address:
            raise self._refuse("it is known to another cluster only, which has reviewed it")
        if token.reviewer or (self.is_only and not self.audience):
            return True
        if not self.audience:
            raise self._refuse("the operator has not said which audience this cluster takes (audience)")
        return self.audience in token.audiences

    def _exchange(self, token: Token, deadline: float, cancel: cancellation.Cancellation) -> str:
        # Attack: a token of the server's own file, which names no audience, is sent to the identity provider.
        if self.exchange is None or not token.audiences:
            raise self._refuse(
                f"its aud does not name {self.audience} (audience), and it cannot be exchanged (auth.exchange)"
            )
        return self.exchange(token, self.audience, deadline, cancel)

    def _refuse(self, why: str) -> errors.ClusterError:
        where = f" to context {self.context}" if self.context else ""
        return errors.ClusterError(f"the caller's token is not sent{where}: {why}", code="cluster.auth")


@dataclass(frozen=True, slots=True)
class Impersonated:
    """A caller that the server names to the cluster; the cluster checks whether the server may impersonate."""

    user: str
    groups: tuple[str, ...] = ()
    with_credentials: bool = True

    def at(self, context: str, audience: str) -> Self:
        """See `Acting.at`."""
        return self

    def headers(self, address: str, deadline: float, cancel: cancellation.Cancellation) -> Sequence[tuple[str, str]]:
        """Returns the names of the user and the user's groups."""
        if not _is_name(self.user):
            raise _naming_error("the user's name", "auth.user_claim or impersonation.user_prefix")
        if len(self.groups) > _MAX_GROUPS or not all(map(_is_name, self.groups)):
            raise _naming_error("a group's name", "impersonation.groups")
        headers = [("Impersonate-User", self.user)]
        headers += [("Impersonate-Group", group) for group in self.groups]
        return tuple(headers)


def _is_name(text: str) -> bool:
    if not 0 < len(text) <= _MAX_NAME or is_reserved(text):
        return False
    return _NAME.fullmatch(text) is not None


def is_reserved(name: str) -> bool:
    """Says whether a name is reserved by Kubernetes: no identity provider may give it to a caller's user or group."""
    return name.lower().startswith(_RESERVED)


def _naming_error(what: str, setting: str) -> errors.ClusterError:
    return errors.ClusterError(
        f"you cannot be named to the cluster: {what} is too long, not plain ASCII, or one of Kubernetes' own",
        code="cluster.auth",
        remedy=f"choose another with {setting}",
    )
