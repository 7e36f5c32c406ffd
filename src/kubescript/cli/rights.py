"""The rights on a cluster that `kubescript doctor` asks about: those of the usual scripts, and those that the server's
own account needs to act for its callers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from kubescript import config, errors
from kubescript.auth import identities, tokens_file, user
from kubescript.cluster import acting
from kubescript.kube import kinds

__all__ = ["ANY_GROUP", "EVERYTHING", "Needs", "Right", "of"]

_MAX_NAMES: Final = 40
"""How many users and groups are asked about in a cluster; each is a request."""


class Right(NamedTuple):
    """A verb on a resource, as RBAC writes it."""

    verb: str
    group: str
    resource: str
    subresource: str = ""
    name: str = ""
    """The object's name; empty for all objects."""

    def __str__(self) -> str:
        """Returns the right in RBAC's notation: `list deployments.apps`, `get pods/log`, `impersonate users "ann"`."""
        what = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        named = f' "{self.name}"' if self.name else ""
        return f"{self.verb} {kinds.full_name(self.group, what)}{named}"


EVERYTHING: Final = Right("*", "*", "*")
ANY_GROUP: Final = Right("impersonate", "", "groups", name="system:masters")
_ANY_USER: Final = Right("impersonate", "", "users")
_REVIEW: Final = Right("create", "authentication.k8s.io", "tokenreviews")
_READS: Final = (
    Right("list", "", "pods"),
    Right("get", "", "pods", "log"),
    Right("list", "", "events"),
    Right("list", "", "services"),
    Right("list", "apps", "deployments"),
    Right("list", "", "namespaces"),
    Right("list", "", "nodes"),
)
"""The reads that most scripts make."""
_WRITES: Final = (Right("patch", "apps", "deployments"), Right("delete", "", "pods"))


@dataclass(frozen=True, slots=True)
class Needs:
    """The rights of one account on one cluster."""

    usual: tuple[Right, ...]
    """Those of the usual scripts, of which the account needs some; empty where scripts run with callers' rights."""
    required: tuple[Right, ...] = ()
    """Those without which callers are refused."""
    expected: tuple[Right, ...] = ()
    """Those that may be limited to names that are not known here."""
    impersonates: bool = False


def of(settings: config.Settings, *, is_default: bool) -> Needs:
    """Returns the rights that the server's account needs on a cluster with these settings. `is_default` says whether it
    is the cluster that reviews tokens."""
    usual: tuple[Right, ...] = ()
    if settings.acts_as == "server":
        usual = _READS if settings.mode == "off" else _READS + _WRITES
    required = []
    expected = []
    if is_default and settings.auth.token_review:
        required.append(_REVIEW)
    impersonates = settings.acts_as == "impersonate"
    if impersonates:
        named = dict.fromkeys(_list_impersonated(settings))
        required += list(named)[:_MAX_NAMES]
        if not any(right.resource == "users" for right in named):
            expected.append(_ANY_USER)
    return Needs(usual, tuple(required), tuple(expected), impersonates)


def _list_impersonated(settings: config.Settings) -> Iterator[Right]:
    """Yields the rights to impersonate the users and groups whose names are known from the settings."""
    names = settings.impersonation
    for group in names.groups:
        sent = names.group_prefix + group
        if "*" not in group and not acting.is_reserved(sent):
            yield Right("impersonate", "", "groups", name=sent)
    for caller in _list_callers(settings):
        identity = identities.find(settings, caller)
        assert isinstance(identity, acting.Impersonated)
        yield Right("impersonate", "", "users", name=identity.user)
        for sent in identity.groups:
            yield Right("impersonate", "", "groups", name=sent)


def _list_callers(settings: config.Settings) -> Iterator[user.User]:
    """Yields the callers whom the settings and the file of tokens name."""
    for name in settings.auth.tokens:
        yield user.User(name, "tokens", name)
    if settings.auth.tokens_file is None:
        return
    try:
        yield from tokens_file.read_users(settings.auth.tokens_file)
    except errors.ConfigError:  # reported with the other files
        return
