"""All settings of a server and of each of its clusters.

Each section is a table of the configuration file, and is frozen. The text under each setting gives its unit, its
default and its reason. `loading` fills the settings in; every package reads them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import pydantic
import pydantic_settings
from pydantic import Field

from kubescript import types

__all__ = [
    "MIB",
    "PREFIX",
    "Approvals",
    "Audit",
    "Context",
    "DeniedResource",
    "Expression",
    "Http",
    "Limits",
    "Output",
    "Plans",
    "Redaction",
    "RedactionRule",
    "Sandbox",
    "Settings",
    "Telemetry",
    "WritePolicy",
    "split",
    "with_home",
]  # fmt: skip

PREFIX: Final = "KUBESCRIPT_"
"""The prefix of the environment variables that hold settings."""
MIB: Final = 1024 * 1024
"""Bytes in one MiB."""


def with_home(path: Path) -> Path:
    """Returns the path with the user's home for a leading `~`; a home that is not known stays as it is written."""
    # No shell expands it in a file, in a client's configuration, or in `--config=~/x`.
    return Path(os.path.expanduser(path))  # noqa: PTH111  it raises nothing


UserPath = Annotated[Path, pydantic.AfterValidator(with_home)]
"""A file that a person names."""


class _Section(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")


class DeniedResource(_Section):
    """A kind of object that no script may touch in any way, or of which it may read the metadata alone. A field that is
    not given matches everything."""

    group: str | None = None
    """API group; the core group is "", as in kubernetes-mcp-server and in RBAC."""
    version: str = ""
    """API version, accepted as in kubernetes-mcp-server. A denial holds for every version, because each version serves
    the same objects."""
    kind: str = ""
    """As in manifests: `Secret`. Empty means every kind of the group."""
    resource: str = ""
    """As in RBAC: `secrets`, `serviceaccounts/token`."""
    serve: Literal["nothing", "metadata"] = "nothing"
    """`metadata`: scripts may get, list and watch the objects, and see name, namespace, labels, annotations, owners and
    times of them. Of several rules for the same objects the strictest counts."""


class Approvals(_Section):
    """How many people must approve a plan."""

    namespaces: Annotated[tuple[str, ...], Field(min_length=1)]
    """The rule is for plans that change something in one of these; `prod-*` matches, `*` matches all."""
    count: Annotated[int, Field(ge=1, le=10)]
    """With more than one, the plan's author is none of them."""


class Expression(_Section):
    """A rule in CEL, as in a ValidatingAdmissionPolicy: true means that a change may be made."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,58}[a-z0-9])?$")]
    """The rule's name; decisions call it `writes.expressions.<id>`."""
    expression: Annotated[str, Field(min_length=1, max_length=10_000)]
    """Over `object`, `oldObject` and `request`. Where it cannot be evaluated, it counts as false."""
    resources: tuple[str, ...] = ()
    """What it is about: `deployments.apps`, `pods`. `deployments.apps/scale` is a resource of its own. Default: all."""
    operations: tuple[Literal["CREATE", "UPDATE", "DELETE"], ...] = ("CREATE", "UPDATE")
    """What it is about. In a DELETE, `object` is null; an eviction is a DELETE of its pod."""
    message: Annotated[str, Field(max_length=300)] = ""
    """What is said when it is false; default: the expression."""
    action: Literal["deny", "warn"] = "deny"
    """Refuse the change, or show the message to who approves it."""


class WritePolicy(_Section):
    """What may be changed where `writes` permits changes at all (docs/write-policy.md)."""

    namespaces: tuple[str, ...] = ()
    """The only namespaces in which anything may be changed; `shop-*` matches. Then objects without a namespace may be
    changed only if "" is listed. Default: all."""
    verbs: Mapping[str, tuple[Literal["create", "update", "patch", "delete"], ...]] = {}
    """The only changes that are permitted: `{"deployments.apps" = ["patch"], "*" = []}`. A resource includes its
    subresources, unless there is an entry such as "deployments.apps/scale". An eviction deletes a pod. Default: all."""
    targets: str = ""
    """A label selector that an object must match to be changed: `track!=canary`. Default: all."""
    replicas: Annotated[tuple[int, ...], Field(min_length=2, max_length=2)] = (0, 100)
    """The smallest and the largest number of replicas that may be set, also of a HorizontalPodAutoscaler."""
    registries: tuple[str, ...] = ()
    """Where images may come from: `registry.example.com/team`, `docker.io/library`. Default: anywhere."""
    permit: tuple[str, ...] = ()
    """Ids of built-in rules that are lifted: `writes.secrets`, `writes.host_path`."""
    objects: Annotated[int, Field(ge=1, le=1_000)] = 50
    """Requests of one plan."""
    per_minute: Annotated[int, Field(ge=1, le=10_000)] = 120
    """Writes that one session may try in a minute. All clients without a session, over HTTP, count as one."""
    approvals: tuple[Approvals, ...] = ()
    """Where one approval is not enough. Of several rules the highest number counts."""
    expressions: tuple[Expression, ...] = ()
    """The operator's own rules."""


class Context(_Section):
    """One of several clusters. A setting that is not given has the server's value."""

    context: str | None = None
    """The context's name in the kubeconfig; default: the name of the table. The two may differ, because two kubeconfig
    files may both have a context "default"."""
    kubeconfig: UserPath | None = None
    """Kubeconfig file of this cluster; default: the server's."""
    snapshot: UserPath | None = None
    """A saved cluster instead of a live one."""
    read_only: bool | None = None
    """Refuse every request that could change this cluster; default: the server's value."""
    writes: Literal["off", "plan", "direct"] | None = None
    """How this cluster may be changed; default: the server's value."""
    write_policy: WritePolicy | None = None
    """What of this cluster may be changed. What is not given in the table has the server's value."""
    denied_resources: tuple[DeniedResource, ...] | None = None
    """Denied in this cluster. They replace the server's and are not added to them."""
    deny_defaults: bool | None = None
    """Keep the default denials for this cluster; default: the server's value."""


class Limits(_Section):
    """The limits of one script."""

    default_timeout_ms: Annotated[int, Field(ge=100, le=300_000)] = 30_000
    """Milliseconds of wall-clock time when the call names no `timeout`."""
    max_timeout_ms: Annotated[int, Field(ge=100, le=300_000)] = 300_000
    """Largest `timeout` that a call may name, in milliseconds."""
    memory_mib: Annotated[int, Field(ge=16, le=65_536)] = 512
    """MiB of memory beyond what the warm worker itself uses."""
    depth: Annotated[int, Field(ge=16, le=1_024)] = 1_024
    """Levels of nested calls. The C stack of the interpreter sets the upper bound."""
    output_kib: Annotated[int, Field(ge=1, le=4_096)] = 64
    """KiB of the whole answer. 64 KiB are about 16,000 tokens."""
    output_lines: Annotated[int, Field(ge=1, le=100_000)] = 500
    """Lines of one text in the answer: of the prints, of a text result, or of a text within a result."""
    api_calls: Annotated[int, Field(ge=1)] = 1_000
    """Kubernetes API calls of one script, allowed or not."""
    response_mib: Annotated[int, Field(ge=1)] = 1_024
    """MiB of all API answers that one script may read."""
    patience_ms: Annotated[int, Field(ge=100, le=300_000)] = 10_000
    """Milliseconds to wait for the beginning of an answer when the server has several contexts: a dead cluster must
    leave time for the others. With one context, a call may take all the time that the script has left."""

    def for_script(self, timeout_ms: int | None, waits_ms: int = 0) -> types.Limits:
        """Returns the limits of one script that asked for `timeout_ms`, and may wait for `waits_ms` besides."""
        return types.Limits(
            # JSON knows no integers: a client may write 30000.0, which a worker would not read.
            timeout_ms=min(int(timeout_ms or self.default_timeout_ms), self.max_timeout_ms) + waits_ms,
            memory_bytes=self.memory_mib * MIB,
            depth=self.depth,
            output_bytes=self.output_kib * 1024,
            output_lines=self.output_lines,
            api_calls=self.api_calls,
            response_bytes=self.response_mib * MIB,
        )


class Sandbox(_Section):
    """How scripts are confined, and how many run at the same time."""

    strict: bool | None = None
    """Refuse to start unless every kernel layer is active. Unset: true for the http transport, a warning for stdio."""
    spare_workers: Annotated[int, Field(ge=0, le=32)] = 1
    """Processes kept forked and locked down ahead of time; each serves one script."""
    max_scripts: Annotated[int, Field(ge=1, le=256)] = 8
    """Scripts that run at the same time."""
    max_queue: Annotated[int, Field(ge=0, le=10_000)] = 64
    """Scripts that wait for their turn. The next script gets an error at once: the server is busy."""


class Http(_Section):
    """The limits of the http transport. What is sent too slowly needs no setting: a request has 15 seconds."""

    max_sessions: Annotated[int, Field(ge=1, le=10_000)] = 512
    """Clients that are connected at the same time. The next one gets 503 until a session ends or expires."""
    session_idle_s: Annotated[int, Field(ge=1, le=86_400)] = 1_800
    """Seconds without a request or an open stream after which a session ends. Its client gets 404 and begins another.
    """


class RedactionRule(_Section):
    """A kind of token that is recognized by its form."""

    id: Annotated[str, Field(pattern=r"[a-z0-9][a-z0-9-]{0,58}")]
    """The rule's name; it stands in the placeholder."""
    regex: Annotated[str, Field(min_length=3)]
    """Matches the text to mask; with a group, only the group is masked."""
    probe: str | None = None
    """A simpler pattern for the first scan, which must match wherever `regex` does; default: `regex` itself."""
    example: str = ""
    """A text with such a token, on which `probe` and `regex` are tried at the start; a `probe` needs one."""
    entropy: Annotated[float, Field(ge=0, le=8)] = 0.0
    """Entropy in bits per byte below which a match is taken for an example and not masked."""


class Redaction(_Section):
    """What is masked before scripts read it."""

    enabled: bool = True
    """False shows scripts, and so the model, every secret that is not in a denied Secret object. The server logs a
    warning of that when it starts."""
    disable: tuple[str, ...] = ()
    """Ids of rules that are not applied."""
    rules: tuple[RedactionRule, ...] = ()
    """Rules in addition to the built-in ones."""
    allow: tuple[str, ...] = ()
    """Regular expressions. A value in which one matches is not masked. Values of Secrets are masked all the same."""
    allow_names: tuple[str, ...] = ()
    """Names of variables, fields and flags whose values are not judged by the name."""


class Audit(_Section):
    """What is recorded, and where (docs/audit.md)."""

    file: UserPath | None = None
    """A JSON Lines file to which records are appended. Unset: nothing is recorded."""
    max_mib: Annotated[int, Field(ge=0)] = 64
    """MiB after which the file is rotated to FILE.1, FILE.2, …; 0: never."""
    keep: Annotated[int, Field(ge=0)] = 16
    """Rotated files that are kept; 0: all."""
    fsync: Literal["answer", "record", "never"] = "answer"
    """What waits for the disk: the answer of each script and each change of the cluster, every record, or nothing."""
    key_file: UserPath | None = None
    """A file with at least 32 bytes, the key of the hashes (HMAC): only its owner can continue or check the chain."""
    scripts: bool = False
    """Keep the text of each script next to the file, under its hash."""
    responses: bool = False
    """Keep what each script saw and answered, for `kubescript audit replay`. Includes `scripts`."""


class Plans(_Section):
    """Plans of writes (docs/writes.md)."""

    store: str = ""
    """Where plans are kept: a file for SQLite, or the URL of a PostgreSQL database that several replicas share.
    Default: `kubescript/plans.db` in the user's state directory."""
    expires_s: Annotated[int, Field(ge=10, le=86_400)] = 900
    """Seconds after which a plan can no longer be approved or applied."""
    ask_s: Annotated[int, Field(ge=1, le=3_600)] = 300
    """Seconds that a call of a tool waits for the person whom the client asks."""
    follow_s: Annotated[int, Field(ge=0, le=1_800)] = 50
    """Seconds for which the rollouts of an applied plan are followed. Many clients give a call a minute."""
    page: bool = True
    """Serve a page on which plans are approved; over stdio on a port of the loopback interface, from the first plan
    on."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 0
    """That port; 0: any that is free."""


class Output(_Section):
    """How answers are written."""

    mark_untrusted: bool = True
    """Put marks around answers with text from the cluster, so that a model takes it for data."""
    structured: bool = False
    """Return results as `structuredContent` too, with an output schema. The result then costs its tokens twice."""
    heartbeat_s: Annotated[float, Field(ge=0.1, le=300)] = 10
    """A client that asked for progress gets a notification whenever it has heard nothing of its call for so long."""


class Telemetry(_Section):
    """Where traces and metrics go. The standard OTEL_* variables apply as well."""

    otlp_endpoint: str | None = None
    """Base URL of an OTLP/HTTP receiver: `http://collector:4318`. Default: OTEL_EXPORTER_OTLP_ENDPOINT. Without either,
    nothing is collected."""
    namespaces: bool = True
    """Whether spans of API calls name the namespace. It is the only name from the cluster in a span, and is masked like
    all text that leaves."""


class Settings(pydantic_settings.BaseSettings):
    """All settings of a server."""

    model_config = pydantic_settings.SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix=PREFIX, env_nested_delimiter="__", env_parse_none_str="none"
    )

    toolsets: Annotated[tuple[str, ...], pydantic_settings.NoDecode] = ()
    """Groups of tools to serve. Code mode is off unless `code` is named here: whether a model's code runs is the
    operator's decision."""
    language: Literal["en", "zh"] = "en"
    """Language of the tools of the toolsets kubectl, helm, cluster and gateway: definitions and messages."""
    read_only: bool = True
    """Refuse every request that could change the cluster. False means `writes = "plan"`, unless `writes` is given."""
    writes: Literal["off", "plan", "direct"] | None = None
    """How scripts may change the cluster. `plan`: their writes are tried (dry run), shown to a person as one diff, and
    sent when that person approves. `direct`: each is tried and sent at once. `read_only = true` beside it means off."""
    approval: Literal["person", "argument"] = "person"
    """Who approves plans: a person, outside the tools; or whoever calls a tool, by its argument `approved`."""
    write_policy: WritePolicy = WritePolicy()
    """What may be changed, and how many must approve it."""
    safety_rules: UserPath | None = None
    """A JSON file of rules about how plans change things (docs/audit.md): which count, and how severely. Default: all
    of them, as they are built in."""
    plans: Plans = Plans()
    """Where plans are kept, and for how long."""
    kubeconfig: UserPath | None = None
    """Default: $KUBECONFIG, ~/.kube/config, or the pod's own service account."""
    kubeconfig_later: bool = False
    """Start although the kubeconfig, or the context in it, is not there yet; the first call looks for it again."""
    context: str | None = None
    """Kubeconfig context; default: the current one, or the first of `contexts`."""
    contexts: Annotated[Mapping[str, Context], pydantic_settings.NoDecode] = {}
    """The only kubeconfig contexts that scripts may name: a list of names, or a table for each in the file. Default:
    one cluster."""
    snapshot: UserPath | None = None
    """Serve a saved cluster instead of a live one."""
    denied_resources: tuple[DeniedResource, ...] = ()
    """Denied, or served as metadata, in addition to the defaults (Secret: metadata; serviceaccounts/token: nothing)."""
    deny_defaults: bool = True
    """Keep the default denials."""
    limits: Limits = Limits()
    """The limits of one script."""
    sandbox: Sandbox = Sandbox()
    """How scripts are confined, and how many run at the same time."""
    redaction: Redaction = Redaction()
    """What is masked before scripts read it."""
    audit: Audit = Audit()
    """What is recorded, and where."""
    output: Output = Output()
    """How answers are written."""
    telemetry: Telemetry = Telemetry()
    """Where traces and metrics go."""
    transport: Literal["stdio", "http"] = "stdio"
    """How clients connect."""
    http: Http = Http()
    """The limits of the http transport."""
    host: str = "127.0.0.1"
    """Address of the http transport. Only loopback is accepted in this version, because there is no authentication yet.
    """
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    """Port of the http transport."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level that is logged."""
    log_format: Literal["auto", "json", "text"] = "auto"
    """How log lines are written; `auto`: text for a person at a terminal, JSON for everybody else."""
    log_file: UserPath | None = None
    """The file to whose end log lines are written; default, and `stderr`: the standard error stream."""

    @pydantic.field_validator("toolsets", mode="before")
    @classmethod
    def _groups(cls, value: object) -> object:
        """Accepts names separated by commas, as flags and variables give them."""
        if isinstance(value, str):
            return split(value)
        return value

    @pydantic.field_validator("contexts", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        """Accepts names without tables: each is a context without settings of its own."""
        if isinstance(value, str):
            value = split(value)
        if isinstance(value, list | tuple):
            return {name: {} for name in value}
        return value

    @pydantic.field_validator("log_file", mode="before")
    @classmethod
    def _stream(cls, value: object) -> object:
        """Accepts the name of the standard error stream, as kubernetes-mcp-server does."""
        return None if str(value) == "stderr" else value

    @property
    def context_names(self) -> tuple[str, ...]:
        """The names of `contexts`, the default one first."""
        names = list(self.contexts)
        if self.context is not None and self.context in self.contexts:
            names.insert(0, self.context)
        return tuple(dict.fromkeys(names))

    @property
    def mode(self) -> Literal["off", "plan", "direct"]:
        """How scripts may change the cluster of these settings."""
        is_off = self.read_only and (self.writes is None or "read_only" in self.model_fields_set)
        if is_off:
            return "off"
        return self.writes or "plan"

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes of all clusters."""
        return tuple(self.of_context(name).mode for name in self.contexts) or (self.mode,)

    @property
    def by_argument(self) -> bool:
        """Whether there are plans that whoever calls a tool approves, by its argument `approved`."""
        return self.approval == "argument" and "plan" in self.modes

    @property
    def writable(self) -> bool:
        """Whether any script may change any cluster, with or without a plan."""
        return set(self.modes) != {"off"}

    def of_context(self, name: str) -> Settings:
        """Returns these settings as they apply to one of `contexts`."""
        own = self.contexts[name]
        updates: dict[str, object] = {"contexts": {}, "context": name}
        for field in own.model_fields_set:
            value = getattr(own, field)
            # An explicit null in a table means "not given", and must not hide the server's setting.
            if value is not None:
                updates[field] = value
        if own.write_policy is not None:
            given = {field: getattr(own.write_policy, field) for field in own.write_policy.model_fields_set}
            updates["write_policy"] = self.write_policy.model_copy(update=given)
        if "writes" in updates:  # the cluster's own word counts, whatever the server says of all clusters
            updates.setdefault("read_only", False)
        return self.model_copy(update=updates)

    @property
    def strict(self) -> bool:
        """Whether the server refuses to start unless every kernel layer is active."""
        if self.sandbox.strict is not None:
            return self.sandbox.strict
        return self.transport == "http"


def split(names: str) -> tuple[str, ...]:
    """Splits a text at its commas; leaves out empty names."""
    parts = [part.strip() for part in names.split(",")]
    return tuple(part for part in parts if part)
