"""A caller whose name has been proven."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field

__all__ = ["Credential", "User"]


@dataclass(frozen=True, slots=True)
class User:
    """A user as an identity provider, a file or a CA has vouched for. Two that are equal may do the same."""

    name: str
    issuer: str = ""
    """What has vouched: the URL of an identity provider, or `token_review`, `tokens`, `tokens_file`, `client_ca_file`.
    The same name is another user's elsewhere."""
    subject: str = ""
    """The issuer's own name of the user, which is never given to another user."""
    groups: tuple[str, ...] = ()
    """In order, each once."""
    scopes: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        """The user's name as approvals and plans write it. Attack: a name with commas, which would read as several."""
        name = self.name.replace("%", "%25").replace(",", "%2C")
        return f"user {name}"

    @property
    def key(self) -> str:
        """A short text that tells this user from all others, and does not reveal the name."""
        # Not the OAuth client. Attack: a user who registers client after client, to be another caller each time, with
        # limits of its own.
        return _digest(self.issuer, self.subject, self.name, *self.groups, "", *sorted(self.scopes))

    @property
    def person(self) -> str:
        """A text that names the person whose limits count. Attack: a user who gets token after token with other scopes,
        to be another caller each time."""
        return _digest(self.issuer, self.subject, self.name)


@dataclass(frozen=True, slots=True)
class Credential:
    """What has proven a user."""

    user: User
    expires: float | None = None
    """Seconds since the epoch."""
    token: str = field(default="", repr=False)
    """The bearer token; empty after a certificate."""

    def valid_token(self) -> str:
        """Returns the token; empty when it has expired."""
        has_expired = self.expires is not None and time.time() >= self.expires
        return "" if has_expired else self.token


def _digest(*parts: str) -> str:
    # Each with its length: a NUL in a name cannot make two lists of names the same text.
    joined = "\0".join(f"{len(part)}:{part}" for part in parts)
    data = joined.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:32]
