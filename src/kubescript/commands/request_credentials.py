"""The credentials in a request's headers, for the command lines that answer the request; and the context that it
chooses.

`server` sets the headers of the request being answered; code that needs credentials gets them here. Each request of a
session has its own credentials: never those of the request that began the session, and never another caller's.
"""

from __future__ import annotations

import contextlib
import contextvars
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kubescript import config, errors

__all__ = ["Credentials", "check_url", "choice_of_context", "current", "using"]

# Keystone's tokens have 200 to 300 characters, and the longest tokens that identity providers sign have 6,000.
_MAX_TOKEN: Final = 16_384
_MAX_TEXT: Final = 2_048
_TWICE: Final = "it is there twice; names with - and with _ are the same header"
# Printable ASCII. Attack: a value contains a line end, which would begin another header, or NUL, which ends a string in
# C.
_TOKEN: Final = re.compile(r"[!-~]+")
_TEXT: Final = re.compile(r"[!-~]([ -~]*[!-~])?")


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials in one request; a string is empty if its header is missing. The `repr` shows no values."""

    os_token: str = field(default="", repr=False)
    os_url: str = field(default="", repr=False)
    """The URL as it was sent; `config.normal_url` normalizes it for comparison."""
    os_project_id: str = field(default="", repr=False)
    os_project_name: str = field(default="", repr=False)
    os_project_domain_name: str = field(default="", repr=False)
    ocp_token: str = field(default="", repr=False)
    ocp_url: str = field(default="", repr=False)
    """The URL as it was sent."""

    @property
    def has_openstack(self) -> bool:
        """Whether the request has any OpenStack headers."""
        project = (self.os_project_id, self.os_project_name, self.os_project_domain_name)
        return any((self.os_token, self.os_url, *project))

    @property
    def has_openshift(self) -> bool:
        """Whether the request has any OpenShift headers."""
        return bool(self.ocp_token or self.ocp_url)


def check_url(token: str, url: str, allowed: Container[str], prefix: str, what: str) -> str:
    """Returns the URL that comes with a request's token, in the form of the settings. Raises AuthError if one of the
    two is missing, or the URL is not allowed; `prefix` is that of their headers, and `what` names such URLs in the
    message."""
    if not token or not url:
        raise errors.AuthError(f"the headers {prefix}_TOKEN and {prefix}_URL are missing: each request needs both")
    with contextlib.suppress(ValueError):
        normal = config.normal_url(url)
        if normal in allowed:
            return normal
    raise errors.AuthError(f"{prefix}_URL is none of the {what} of this server", code="auth.access")


_Headers = Iterable[tuple[bytes, bytes]]
# Names with underscores mean the same; proxies drop them unless configured not to.
_FIELDS: Final = {name.replace("_", "-"): name for name in Credentials.__slots__}
"""The fields by the names of their headers, written with hyphens."""

_CONTEXT: Final = "kubescript-context"
"""The header with the name of a context."""

_headers: contextvars.ContextVar[_Headers] = contextvars.ContextVar("headers", default=())
"""The headers of the request that is being answered; none over stdio."""


@contextlib.contextmanager
def using(headers: _Headers) -> Iterator[None]:
    """Sets the headers of the current request, within the block and in threads with this context."""
    before = _headers.set(headers)
    try:
        yield
    finally:
        _headers.reset(before)


def current() -> Credentials:
    """Returns the credentials in the current request; none over stdio. Raises RequestError, without quoting a value,
    for a header that occurs twice or is invalid."""
    found: dict[str, str] = {}
    for name, value in _headers.get():
        key = _FIELDS.get(_normalize(name))
        if key is None:
            continue
        # Attack: a client sends a header twice; a proxy checks the one, but the other counts.
        if key in found:
            raise _unusable(key, _TWICE)
        found[key] = _check_value(key, value.decode("latin-1"))
    return Credentials(**found)


def choice_of_context() -> str:
    """Returns the context that the current request chooses as its default; empty if it chooses none. Raises
    RequestError, without quoting a value, for a header that occurs twice or is invalid."""
    values = [value.decode("latin-1") for name, value in _headers.get() if _normalize(name) == _CONTEXT]
    # Attack: a client sends the header twice; a proxy checks the one, but the other counts.
    if len(values) > 1:
        raise _unusable(_CONTEXT, _TWICE)
    return _check_value(_CONTEXT, values[0]) if values else ""


def _normalize(name: bytes) -> str:
    """Returns a header's name as it is compared."""
    return name.decode("latin-1").lower().replace("_", "-")


def _check_value(key: str, value: str) -> str:
    """Returns the value of a header. Raises RequestError if the value cannot be used."""
    pattern, most, wanted = _TEXT, _MAX_TEXT, "plain ASCII"
    if key.endswith("_token"):
        pattern, most, wanted = _TOKEN, _MAX_TOKEN, "plain ASCII without blanks"
    if not value:
        raise _unusable(key, "it is empty; leave it out where there is nothing to say")
    if len(value) > most:
        raise _unusable(key, f"it has more than {most} characters")
    if pattern.fullmatch(value) is None:
        raise _unusable(key, f"it is not {wanted}")
    return value


def _unusable(key: str, why: str) -> errors.RequestError:
    header = key.upper()
    return errors.RequestError(f"the header {header} cannot be used: {why}", code="request.headers")
