"""The toolsets whose tools run one command line each: `openstack` and `openshift`."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

import pydantic

from kubescript.config import section

__all__ = ["ROUTES", "OpenShift", "OpenStack", "Route", "normal_url"]

Route = Literal["openstack", "openshift"]
ROUTES: Final[tuple[Route, ...]] = ("openstack", "openshift")
"""Toolsets that over http have an endpoint of their own, under their name."""
_URL: Final = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?", re.IGNORECASE | re.ASCII)


def normal_url(text: str) -> str:
    """Returns a URL as it is compared: without a slash at its end, scheme and host in lower case.

    Raises ValueError when it is no http URL, or has a user, a query or a fragment.
    """
    if _URL.fullmatch(text) is None or not text.isascii() or not text.isprintable():
        raise ValueError("expected an http or https URL without user, query and fragment")
    scheme, _, rest = text.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{host.lower()}{slash}{path}".rstrip("/")


_Url = Annotated[str, pydantic.AfterValidator(normal_url)]
_Words = Annotated[
    str, pydantic.Field(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*( [A-Za-z0-9][A-Za-z0-9_.-]*)*$")
]
"""The words with which a command begins: `server list`."""


class OpenStack(section.Section):
    """The toolset `openstack` (docs/openstack.md)."""

    allow_write: bool = False
    """Run commands that write too; those that handle credentials, files of the server or a terminal never run. No plan
    is made, and no person is asked: what a command line changes is changed at once."""
    cloud: str | None = None
    """The cloud of `clouds_file`. Default: the only one in it, or `openstack`."""
    clouds_file: section.UserPath | None = None
    """A `clouds.yaml` with the operator's credentials; a `secure.yaml` beside it counts too. Default: that
    of ~/.config/openstack, or of /etc/openstack."""
    auth_urls: tuple[_Url, ...] = ()
    """The only Keystone URLs that a request may name in its header `OS_URL`. With them, each request brings its own
    token in `OS_TOKEN`, and the operator's credentials are never used. Default: none, so requests bring nothing."""
    ca_cert: section.UserPath | None = None
    """CAs of the cloud's services, in PEM. Default: what clouds.yaml says, else those that come with the client
    (certifi), and not the system's."""
    insecure: bool = False
    """Do not verify the certificates of the cloud's services. Any machine on the way can read and use the tokens."""
    allowed_commands: tuple[_Words, ...] = ()
    """Commands that may run besides those that are known to read, by their first words: `loadbalancer status`. What
    they send by other methods than GET needs `allow_write` as well."""

    @pydantic.model_validator(mode="after")
    def _one_source(self) -> OpenStack:
        """Refuses two sources of credentials, and two answers to whether certificates are checked."""
        if self.auth_urls and (self.cloud is not None or self.clouds_file is not None):
            raise ValueError("auth_urls means credentials of each request; leave out cloud and clouds_file, or it")
        _check_tls(self.ca_cert is not None, self.insecure)
        return self


class OpenShift(section.Section):
    """The toolset `openshift` (docs/openshift.md)."""

    binary: section.UserPath | None = None
    """The program that runs. Default: `oc` of the PATH, or `kubectl` where there is none."""
    allow_write: bool = False
    """Run commands that change the cluster too, as far as the cluster's own mode (`writes`) goes: with `plan` what the
    command would send becomes a plan, with `direct` it is sent at once, and with `off` it is refused."""
    allowed_commands: tuple[_Words, ...] | None = None
    """The commands that may run without `allow_write`, by their first words: `get`, `adm top`. Default: those that are
    known to read."""
    blocked_commands: tuple[_Words, ...] | None = None
    """Further commands that do not run, by their first words, with `allow_write` neither, unless `allowed_commands`
    names them with more words. Those that open tunnels, run programs, read files and handle credentials or rights are
    blocked in any case."""
    urls: tuple[_Url, ...] = ()
    """The only API servers that a request may name in its header `OCP_URL`. With them, each request brings its own
    token in `OCP_TOKEN`, and the operator's kubeconfig is never used. Default: none, so requests bring nothing."""
    ca_cert: section.UserPath | None = None
    """CAs of the API servers of `urls`, in PEM. Default: the system's."""
    insecure: bool = False
    """Do not verify the certificates of the API servers of `urls`. Any machine on the way can read and use the tokens.
    """

    @pydantic.model_validator(mode="after")
    def _one_answer(self) -> OpenShift:
        """Refuses two answers to whether certificates are checked."""
        _check_tls(self.ca_cert is not None, self.insecure)
        return self


def _check_tls(has_ca: bool, insecure: bool) -> None:
    if has_ca and insecure:
        raise ValueError("ca_cert and insecure contradict each other; leave one of the two out")
