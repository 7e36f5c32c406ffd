"""What `kubescript doctor` says about callers' tokens with `acts_as = "caller"`: which clusters get none, and whether
they can be exchanged."""

from __future__ import annotations

import collections
import contextlib
import urllib.parse
from collections.abc import Iterator, Sequence
from typing import Final

from kubescript import config, errors
from kubescript.auth import exchange
from kubescript.cli import findings
from kubescript.cluster import acting
from kubescript.config import LOOPBACK
from kubescript.fleet import directory

__all__ = ["examine_audiences", "examine_exchange"]

_TOPIC: Final = "callers"
_SHOWN: Final = 5
"""How many names of contexts a finding shows."""
_PROBE: Final = acting.Token("kubescript-doctor-asks-whether-you-answer")
"""A token that no provider has issued."""
_CLIENT_CODES: Final = ("(invalid_client)", "(unauthorized_client)")
"""How an endpoint says that it refuses the server itself, and not the token."""


def examine_audiences(settings: config.Settings, known: directory.Directory) -> Iterator[findings.Finding]:
    """Yields the findings about the audiences of the known contexts."""
    if settings.acts_as != "caller" or settings.transport != "http":
        return
    by_audience = collections.defaultdict(list)
    for name in known.list_names():
        entry = known.find(name)
        if entry is not None:  # else it went meanwhile
            by_audience[known.settings_of(entry).audience].append(name)
    unstated = by_audience.pop(None, [])
    if unstated and settings.is_several:
        text = f"no caller's token is sent to {_list(unstated)}, which have no audience"
        yield findings.Finding("WARNING", _TOPIC, text)
    for audience, names in by_audience.items():
        if len(names) > 1:
            text = (
                f"{_list(names)} take the same tokens (audience {audience}): who reads those of one can use the others"
            )
            yield findings.Finding("WARNING", _TOPIC, text)


def _list(names: Sequence[str]) -> str:
    """Returns the first names."""
    shown = ", ".join(names[:_SHOWN])
    more = len(names) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def examine_exchange(settings: config.Settings, *, offline: bool) -> Iterator[findings.Finding]:
    """Yields the findings about the endpoint that exchanges tokens. With `offline`, it is not asked. Raises
    ConfigError, and AuthError when it does not answer."""
    if settings.acts_as != "caller":
        yield findings.Finding("WARNING", _TOPIC, 'auth.exchange is not used: acts_as is not "caller"')
    audience = next((own.audience for own in settings.clusters if own.audience is not None), None)
    if audience is None:
        yield findings.Finding("WARNING", _TOPIC, "auth.exchange is not used: no context has an audience")
    with contextlib.closing(exchange.Endpoint(settings.auth)) as endpoint:
        if not offline:
            yield from _ask(endpoint, audience or "kubescript-doctor")


def _ask(endpoint: exchange.Endpoint, audience: str) -> Iterator[findings.Finding]:
    """Asks for the exchange of a made-up token. Raises AuthError when there is no answer."""
    parts = urllib.parse.urlsplit(endpoint.find_url())
    # The user part and the query of a URL may hold a password.
    _, _, host = parts.netloc.rpartition("@")
    place = f"{parts.scheme}://{host}{parts.path}"
    if parts.scheme != "https" and parts.hostname not in LOOPBACK:
        yield findings.Finding("FAILED", _TOPIC, f"{place} has no TLS: tokens and auth.exchange's secret can be read")
        return
    try:
        endpoint.exchange(_PROBE, audience)
    except errors.AuthError as error:
        if error.code == "auth.unavailable":
            raise
        if error.message.endswith(_CLIENT_CODES):
            code = error.message.rpartition(" ")[2]
            text = f"{place} refuses auth.exchange.client_id, its secret or the audience {audience} {code}"
            yield findings.Finding("FAILED", _TOPIC, text)
            return
        yield findings.Finding("ok", _TOPIC, f"{place} answers")
        return
    yield findings.Finding("FAILED", _TOPIC, f"{place} exchanges a made-up token: it would let everybody in")
