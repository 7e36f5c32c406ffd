"""The identity under which requests are sent to a cluster, if not the server's own. `live` asks for the headers.

A name comes from a verified token and is chosen at its issuer, so it is checked here once more.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from kubescript import errors

__all__ = ["Acting", "Bearer", "Impersonated", "is_reserved", "using"]

_MAX_NAME: Final = 256
_MAX_GROUPS: Final = 200
# Printable ASCII. Attack: a line break in a name begins another header.
_NAME: Final = re.compile(r"[!-~]([ -~]*[!-~])?")
# Attack: a provider names a user's group `system:masters` or `kubeadm:cluster-admins`, which may do everything.
_RESERVED: Final = ("system:", "kubeadm:")
"""How the names of Kubernetes' own users and groups begin."""


class Acting(Protocol):
    """A caller on whose behalf requests are sent."""

    @property
    def with_credentials(self) -> bool:
        """Whether the server's own credentials are sent too."""

    def headers(self) -> Sequence[tuple[str, str]]:
        """Returns extra headers for each request. Raises ClusterError when the caller cannot be named."""


_token: contextvars.ContextVar[Callable[[], str]] = contextvars.ContextVar("token", default=str)
"""A function that returns the token of this request; empty if it has expired or does not exist."""


@contextlib.contextmanager
def using(token: Callable[[], str]) -> Iterator[None]:
    """Sends a caller's requests with this token, within the block and in threads that inherit this context."""
    # Attack: the requests of a caller with a weak token are sent with a stronger token of the same user.
    given = _token.set(token)
    try:
        yield
    finally:
        _token.reset(given)


@dataclass(frozen=True, slots=True)
class Bearer:
    """The token of the request being answered."""

    # Attack: a caller acts as the server, since an API server ignores the token beside the server's client certificate.
    with_credentials: bool = False

    def headers(self) -> Sequence[tuple[str, str]]:
        """Returns the caller's authorization."""
        token = _token.get()()
        if not token:
            raise errors.ClusterError(
                "the caller's token has expired, or there is none to act with", code="cluster.auth"
            )
        return (("Authorization", f"Bearer {token}"),)


@dataclass(frozen=True, slots=True)
class Impersonated:
    """A caller that the server names to the cluster; the cluster checks whether the server may impersonate."""

    user: str
    groups: tuple[str, ...] = ()
    with_credentials: bool = True

    def headers(self) -> Sequence[tuple[str, str]]:
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
