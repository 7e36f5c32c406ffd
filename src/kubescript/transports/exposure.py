"""Whom the settings let in over http: contradictions that end the start, and dangers that are told.

The server asks at its start and at each reload; `kubescript doctor` asks too.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterator
from typing import Final, NamedTuple

from kubescript import config, errors

__all__ = ["Danger", "check", "find"]

_BEHIND_PROXY: Final = "give http.url the https:// address of the proxy that ends TLS"


class Danger(NamedTuple):
    """A danger in the settings, which the operator may have accepted."""

    event: str
    """The name of the log line."""
    text: str
    """The danger, and the remedy."""
    refuses: bool = False
    """Whether the server refuses callers for it."""


def check(settings: config.Settings) -> None:
    """Raises ConfigError for settings that contradict each other about callers, and if other machines would be served
    without authentication."""
    if settings.access and not settings.knows_callers:
        raise errors.ConfigError("[[access]] needs callers who are known", remedy="serve http, and set up [auth]")
    if settings.plans.login is not None and settings.auth.issuer is None:
        raise errors.ConfigError("[plans.login] needs an identity provider", remedy="set auth.issuer")
    if settings.transport == "http":
        _check_callers(settings)


def find(settings: config.Settings) -> Iterator[Danger]:
    """Yields the dangers in the settings of a server."""
    if settings.transport != "http":
        yield from _find_unused(settings)
        return
    if not settings.knows_callers and _is_reachable(settings):
        yield _name_strangers(settings)
    if _is_clear_text(settings):
        yield _name_clear_text(settings)
    if not settings.is_local and settings.http.url is None and not settings.http.hosts:
        yield Danger(
            "http.names",
            f"clients on other machines get 421: the server at {settings.host} answers to loopback addresses only: set "
            "http.url or http.hosts",
        )
    yield from _find_everybody(settings)
    yield from _find_unknown_contexts(settings)


def _check_callers(settings: config.Settings) -> None:
    if settings.knows_callers and settings.insecure_no_auth:
        raise errors.ConfigError("insecure_no_auth contradicts [auth]", remedy="leave one of the two out")
    if settings.acts_as != "server" and not settings.knows_callers:
        raise errors.ConfigError(f"acts_as = {settings.acts_as!r} needs callers who are known", remedy="set up [auth]")
    if settings.auth.token_review and settings.fleet.is_on and not settings.contexts:
        raise errors.ConfigError(
            "auth.token_review needs a cluster of the settings to ask: one that [fleet] finds may not say who calls",
            remedy="list the cluster that reviews tokens in [contexts]",
        )
    if settings.knows_callers or settings.insecure_no_auth or not _is_reachable(settings):
        return
    where = f"host {settings.host}" if not settings.is_local else "one of http.url and http.hosts"
    raise errors.ConfigError(
        f"{where} is not a loopback address, and callers would not have to say who they are",
        remedy="set up [auth] (docs/deploy.md), serve 127.0.0.1, or pass --insecure-no-auth",
    )


def _is_reachable(settings: config.Settings) -> bool:
    """Says whether other machines reach the server: at its address, or through a proxy on this machine, for which it
    accepts names other than this machine's."""
    own = urllib.parse.urlsplit(settings.http.url or "").hostname or "localhost"
    return not settings.is_local or not config.LOOPBACK.issuperset([*settings.http.hosts, own])


def _is_clear_text(settings: config.Settings) -> bool:
    """Says whether tokens and answers pass other machines without TLS."""
    if settings.tls.cert_file is not None or not _is_reachable(settings):
        return False
    return urllib.parse.urlsplit(settings.http.url or "").scheme != "https"


def _name_clear_text(settings: config.Settings) -> Danger:
    what = "callers' tokens and all answers" if settings.knows_callers else "all answers"
    return Danger(
        "http.clear_text",
        f"CLEAR TEXT: whoever is between a client and {settings.host}:{settings.port} reads {what}: set "
        f"tls.cert_file and tls.key_file, or {_BEHIND_PROXY}",
    )


def _name_strangers(settings: config.Settings) -> Danger:
    return Danger(
        "http.insecure",
        f"NO AUTHENTICATION: whoever reaches {settings.host}:{settings.port} reads the cluster with this server's "
        "rights, and all share its sessions, requests and memory: one of them can keep the others out",
    )


def _find_everybody(settings: config.Settings) -> Iterator[Danger]:
    """Yields the settings that let in more callers than intended, or give them more rights."""
    is_any_account = settings.auth.token_review and not settings.auth.audience
    if is_any_account and settings.acts_as == "server" and not settings.access:
        yield Danger(
            "auth.everybody",
            "every pod's service account is let in, with all rights of this server: set auth.audience or [[access]]",
        )
    names = settings.impersonation
    if settings.acts_as == "impersonate" and "*" in names.groups and not names.group_prefix:
        yield Danger(
            "auth.groups",
            "groups are passed to the cluster as the identity provider names them: whoever may name a group there may "
            "take a role here; set impersonation.group_prefix or impersonation.groups",
        )


def _find_unknown_contexts(settings: config.Settings) -> Iterator[Danger]:
    """Yields the tables that name contexts which the server does not have."""
    if settings.fleet.is_on:  # a found cluster may have any name
        return
    known = settings.contexts.keys()
    why = f"which is none of the setting `contexts` ({', '.join(known)})"
    if not known:  # the server's one cluster has no name in tables
        why = "but `contexts` is not set: set it to the contexts that the server offers"
    tables = [("[[access]]", table.contexts) for table in settings.access]
    tables += [("[[approvers]]", table.contexts) for table in settings.approvers]
    for title, names in tables:
        for name in names or ():
            if name not in known:
                yield Danger(
                    "auth.contexts",
                    f"a table {title} names context {name!r}, {why}; the table gives nothing there",
                    refuses=known.isdisjoint(names or ()),
                )


def _find_unused(settings: config.Settings) -> Iterator[Danger]:
    """Yields the settings of the http transport that are given although the server uses stdio."""
    given = [f"[{table}]" for table in ("http", "tls", "auth") if table in settings.model_fields_set]
    if given:
        tables = ", ".join(given)
        yield Danger(
            "http.unused", f"{tables} count for nothing, since the server uses stdio: set port, or pass --port 8080"
        )
