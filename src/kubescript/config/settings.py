"""All settings of a server and of each of its clusters.

Each section is a table of the configuration file and is frozen. The text under each setting gives its unit, its default
and its reason. `loading` fills the settings in; every package reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal

import pydantic
import pydantic_settings
from pydantic import Field

from kubescript.config import callers, commands, execution, http_transport, observability
from kubescript.config.context_table import ClusterPolicy, Context, DeniedResource
from kubescript.config.fleet import Fleet, FleetSettings
from kubescript.config.nodes import Nodes
from kubescript.config.replicas import Replicas
from kubescript.config.runbooks import Runbooks
from kubescript.config.section import UserPath
from kubescript.config.sources import Source, SourceName, check_tables, find_kinds
from kubescript.config.write_policy import Plans, WritePolicy

__all__ = ["PREFIX", "Mode", "Settings", "split"]

Mode = Literal["off", "plan", "direct"]
"""The ways in which a cluster may be changed."""
PREFIX: Final = "KUBESCRIPT_"
"""The prefix of the environment variables that hold settings."""


class Settings(pydantic_settings.BaseSettings):
    """The settings of a server."""

    model_config = pydantic_settings.SettingsConfigDict(
        frozen=True,
        extra="forbid",
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        env_parse_none_str="none",
        env_ignore_empty=True,
    )

    toolsets: Annotated[tuple[str, ...], pydantic_settings.NoDecode] = ()
    """Toolsets to serve. Code mode is off unless `code` is named here: whether a model's code runs is the operator's
    decision."""
    language: Literal["en", "zh"] = "en"
    """The language of the toolsets kubectl, helm, cluster and gateway: tool definitions and messages."""
    read_only: bool = True
    """Whether to refuse every request that could change the cluster. False means `writes = "plan"`, unless `writes` is
    given."""
    writes: Literal["off", "plan", "direct"] | None = None
    """How scripts may change the cluster. `plan`: their writes are tried (dry run), shown to a person as one diff, and
    sent when that person approves. `direct`: each is tried and sent at once. Combined with `read_only = true` it means
    off."""
    approval: Literal["person", "argument"] = "person"
    """Who approves plans: a person, outside the tools, or the caller of a tool, with the argument `approved`."""
    write_policy: WritePolicy = WritePolicy()
    """The permitted changes, and the number of people who must approve them."""
    safety_rules: UserPath | None = None
    """A JSON file of rules that rate a plan's effects (docs/audit.md): which effects count, and how severely. Default:
    all built-in rules."""
    plans: Plans = Plans()
    """Where plans are kept, and for how long."""
    replicas: Replicas = Replicas()
    """What several replicas of this server share."""
    runbooks: Runbooks = Runbooks()
    """Scripts that people have reviewed, which a script may call by name."""
    kubeconfig: UserPath | None = None
    """Path of the kubeconfig. Default: $KUBECONFIG, ~/.kube/config, or the pod's own service account."""
    kubeconfig_later: bool = False
    """Whether to start even if the kubeconfig or its context does not exist yet; the first call looks for it again."""
    context: str | None = None
    """Kubeconfig context; default: the current one, or the first of `contexts`."""
    contexts: Annotated[Mapping[str, Context], pydantic_settings.NoDecode] = {}
    """The only kubeconfig contexts that scripts may name: a list of names, or in the file a table for each. Default:
    one cluster."""
    fleet: Fleet = Fleet()
    """Clusters that are found, beside those of `contexts`."""
    sources: Mapping[SourceName, Source] = {}
    """The sources of metrics, alerts, logs and traces that scripts may ask. Default: none."""
    snapshot: UserPath | None = None
    """The saved cluster to serve instead of a live one."""
    denied_resources: tuple[DeniedResource, ...] = ()
    """Resources that are denied or served as metadata, in addition to the defaults (Secret: metadata;
    serviceaccounts/token: denied)."""
    deny_defaults: bool = True
    """Whether to keep the default denials."""
    nodes: Nodes = Nodes()
    """What scripts may read from kubelets."""
    openstack: commands.OpenStack = commands.OpenStack()
    """The toolset `openstack`."""
    openshift: commands.OpenShift = commands.OpenShift()
    """The toolset `openshift`."""
    processes_pool_size: Annotated[int, Field(ge=1, le=256)] = 10
    """Command lines of both toolsets that may run at the same time."""
    limits: execution.Limits = execution.Limits()
    """The limits of one script."""
    sandbox: execution.Sandbox = execution.Sandbox()
    """The confinement of scripts, and how many run at the same time."""
    redaction: execution.Redaction = execution.Redaction()
    """The masking of secrets before scripts read them."""
    audit: observability.Audit = observability.Audit()
    """The audit record."""
    output: execution.Output = execution.Output()
    """The form of answers."""
    telemetry: observability.Telemetry = observability.Telemetry()
    """The destinations of traces and metrics."""
    transport: Literal["stdio", "http"] = "stdio"
    """The transport over which clients connect."""
    http: http_transport.Http = http_transport.Http()
    """The http transport, and the limits of each caller."""
    tls: http_transport.Tls = http_transport.Tls()
    """TLS of the http transport."""
    auth: callers.Auth = callers.Auth()
    """The authentication of callers. Without it, the http transport serves loopback addresses only."""
    insecure_no_auth: bool = False
    """Whether to serve non-loopback addresses without any authentication: every client that reaches the port can read
    the cluster.
    """
    acts_as: Literal["server", "caller", "impersonate"] = "server"
    """Who acts on the clusters: the server under its own credentials, the caller, whose token is passed on, or the
    server impersonating the caller."""
    audience: Annotated[str | None, Field(min_length=1)] = None
    """The audience of the tokens that the API servers take, with `acts_as = "caller"`: no token without it is sent.
    Each context should have its own. It does not hold for found clusters: theirs is in `[[fleet.settings]]`. Default: a
    server's only cluster gets every token, and each of several none."""
    impersonation: callers.Impersonation = callers.Impersonation()
    """The names under which callers are impersonated."""
    access: tuple[callers.Access, ...] = ()
    """The rights of callers, by name, group and scope. Default: everything that the server offers."""
    approvers: tuple[callers.Approvers, ...] = ()
    """The people who may approve other callers' plans. Default: none."""
    host: str = "127.0.0.1"
    """Address of the http transport. Addresses other than loopback need authentication."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    """Port of the http transport."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level to log."""
    log_format: Literal["auto", "json", "text"] = "auto"
    """The format of log lines; `auto`: text for a person at a terminal, JSON elsewhere."""
    log_file: UserPath | None = None
    """The file to which log lines are appended. Default, and `stderr`: the standard error stream."""
    # No setting: `[[access]]` limits each caller.
    _namespaces: tuple[str, ...] | None = None
    _reach: callers.Reach | None = None

    @pydantic.field_validator("toolsets", mode="before")
    @classmethod
    def _groups(cls, value: object) -> object:
        """Accepts names separated by commas, as flags and variables give them."""
        if isinstance(value, str):
            return split(value)
        return value

    @pydantic.field_validator("contexts", mode="before", json_schema_input_type=Mapping[str, Context] | tuple[str, ...])
    @classmethod
    def _names(cls, value: object) -> object:
        """Accepts names without tables: those contexts have no settings of their own."""
        if isinstance(value, str):
            value = split(value)
        if isinstance(value, list | tuple):
            return {name: {} for name in value}
        return value

    @pydantic.field_validator("log_file", mode="before")
    @classmethod
    def _stream(cls, value: object) -> object:
        """Accepts the name of the standard error stream, as kubernetes-mcp-server does."""
        if str(value) == "stderr":
            return None
        return value

    @pydantic.model_validator(mode="after")
    def _check_sources(self) -> Settings:
        """Keeps the token of one cluster from the source of another, and the server's from a caller's questions."""
        shared = [self.sources] if self.is_several else []
        shared += [found.sources or {} for found in self.fleet.settings]
        asked = [own.sources for own in self.clusters] if self.acts_as == "server" else []
        check_tables(shared, asked)
        return self

    @property
    def source_kinds(self) -> dict[str, str]:
        """The names of all clusters' sources that the caller may use, and the kind of each."""
        return find_kinds((own.sources for own in self.clusters), is_limited=self.namespaces is not None)

    @property
    def namespaces(self) -> tuple[str, ...] | None:
        """The patterns of the only namespaces that the caller of these settings sees and changes; None: no limit."""
        return self._namespaces

    def limit_namespaces(self, patterns: tuple[str, ...] | None) -> Settings:
        """Returns these settings for a caller who is limited to namespaces that match; None: no limit."""
        limited = self.model_copy()
        limited._namespaces = patterns
        return limited

    @property
    def context_names(self) -> tuple[str, ...]:
        """The names of `contexts`, the default one first."""
        names = list(self.contexts)
        default = self.context
        if default is not None and default in names:
            names.remove(default)
            names.insert(0, default)
        return tuple(names)

    @property
    def mode(self) -> Mode:
        """How scripts may change the cluster."""
        is_off = self.read_only and (self.writes is None or "read_only" in self.model_fields_set)
        if is_off:
            return "off"
        return self.writes or "plan"

    @property
    def reach(self) -> callers.Reach:
        """Which clusters scripts may name: all, unless these settings are one caller's."""
        return self._reach or callers.Reach(None, None, frozenset(self.contexts))

    def with_reach(self, reach: callers.Reach) -> Settings:
        """Returns these settings for a caller with this reach."""
        changed = self.model_copy()
        changed._reach = reach
        return changed

    @property
    def needs_cluster(self) -> bool:
        """Whether any toolset calls these clusters: `openstack` never does, and `openshift` does not where requests
        name their API server."""
        without = {"openstack"}
        if self.openshift.urls:
            without.add("openshift")
        return not self.toolsets or not without.issuperset(self.toolsets)

    @property
    def is_several(self) -> bool:
        """Whether there may be more than one cluster."""
        return len(self.contexts) > 1 or self.fleet.is_on

    @property
    def names_clusters(self) -> bool:
        """Whether plans and records name their cluster: the server may have more than one, even if the caller of these
        settings may use only one."""
        return len(self.reach.listed) > 1 or self.fleet.is_on

    @property
    def clusters(self) -> tuple[Settings, ...]:
        """The settings of all clusters: of each listed one, the default first, of each table for found ones, and of the
        other ones."""
        clusters = [self.of_context(name) for name in self.context_names]
        if self.fleet.is_on:
            clusters += [self.of_found("", table) for table in (*self.fleet.settings, None)]
        return tuple(clusters) or (self,)

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes of all clusters."""
        return tuple(cluster.mode for cluster in self.clusters)

    @property
    def default_modes(self) -> tuple[str, ...]:
        """The modes that the default cluster may have; of found clusters, any may be the default one."""
        if self.fleet.is_on:
            return self.modes
        names = self.context_names
        return (self.of_context(names[0]).mode if names else self.mode,)

    @property
    def by_argument(self) -> bool:
        """Whether any cluster has plans that a tool's caller approves, with the argument `approved`."""
        return self.approval == "argument" and "plan" in self.modes

    @property
    def writable(self) -> bool:
        """Whether any script may change any cluster, with or without a plan."""
        return set(self.modes) != {"off"}

    def list_toolsets(self, route: str = "") -> tuple[str, ...]:
        """Returns the toolsets of one endpoint. Over http each toolset in `ROUTES` has its own, and all others share
        /mcp, whose `route` is empty; stdio is one endpoint."""
        if self.transport != "http":
            return self.toolsets
        if route:
            return (route,) if route in self.toolsets else ()
        others = [name for name in self.toolsets if name not in commands.ROUTES]
        return tuple(others)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the http transport."""
        return self.host in http_transport.LOOPBACK

    @property
    def knows_callers(self) -> bool:
        """Whether callers must authenticate."""
        # Over stdio the client has started the server, and has its user's rights.
        return self.transport == "http" and bool(self.ways)

    @property
    def ways(self) -> tuple[str, ...]:
        """The settings by which callers can authenticate over http."""
        names = ("issuer", "introspection", "token_review", "tokens", "tokens_file")
        ways = [f"auth.{name}" for name in names if getattr(self.auth, name)]
        if self.tls.client_ca_file:
            ways.append("tls.client_ca_file")
        return tuple(ways)

    @property
    def scheme(self) -> str:
        """The scheme by which the http transport is served."""
        return "http" if self.tls.cert_file is None else "https"

    def of_context(self, name: str) -> Settings:
        """Returns these settings as they apply to one of `contexts`."""
        own = self.contexts[name]
        return self._of_cluster(name, own, self.audience)

    def of_found(self, name: str, table: FleetSettings | None) -> Settings:
        """Returns these settings as they apply to a found cluster, with the table that selects it."""
        # Attack: whoever may write a Secret in the hub gets the callers' tokens that are meant for a listed cluster.
        return self._of_cluster(name, table, None)

    def _of_cluster(self, name: str, own: ClusterPolicy | None, audience: str | None) -> Settings:
        """Returns these settings for one cluster, whose table may name another audience."""
        updates: dict[str, object] = {"contexts": {}, "fleet": Fleet(), "context": name, "audience": audience}
        given = own.model_fields_set & Settings.model_fields.keys() if own is not None else ()
        for field in given:
            value = getattr(own, field)
            # An explicit null in a table means "not given", and must not hide the server's setting.
            if value is not None:
                updates[field] = value
        policy = own.write_policy if own is not None else None
        if policy is not None:
            changed = {field: getattr(policy, field) for field in policy.model_fields_set}
            updates["write_policy"] = self.write_policy.model_copy(update=changed)
        if "writes" in updates:
            # The cluster's own mode applies, even if the server's `read_only` is true.
            updates.setdefault("read_only", False)
        return self.model_copy(update=updates)

    @property
    def strict(self) -> bool:
        """Whether the server refuses to start unless every kernel layer is active."""
        if self.sandbox.strict is not None:
            return self.sandbox.strict
        return self.transport == "http"


def split(names: str) -> tuple[str, ...]:
    """Splits a string at its commas and omits empty names."""
    parts = names.split(",")
    stripped = [part.strip() for part in parts]
    return tuple(filter(None, stripped))
