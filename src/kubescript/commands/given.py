"""The credentials that a request brings in its headers, for the command lines that answer it.

`server` says which headers the request being answered has; code that needs credentials asks for them here. Each request
of a session has its own: never those of the request that began the session, and never another caller's.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kubescript import config, errors

__all__ = ["Given", "check_url", "current", "using"]

_MAX_TOKEN: Final = 16_384
"""Characters; Keystone's have 200 to 300, and the longest that an identity provider signs have 6,000."""
_MAX_TEXT: Final = 2_048
_TOKEN: Final = re.compile(r"[!-~]+")
_TEXT: Final = re.compile(r"[!-~]([ -~]*[!-~])?")
"""Printable ASCII. Attack: an end of line, which would begin a header of its own, and NUL, at which C ends a text."""


@dataclass(frozen=True, slots=True)
class Given:
    """What one request brings; a text is empty where it has no such header. Its `repr` shows nothing."""

    os_token: str = field(default="", repr=False)
    os_url: str = field(default="", repr=False)
    """As it was sent: `config.normal_url` makes it comparable."""
    os_project_id: str = field(default="", repr=False)
    os_project_name: str = field(default="", repr=False)
    os_project_domain_name: str = field(default="", repr=False)
    ocp_token: str = field(default="", repr=False)
    ocp_url: str = field(default="", repr=False)
    """As it was sent."""

    @property
    def has_openstack(self) -> bool:
        """Whether the request says anything of OpenStack."""
        return any((self.os_token, self.os_url, self.os_project_id, self.os_project_name, self.os_project_domain_name))

    @property
    def has_openshift(self) -> bool:
        """Whether the request says anything of OpenShift."""
        return bool(self.ocp_token or self.ocp_url)


def check_url(token: str, url: str, allowed: Container[str], prefix: str, what: str) -> str:
    """Returns the URL that a request brings with its token, as the settings write it. Raises AuthError where one of the
    two is missing, and for a URL that is not allowed; `prefix` is that of their headers, and `what` is there."""
    if not token or not url:
        raise errors.AuthError(f"the headers {prefix}_TOKEN and {prefix}_URL are missing: each request needs both")
    with contextlib.suppress(ValueError):
        normal = config.normal_url(url)
        if normal in allowed:
            return normal
    raise errors.AuthError(f"{prefix}_URL is none of the {what} of this server", code="auth.access")


_Headers = Iterable[tuple[bytes, bytes]]
_FIELDS: Final = {name.replace("_", "-"): name for name in Given.__slots__}
"""Names of headers with hyphens. Those with underscores mean the same; proxies drop them unless they are told
not to."""

_headers: contextvars.ContextVar[_Headers] = contextvars.ContextVar("headers", default=())
"""Those of the request that is being answered; none over stdio."""


@contextlib.contextmanager
def using(headers: _Headers) -> Iterator[None]:
    """Makes these the headers of the request, within the block and in threads that get this context."""
    before = _headers.set(headers)
    try:
        yield
    finally:
        _headers.reset(before)


def current() -> Given:
    """Returns what the request that is being answered brings; nothing over stdio. Raises RequestError, which quotes no
    value, for a header that is there twice or cannot be used."""
    found: dict[str, str] = {}
    for name, value in _headers.get():
        key = _FIELDS.get(name.decode("latin-1").lower().replace("_", "-"))
        if key is None:
            continue
        # Attack: a proxy checks one of two headers, and the other counts.
        if key in found:
            raise _unusable(key, "it is there twice; OS_TOKEN and OS-TOKEN are the same header")
        found[key] = _check_value(key, value.decode("latin-1"))
    return Given(**found)


def _check_value(key: str, value: str) -> str:
    is_token = key.endswith("_token")
    pattern, most = (_TOKEN, _MAX_TOKEN) if is_token else (_TEXT, _MAX_TEXT)
    if not value:
        raise _unusable(key, "it is empty; leave it out where there is nothing to say")
    if len(value) > most:
        raise _unusable(key, f"it has more than {most} characters")
    if pattern.fullmatch(value) is None:
        raise _unusable(key, "it is not plain ASCII" + (" without blanks" if is_token else ""))
    return value


def _unusable(key: str, why: str) -> errors.RequestError:
    return errors.RequestError(f"the header {key.upper()} cannot be used: {why}", code="request.headers")
