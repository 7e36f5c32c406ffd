"""An authenticated caller."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Final

from kubescript import types
from kubescript.cluster import acting

__all__ = ["LISTED", "Credential", "User", "escape"]

LISTED: Final = frozenset({"tokens", "tokens_file", "token_review"})
"""The issuers of tokens without scopes."""
_LOCAL: Final = LISTED | {"client_ca_file"}


@dataclass(frozen=True, slots=True)
class User:
    """A user for whom an identity provider, a file or a CA has vouched. Users that compare equal have the same
    rights."""

    name: str
    issuer: str = ""
    """Who vouched for the user: the URL of an identity provider, or `token_review`, `tokens`, `tokens_file`,
    `client_ca_file`. The same name from another issuer is another user."""
    subject: str = ""
    """The issuer's own name for the user, which is never reassigned."""
    groups: tuple[str, ...] = ()
    """Sorted, without duplicates."""
    scopes: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        """The user's name as written in approvals and plans."""
        return f"user {escape(self.name)}"

    @property
    def is_of_provider(self) -> bool:
        """Whether an identity provider has vouched for the user."""
        return self.issuer not in _LOCAL

    @property
    def key(self) -> str:
        """A short string that identifies this user uniquely without revealing the name."""
        # The key excludes the OAuth client. Attack: a user registers client after client to be a new caller each time,
        # with new limits.
        return _digest(self.issuer, self.subject, self.name, *self.groups, "", *sorted(self.scopes))

    @property
    def person(self) -> str:
        """A string that identifies the person to whom limits apply."""
        # Attack: a user gets token after token, each with different scopes, to be a new caller each time.
        return _digest(self.issuer, self.subject, self.name)

    @property
    def account(self) -> str:
        """A string that identifies the user whatever the name is now; empty if the issuer has no other name."""
        # Attack: a user changes the name at the identity provider, to be a second person.
        return _digest(self.issuer, self.subject) if self.subject else ""

    def as_caller(self) -> types.Caller:
        """Returns the user as the requester of scripts, without a session and a client."""
        return types.Caller(user=self.name, issuer=self.issuer, subject=self.subject)


@dataclass(frozen=True, slots=True)
class Credential:
    """The credential that authenticated a user."""

    user: User
    expires: float | None = None
    """Seconds since the epoch."""
    token: str = field(default="", repr=False)
    """The bearer token; empty for a certificate."""
    audiences: frozenset[str] = frozenset()
    """The audiences in an identity provider's token."""
    reviewer: str = ""
    """The address of the cluster that has vouched for the token."""

    def as_token(self) -> acting.Token:
        """Returns the token as clusters may get it."""
        return acting.Token(self.token, self.expires, self.audiences, self.reviewer)


def escape(name: str) -> str:
    """Returns a name as a part of a list of names."""
    # Attack: a user has a name with commas, so that it reads as several names.
    return name.replace("%", "%25").replace(",", "%2C")


def _digest(*parts: str) -> str:
    # Each part is preceded by its length, so that a NUL in a name cannot make two lists of names equal.
    measured = [f"{len(part)}:{part}" for part in parts]
    joined = "\0".join(measured)
    data = joined.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:32]
