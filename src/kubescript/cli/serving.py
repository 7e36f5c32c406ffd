"""What `kubescript doctor` says about a server over http: the files that it reads, its certificate, and how its callers
authenticate. It calls what the server calls at its start, and changes nothing."""

from __future__ import annotations

import collections
import contextlib
import functools
import operator
import urllib.parse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kubescript import config, errors
from kubescript.auth import access_rules, jwts, logins, provider, tokens_file, user
from kubescript.cli import caller_tokens, certificates, findings
from kubescript.config import named_files
from kubescript.transports import exposure

__all__ = ["examine"]

_PROBE: Final = "kubescript-doctor-asks-whether-you-answer"
"""A token that no provider has issued."""


def examine(settings: config.Settings, *, offline: bool) -> Iterator[findings.Finding]:
    """Yields the findings about a server with these settings. With `offline`, no identity provider is asked."""
    try:
        exposure.check(settings)
    except errors.ConfigError as error:
        yield findings.Finding("FAILED", "http", error.explained)
    for danger in exposure.find(settings):
        yield findings.Finding("FAILED" if danger.refuses else "WARNING", "http", danger.text)
    if settings.transport != "http":
        return
    for table in settings.access:
        yield findings.Finding("ok", "access", access_rules.describe(table))
    for part in _list_parts(settings, offline=offline):
        yield from _examine_part(settings, part)


class _Part(NamedTuple):
    """A part of a server that reads files at its start."""

    topic: str
    files: tuple[str, ...]
    """The settings that name the files."""
    load: Callable[[], Iterable[findings.Finding]]
    """Loads the part as a server does, once its files are known to exist. Raises ConfigError and AuthError."""


def _list_parts(settings: config.Settings, *, offline: bool) -> Iterator[_Part]:
    """Yields the parts that the settings ask for."""
    auth = settings.auth
    if settings.tls.cert_file is not None:
        files: tuple[str, ...] = ("tls.cert_file", "tls.key_file", "tls.client_ca_file")
        yield _Part("tls", files, functools.partial(certificates.examine, settings))
    if auth.tokens_file is not None:
        yield _Part("callers", ("auth.tokens_file",), functools.partial(_examine_tokens, auth.tokens_file))
    if auth.issuer is not None or auth.introspection is not None:
        files = ("auth.ca_file", "auth.introspection.client_secret_file", "plans.login.client_secret_file")
        yield _Part("callers", files, functools.partial(_examine_provider, settings, offline=offline))
    if auth.exchange is not None:
        files = ("auth.ca_file", "auth.exchange.client_secret_file")
        load = functools.partial(caller_tokens.examine_exchange, settings, offline=offline)
        yield _Part("callers", files, load)
    if settings.plans.notify is not None:
        files = ("plans.notify.url_file", "plans.notify.secret_file")
        yield _Part("plans", files, functools.partial(_examine_notices, settings.plans.notify))


def _examine_part(settings: config.Settings, part: _Part) -> Iterator[findings.Finding]:
    missing = list(_find_unreadable(settings, part.files))
    if missing:
        yield from (findings.Finding("FAILED", part.topic, text) for text in missing)
        return
    try:
        yield from part.load()
    except (errors.ConfigError, errors.AuthError) as error:
        yield findings.Finding("FAILED", part.topic, error.explained)


def _find_unreadable(settings: config.Settings, names: Iterable[str]) -> Iterator[str]:
    """Yields what is wrong with each named file that cannot be read."""
    for name in names:
        path = _find_file(settings, name)
        if path is None:
            continue
        try:
            named_files.read(path, name)
        except errors.ConfigError as error:
            yield error.explained


def _find_file(settings: config.Settings, name: str) -> Path | None:
    """Returns the path in a setting; None if the setting or its table is not given."""
    try:
        path = operator.attrgetter(name)(settings)
    except AttributeError:  # the table is None
        return None
    assert path is None or isinstance(path, Path)
    return path


def _examine_tokens(path: Path) -> Iterator[findings.Finding]:
    users = tokens_file.read_users(path)
    count = "1 token" if len(users) == 1 else f"{len(users)} tokens"
    yield findings.Finding("ok" if users else "WARNING", "callers", f"{path} has {count}")
    if exposed := tokens_file.find_exposure(path):
        yield findings.Finding("WARNING", "callers", exposed)
    yield from _find_namesakes(users)


def _find_namesakes(users: Iterable[user.User]) -> Iterator[findings.Finding]:
    """Yields the names that share a uid, and the uids that share a name: often a slip, made with a second token."""
    names = collections.defaultdict(set)
    uids = collections.defaultdict(set)
    for each in users:
        names[each.subject].add(each.name)
        uids[each.name].add(each.subject)
    for uid, several in names.items():
        if len(several) > 1:
            text = f"{_list(several)} have the uid {uid}, so they are one person: none of them approves another's plan"
            yield findings.Finding("WARNING", "callers", text)
    for name, several in uids.items():
        if len(several) > 1:
            text = f"{name} has the uids {_list(several)}, so each is a caller with limits and sessions of its own"
            yield findings.Finding("WARNING", "callers", text)


def _list(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))


def _examine_provider(settings: config.Settings, *, offline: bool) -> Iterator[findings.Finding]:
    auth = settings.auth
    with contextlib.closing(provider.Provider(auth)) as source:
        if auth.issuer is not None:
            verifier = jwts.Verifier(auth, auth.audience, source)
            if settings.plans.login is not None:
                logins.Logins(auth, settings.plans.login, verifier, source)
            if not offline:
                verifier.fetch_keys()
                yield findings.Finding("ok", "callers", f"{auth.issuer} publishes keys for tokens")
        if auth.introspection is not None and not offline:
            yield _ask_introspection(source, auth.introspection.url)
    if offline:
        yield findings.Finding("ok", "callers", "the identity provider was not asked: only its configuration was read")


def _ask_introspection(source: provider.Provider, url: str) -> findings.Finding:
    """Asks about a made-up token. Raises AuthError when there is no answer, or our secret is refused."""
    place = _without_secrets(url)
    try:
        source.introspect(_PROBE)
    except errors.AuthError as error:
        if error.code == "auth.unavailable":
            raise
        return findings.Finding("ok", "callers", f"{place} answers")
    return findings.Finding(
        "FAILED", "callers", f"{place} says of a made-up token that it is active: it would let everybody in"
    )


def _without_secrets(url: str) -> str:
    """Returns the scheme, host, port and path of a URL. Its user part and its query may hold a password, and the report
    of `doctor` goes into bug reports."""
    parts = urllib.parse.urlsplit(url)
    _, _, place = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{place}{parts.path}"


def _examine_notices(settings: config.Notify) -> Iterator[findings.Finding]:
    from kubescript.changes import notices

    with contextlib.closing(notices.Notifier(settings)):
        yield findings.Finding("ok", "plans", f"{settings.url_file} has the address for notices; it was not asked")
