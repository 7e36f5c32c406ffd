"""The toolsets whose tools run one command line each: `openstack` and `openshift`."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

import pydantic

from kubescript.config import section

__all__ = ["ROUTES", "OpenShift", "OpenStack", "Route", "normal_url"]

Route = Literal["openstack", "openshift"]
ROUTES: Final[tuple[Route, ...]] = ("openstack", "openshift")
"""Toolsets that have their own endpoint over http, under their name."""
_URL: Final = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?", re.IGNORECASE | re.ASCII)


def normal_url(text: str) -> str:
    """Returns a URL normalized for comparison: no slash at its end, scheme and host in lower case.

    Raises ValueError when it is not an http URL, or has a user, a query or a fragment.
    """
    is_plain = text.isascii() and text.isprintable()
    if not is_plain or _URL.fullmatch(text) is None:
        raise ValueError("expected an http or https URL without user, query and fragment")
    scheme, _, rest = text.partition("://")
    host, slash, path = rest.partition("/")
    # A path is case-sensitive.
    url = f"{scheme.lower()}://{host.lower()}{slash}{path}"
    return url.rstrip("/")


_Url = Annotated[str, pydantic.AfterValidator(normal_url)]
_Words = Annotated[
    str, pydantic.Field(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*( [A-Za-z0-9][A-Za-z0-9_.-]*)*$")
]
"""The first words of a command: `server list`."""


class OpenStack(section.Section):
    """The toolset `openstack` (docs/openstack.md)."""

    allow_write: bool = False
    """Whether to run commands that write too; commands that handle credentials, server files or a terminal never run.
    No plan is made and nobody is asked: changes take effect at once."""
    cloud: str | None = None
    """The cloud in `clouds_file` to use. Default: the only one in it, or `openstack`."""
    clouds_file: section.UserPath | None = None
    """A `clouds.yaml` with the operator's credentials; a `secure.yaml` beside it is read too. Default: the one in
    ~/.config/openstack, or in /etc/openstack."""
    auth_urls: tuple[_Url, ...] = ()
    """The only Keystone URLs that a request may name in its header `OS_URL`. If set, each request brings its own token
    in `OS_TOKEN`, and the operator's credentials are never used. Default: none, and requests bring no credentials."""
    ca_cert: section.UserPath | None = None
    """CAs of the cloud's services, in PEM. Default: those in clouds.yaml, else those that come with the client
    (certifi), never the system's."""
    insecure: bool = False
    """Whether to skip verifying the certificates of the cloud's services. Any machine on the network path can read and
    use the tokens."""
    allowed_commands: tuple[_Words, ...] = ()
    """Commands that may run in addition to those known to read, by their first words: `loadbalancer status`. Requests
    that they send with methods other than GET also need `allow_write`."""

    @pydantic.model_validator(mode="after")
    def _one_source(self) -> OpenStack:
        """Refuses two sources of credentials, and contradictory settings for checking certificates."""
        has_operators = self.cloud is not None or self.clouds_file is not None
        if self.auth_urls and has_operators:
            raise ValueError("auth_urls means credentials of each request; leave out cloud and clouds_file, or it")
        has_ca = self.ca_cert is not None
        _check_tls(has_ca, self.insecure)
        return self


class OpenShift(section.Section):
    """The toolset `openshift` (docs/openshift.md)."""

    binary: section.UserPath | None = None
    """The program to run. Default: `oc` from the PATH, or `kubectl` where there is no `oc`."""
    allow_write: bool = False
    """Whether to run commands that change the cluster too, as far as the cluster's own mode (`writes`) permits: `plan`
    turns the command's requests into a plan, `direct` sends them at once, and `off` refuses them."""
    allowed_commands: tuple[_Words, ...] | None = None
    """The commands that may run without `allow_write`, by their first words: `get`, `adm top`. Default: those known to
    read."""
    blocked_commands: tuple[_Words, ...] | None = None
    """Other commands that never run, even with `allow_write`, by their first words, unless `allowed_commands` names
    them with more words. Those that open tunnels, run programs, read files and handle credentials or rights are always
    blocked."""
    urls: tuple[_Url, ...] = ()
    """The only API servers that a request may name in its header `OCP_URL`. If set, each request brings its own token
    in `OCP_TOKEN`, and the operator's kubeconfig is never used. Default: none, and requests bring no credentials."""
    ca_cert: section.UserPath | None = None
    """CAs of the API servers of `urls`, in PEM. Default: the system's."""
    insecure: bool = False
    """Whether to skip verifying the certificates of the API servers of `urls`. Any machine on the network path can read
    and use the tokens.
    """

    @pydantic.model_validator(mode="after")
    def _one_answer(self) -> OpenShift:
        """Refuses contradictory settings for checking certificates."""
        _check_tls(self.ca_cert is not None, self.insecure)
        return self


def _check_tls(has_ca: bool, insecure: bool) -> None:
    if has_ca and insecure:
        raise ValueError("ca_cert and insecure contradict each other; leave one of the two out")
