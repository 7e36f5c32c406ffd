"""Sources: the servers of metrics, alerts, logs and traces that scripts may ask."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Final, Literal

import pydantic
from pydantic import Field

from kubescript.config import section

__all__ = ["Source", "SourceName", "Tables", "check_tables", "find_kinds"]

SourceName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
"""The name by which scripts call a source: `k8s.source("logs-eu")`."""
_SERVICE: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?/(https:)?[a-z]([-a-z0-9]{0,61}[a-z0-9])?:[a-z0-9][-a-z0-9]{0,14}"
)
_URL: Final = re.compile(r"https?://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(/[A-Za-z0-9._~:%/-]*)?")
_API: Final = re.compile(r"/(loki/)?api/v[12]/?$")
"""The beginning of an API's own paths."""
_TENANT: Final = re.compile(r"[A-Za-z0-9!_.*'()|-]{1,150}")
"""The grammar of a tenant in Loki, Mimir and Tempo, with `|` between several."""


class Source(section.Section):
    """One server that scripts may ask, by fixed operations only. Give either `url` or `service`."""

    kind: Literal["prometheus", "alertmanager", "loki", "tempo"]
    """What the server is, or whose API it answers: Thanos, Mimir and VictoriaMetrics are `prometheus`."""
    url: str | None = None
    """Address of the server, with the prefix of its API if it has one: `https://mimir.example.com/prometheus`."""
    service: str | None = None
    """A Service of the cluster, `namespace/name:port`, which the server reaches through the API server's service proxy:
    `monitoring/prometheus-k8s:9090`. A port that speaks TLS is `namespace/https:name:port`."""
    auth: Literal["none", "server", "caller"] = "none"
    """Whose token is sent: none; the server's own for this cluster, from its kubeconfig or service account; or the
    caller's. With `service` no token is sent to the source. The setting then says as whom the API server's proxy is
    asked; `none` means as the user that reads the cluster, and `caller` needs `acts_as` to be `caller` or
    `impersonate`."""
    audience: Annotated[str | None, Field(min_length=1)] = None
    """The audience of callers' tokens that this source takes, for `auth = "caller"`. Without it, a caller's token is
    only sent if this cluster's API server has reviewed it."""
    token_file: section.UserPath | None = None
    """File with a bearer token; it is read again for each request."""
    basic_auth_file: section.UserPath | None = None
    """File with `user:password`; it is read again for each request."""
    ca_file: section.UserPath | None = None
    """PEM file of the CA of the source's certificate; default: the system's CAs."""
    cert_file: section.UserPath | None = None
    """PEM file of the client certificate that is shown to the source."""
    key_file: section.UserPath | None = None
    """PEM file of the client certificate's key."""
    tenant: str | None = None
    """Tenant of Loki, Mimir or Tempo, sent as `X-Scope-OrgID`."""
    tenancy: Literal["none", "source", "namespace"] = "none"
    """What keeps callers who are limited to namespaces (`[[access]]`) apart here. `none`: nothing, so they cannot use
    this source. `source`: the source itself, by the token or the tenant that it gets. `namespace`: a proxy that shows
    one namespace, named by the parameter `namespace`, as OpenShift's port 9092 and prom-label-proxy do: every call then
    names its namespace."""
    max_series: Annotated[int, Field(ge=1, le=1_000_000)] = 20_000
    """How many series, label values or log lines one answer may have. One with as many is noted as a part."""
    max_points: Annotated[int, Field(ge=1, le=100_000_000)] = 2_000_000
    """How many points a range query may have: its series times its steps. Prometheus counts its series at the
    start, the middle and the end before it is asked; an answer with more is refused."""

    @pydantic.field_validator("url")
    @classmethod
    def _check_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        if not _URL.fullmatch(value) or not _has_port(value):
            raise ValueError("write the URL as http(s)://host:port/prefix, without user, password or query")
        if found := _API.search(value):
            raise ValueError(f"leave out {found[0]!r}: it begins the paths that the server adds itself")
        return value.rstrip("/")

    @pydantic.field_validator("service")
    @classmethod
    def _check_service(cls, value: str | None) -> str | None:
        if value is not None and not _SERVICE.fullmatch(value):
            raise ValueError("write the Service as namespace/name:port, or namespace/https:name:port with TLS")
        return value

    @pydantic.field_validator("tenant")
    @classmethod
    def _check_tenant(cls, value: str | None) -> str | None:
        if value is not None and not _TENANT.fullmatch(value):
            raise ValueError("write a tenant's name, or several with | between them: team-a|team-b")
        return value

    @pydantic.model_validator(mode="after")
    def _check(self) -> Source:
        if (self.url is None) == (self.service is None):
            raise ValueError("give either `url` or `service`")
        if self.tenancy == "namespace" and self.kind in {"loki", "tempo"}:
            raise ValueError('no proxy shows one namespace of Loki or Tempo: use `tenancy = "source"`')
        ways = [self.auth != "none", self.token_file is not None, self.basic_auth_file is not None]
        if sum(ways) > 1:
            raise ValueError("give one of `auth`, `token_file` and `basic_auth_file`")
        if self.audience is not None and self.auth != "caller":
            raise ValueError('`audience` is that of callers\' tokens: it needs `auth = "caller"`')
        if (self.cert_file is None) != (self.key_file is None):
            raise ValueError("`cert_file` and `key_file` belong together")
        own = self.token_file, self.basic_auth_file, self.ca_file, self.cert_file, self.audience, self.tenant
        # The API server's proxy drops credentials, and has its own connection.
        if self.service is not None and any(own):
            raise ValueError("the API server's proxy passes no credentials or tenant on: use `url`, or `auth` alone")
        return self


Tables = Iterable[Mapping[str, Source]]
"""Sources by name, of one or more clusters each."""


def check_tables(shared: Tables, of_server: Tables) -> None:
    """Keeps the token of one cluster from the source of another, and the server's rights from a caller's questions.
    `shared` are the tables of several clusters, and `of_server` those of clusters on which the server itself acts.
    Raises ValueError."""
    for name, each in _list_all(shared):
        if each.url is not None and each.auth != "none":
            raise ValueError(f"`sources.{name}` sends tokens to a URL, so it must be in the table of one context")
    for name, each in _list_all(of_server):
        if each.service is not None and each.auth == "caller":
            raise ValueError(
                f"`sources.{name}` has the caller ask the API server's proxy (`auth`), so `acts_as` must be `caller` "
                "or `impersonate`"
            )


def find_kinds(tables: Tables, *, is_limited: bool) -> dict[str, str]:
    """Returns the names of the sources that a caller may use, who may be limited to namespaces, and the kind of each;
    of several with one name, the first counts."""
    kinds: dict[str, str] = {}
    for name, each in _list_all(tables):
        if not is_limited or each.tenancy != "none":
            kinds.setdefault(name, each.kind)
    return kinds


def _list_all(tables: Tables) -> Iterator[tuple[str, Source]]:
    for table in tables:
        yield from table.items()


def _has_port(url: str) -> bool:
    """Says whether the port of a URL, if it has one, is a port."""
    try:
        return urllib.parse.urlsplit(url).port != 0
    except ValueError:
        return False
