"""Every setting, read once from flags, environment and file (in that order of precedence) and frozen.

File: TOML, or YAML by its ending. Environment: `KUBESCRIPT_` and the setting's name, `__` before a nested one
(`KUBESCRIPT_LIMITS__API_CALLS=50`). A key nobody knows is an error that names the nearest one: a misspelt
`denied_resources` must not pass for "nothing denied".
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import pydantic
import pydantic_settings
from pydantic import Field

from kubescript import errors, types

__all__ = [
    "PREFIX", "Audit", "Context", "DeniedResource", "Limits", "Output", "Redaction", "RedactionRule", "Sandbox",
    "Settings", "Telemetry", "load", "nearest",
]  # fmt: skip

PREFIX: Final = "KUBESCRIPT_"
CONFIG_VARIABLE: Final = "KUBESCRIPT_CONFIG"
"""Names the file; not a setting itself."""

MIB: Final = 1024 * 1024
_MAX_NAME: Final = 253


class _Section(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid")


class DeniedResource(_Section):
    """A kind of object no script may touch, in any way. A field that is not given matches everything."""

    group: str | None = None
    """API group; the core group is "", as in kubernetes-mcp-server and in RBAC."""
    version: str = ""
    """API version, as kubernetes-mcp-server has it. A denial holds for every version: each serves the same objects."""
    kind: str = ""
    """As in manifests: `Secret`. Empty means every kind of the group."""
    resource: str = ""
    """As in RBAC: `secrets`, `serviceaccounts/token`."""


class Context(_Section):
    """One of several clusters. What is not given is as for the whole server."""

    context: str | None = None
    """Its name in the kubeconfig; default: the name it is listed under. Two files may both say "default"."""
    kubeconfig: Path | None = None
    snapshot: Path | None = None
    """A saved cluster instead of a live one."""
    read_only: bool | None = None
    denied_resources: tuple[DeniedResource, ...] | None = None
    """In place of the server's, not beside them."""
    deny_defaults: bool | None = None


class Limits(_Section):
    """What one script may use."""

    default_timeout_ms: Annotated[int, Field(ge=100, le=300_000)] = 30_000
    """Milliseconds of wall-clock time when the call names no `timeout`."""
    max_timeout_ms: Annotated[int, Field(ge=100, le=300_000)] = 300_000
    """Largest `timeout` a call may name."""
    memory_mib: Annotated[int, Field(ge=16, le=65_536)] = 512
    """MiB of memory above the warm worker's own."""
    depth: Annotated[int, Field(ge=16, le=1_024)] = 1_024
    """Nested calls. Bounded by what the interpreter's own C stack bears."""
    output_kib: Annotated[int, Field(ge=1, le=4_096)] = 64
    """KiB of the whole answer. 64 KiB are about 16,000 tokens."""
    output_lines: Annotated[int, Field(ge=1, le=100_000)] = 500
    """Lines of one text in the answer: the prints, a text result, a text within a result."""
    api_calls: Annotated[int, Field(ge=1)] = 1_000
    """Kubernetes API calls of one script, allowed or not."""
    response_mib: Annotated[int, Field(ge=1)] = 1_024
    """MiB of API answers one script may read, summed."""
    patience_ms: Annotated[int, Field(ge=100, le=300_000)] = 10_000
    """Milliseconds to wait for an answer to begin, when the server has several contexts: a dead one must leave time
    for the others. With one, a call may take all that the script has left."""

    def for_script(self, timeout_ms: int | None) -> types.Limits:
        """The limits of one script that asked for `timeout_ms`."""
        return types.Limits(
            timeout_ms=min(timeout_ms or self.default_timeout_ms, self.max_timeout_ms),
            memory_bytes=self.memory_mib * MIB,
            depth=self.depth,
            output_bytes=self.output_kib * 1024,
            output_lines=self.output_lines,
            api_calls=self.api_calls,
            response_bytes=self.response_mib * MIB,
        )


class Sandbox(_Section):
    """How scripts are confined and how many run."""

    strict: bool | None = None
    """Refuse to start unless every kernel layer holds. Unset: true for the http transport, a loud warning for stdio."""
    spare_workers: Annotated[int, Field(ge=0, le=32)] = 1
    """Processes kept forked and locked down ahead of time; each serves one script."""
    max_scripts: Annotated[int, Field(ge=1, le=256)] = 8
    """Scripts that run at the same time."""
    max_queue: Annotated[int, Field(ge=0, le=10_000)] = 64
    """Scripts that wait for their turn; one more is told at once that the server is busy."""


class RedactionRule(_Section):
    """A kind of token that is known by its shape."""

    id: Annotated[str, Field(pattern=r"[a-z0-9][a-z0-9-]{0,58}")]
    """Stands in the placeholder."""
    regex: Annotated[str, Field(min_length=3)]
    """What to mask; with a group, only that."""
    probe: str | None = None
    """A simpler pattern for the first scan, which must match wherever `regex` does; default: `regex` itself."""
    entropy: Annotated[float, Field(ge=0, le=8)] = 0.0
    """Bits per byte below which a match is taken for an example."""


class Redaction(_Section):
    """What is masked before scripts read it."""

    enabled: bool = True
    """False shows scripts, and so the model, every secret that is not in a Secret object's denial: said loudly at the
    start."""
    disable: tuple[str, ...] = ()
    """Ids of rules that are not applied."""
    rules: tuple[RedactionRule, ...] = ()
    """Rules beside those that are shipped."""
    allow: tuple[str, ...] = ()
    """Regular expressions; a value in which one is found is not masked. Values of Secrets are, whatever this says."""
    allow_names: tuple[str, ...] = ()
    """Names of variables, fields and flags whose values are not judged by the name."""


class Audit(_Section):
    """What is put on record, and where (docs/audit.md)."""

    file: Path | None = None
    """JSON Lines, appended to. Unset: nothing is recorded."""
    max_mib: Annotated[int, Field(ge=0)] = 64
    """MiB after which the file is set aside as FILE.1, FILE.2, …; 0: never."""
    keep: Annotated[int, Field(ge=0)] = 16
    """Files set aside that are kept; 0: all."""
    fsync: Literal["answer", "record", "never"] = "answer"
    """What waits for the disk: the answer of each script and each change of the cluster, every record, or nothing."""
    key_file: Path | None = None
    """A file with at least 32 bytes that key the hashes (HMAC): only who has it can continue or check the chain."""
    scripts: bool = False
    """Keep each script's text beside the file, by its hash."""
    responses: bool = False
    """Keep what each script saw and answered, for `kubescript audit replay`. Includes `scripts`."""


class Output(_Section):
    """How answers are written."""

    mark_untrusted: bool = True
    """Fence what workloads wrote, so that a model takes it for data."""
    structured: bool = False
    """Give results as `structuredContent` too, with an output schema. Costs the tokens of the result twice."""


class Telemetry(_Section):
    """Where traces and metrics go. The standard OTEL_* variables hold as well."""

    otlp_endpoint: str | None = None
    """Base URL of an OTLP/HTTP receiver: `http://collector:4318`. Default: OTEL_EXPORTER_OTLP_ENDPOINT; without
    either, nothing is collected."""


class Settings(pydantic_settings.BaseSettings):
    """All settings."""

    model_config = pydantic_settings.SettingsConfigDict(
        frozen=True, extra="forbid", env_prefix=PREFIX, env_nested_delimiter="__", env_parse_none_str="none"
    )

    toolsets: Annotated[tuple[str, ...], pydantic_settings.NoDecode] = ()
    """Groups of tools to serve. Code mode is off unless `code` is named here: running a model's code is the operator's
    decision."""
    read_only: bool = True
    """Refuse every request that could change the cluster."""
    kubeconfig: Path | None = None
    """Default: $KUBECONFIG, ~/.kube/config, or the pod's own service account."""
    context: str | None = None
    """Kubeconfig context; default: the current one, or the first of `contexts`."""
    contexts: Annotated[Mapping[str, Context], pydantic_settings.NoDecode] = {}
    """Kubeconfig contexts that scripts may name, and no other: names, or in the file a table each. Default: one
    cluster."""
    snapshot: Path | None = None
    """Serve a saved cluster instead of a live one."""
    denied_resources: tuple[DeniedResource, ...] = ()
    """Denied beside the defaults (Secret, serviceaccounts/token)."""
    deny_defaults: bool = True
    """Keep the default denials."""
    limits: Limits = Limits()
    sandbox: Sandbox = Sandbox()
    redaction: Redaction = Redaction()
    audit: Audit = Audit()
    output: Output = Output()
    telemetry: Telemetry = Telemetry()
    transport: Literal["stdio", "http"] = "stdio"
    host: str = "127.0.0.1"
    """Address of the http transport. Only loopback is accepted in this version: there is no authentication yet."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @pydantic.field_validator("toolsets", mode="before")
    @classmethod
    def _groups(cls, value: object) -> object:
        return _split(value) if isinstance(value, str) else value

    @pydantic.field_validator("contexts", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        names = _split(value) if isinstance(value, str) else value
        return {name: {} for name in names} if isinstance(names, list | tuple) else names

    @property
    def context_names(self) -> tuple[str, ...]:
        """The names of `contexts`, the default one first."""
        first = (self.context,) if self.context in self.contexts else ()
        return tuple(dict.fromkeys((*first, *self.contexts)))

    @property
    def writable(self) -> bool:
        """Whether any script may change any cluster."""
        clusters = [self.of_context(name) for name in self.contexts] or [self]
        return not all(each.read_only for each in clusters)

    def of_context(self, name: str) -> Settings:
        """These settings as they hold for one of `contexts`."""
        own = self.contexts[name]
        given = {field: value for field in own.model_fields_set if (value := getattr(own, field)) is not None}
        return self.model_copy(update={"contexts": {}, "context": name, **given})

    @property
    def strict(self) -> bool:
        """Whether to refuse to start without every kernel layer."""
        return self.transport == "http" if self.sandbox.strict is None else self.sandbox.strict


def load(flags: Mapping[str, object], file: Path | None) -> Settings:
    """Read all settings. `flags` are those given on the command line. Raises ConfigError, naming the key and what to
    do."""
    path = file or (Path(named) if (named := os.environ.get(CONFIG_VARIABLE)) else None)
    _check_environment()
    flags, data = _chosen(flags, _read(path) if path is not None else {})
    try:
        settings = _layered(data)(**flags)
    except pydantic.ValidationError as error:
        raise errors.ConfigError(_explain(error, path)) from None
    _check_contexts(settings)
    stated = "read_only" in flags or _variable("read_only") is not None
    return _closed(settings) if stated and settings.read_only else settings


def _chosen(flags: Mapping[str, Any], file: dict[str, Any]) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """`contexts` of a flag or variable say which clusters to serve; the file's tables say how.

    A name without a table is refused where there are tables: a misspelt one must not pass for "no rules of its own".
    """
    named, tables = flags.get("contexts", _variable("contexts") or None), file.get("contexts")
    if named is None:
        return flags, file
    names = _split(named) if isinstance(named, str) else named
    if isinstance(named, str) and not names:
        raise errors.ConfigError("setting `contexts` names none")
    if isinstance(tables, dict) and (lacking := [name for name in names if name not in tables]):
        raise errors.ConfigError(
            f"no table for context `{lacking[0]}` in the file{nearest(lacking[0], set(map(str, tables)))}; "
            f"there is: {', '.join(map(str, tables))}"
        )
    chosen = {name: tables[name] if isinstance(tables, dict) else {} for name in names}
    return {**flags, "contexts": chosen}, {key: value for key, value in file.items() if key != "contexts"}


def _check_contexts(settings: Settings) -> None:
    """What contradicts itself is an error, never a guess which half was meant."""
    if not settings.contexts:
        return
    for name, context in settings.contexts.items():
        if not name.strip() or not name.isprintable() or len(name) > _MAX_NAME:
            raise errors.ConfigError(f"setting `contexts`: {name[:_MAX_NAME]!r} cannot be a context's name")
        if context.snapshot and (context.kubeconfig or context.context):
            raise errors.ConfigError(f"setting `contexts.{name}`: give a snapshot or a kubeconfig, not both")
    if settings.snapshot is not None:
        raise errors.ConfigError(
            "settings `contexts` and `snapshot` exclude each other: in the file, give one of the contexts a `snapshot`"
        )
    if settings.context is not None and settings.context not in settings.contexts:
        known = ", ".join(settings.contexts)
        raise errors.ConfigError(f"context `{settings.context}` is not among `contexts`; there is: {known}")


def _closed(settings: Settings) -> Settings:
    """`--read-only` and its variable come before the file, so no table of the file opens what they close. The other
    way round they open nothing that a table closes."""
    closed = {name: each.model_copy(update={"read_only": True}) for name, each in settings.contexts.items()}
    return settings.model_copy(update={"contexts": closed})


def _variable(name: str) -> str | None:
    wanted = PREFIX + name.upper()
    return next((value for variable, value in os.environ.items() if variable.upper() == wanted), None)


def _split(names: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in names.split(","))))


def _layered(file: dict[str, Any]) -> Callable[..., Settings]:
    """Settings whose sources are flags, then environment, then this file's data; no .env file, no secrets directory."""

    class Layered(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[pydantic_settings.BaseSettings],
            init_settings: pydantic_settings.PydanticBaseSettingsSource,
            env_settings: pydantic_settings.PydanticBaseSettingsSource,
            dotenv_settings: pydantic_settings.PydanticBaseSettingsSource,  # noqa: ARG003 - the base class names them
            file_secret_settings: pydantic_settings.PydanticBaseSettingsSource,  # noqa: ARG003
        ) -> tuple[pydantic_settings.PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, pydantic_settings.InitSettingsSource(settings_cls, file)

    return Layered


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise errors.ConfigError(f"cannot read the configuration file {path}: {error}") from None
    data = _parse(path, text)
    if not isinstance(data, dict):
        raise errors.ConfigError(f"{path}: expected settings at the top level, got {type(data).__name__}")
    return data


def _parse(path: Path, text: str) -> object:
    try:
        if path.suffix in {".yaml", ".yml"}:
            import yaml

            return yaml.safe_load(text) or {}
        return tomllib.loads(text)
    except ValueError as error:
        raise errors.ConfigError(f"{path}: {error}") from None
    except Exception as error:
        if type(error).__module__.startswith("yaml"):
            raise errors.ConfigError(f"{path}: {error}") from None
        raise


def _check_environment() -> None:
    """An unknown KUBESCRIPT_ variable is as wrong as an unknown key in the file."""
    known = {PREFIX + name.upper() for name in Settings.model_fields} | {CONFIG_VARIABLE}
    for variable in os.environ:
        top = variable.split("__")[0].upper()
        if top.startswith(PREFIX) and top not in known and not top.startswith(PREFIX + "TEST"):
            raise errors.ConfigError(f"unknown environment variable {variable}{nearest(top, known)}")
        if variable.upper().startswith(f"{PREFIX}CONTEXTS__"):
            raise errors.ConfigError(f"{variable}: what holds for one context is a table [contexts.<name>] of the file")


def _explain(error: pydantic.ValidationError, path: Path | None) -> str:
    return "; ".join(_explain_one(one, path) for one in error.errors(include_url=False, include_input=False))


def _explain_one(one: Mapping[str, Any], path: Path | None) -> str:
    location = tuple(one["loc"])
    name = ".".join(str(part) for part in location)
    if one["type"] == "extra_forbidden":
        where = f" in {path}" if path is not None else ""
        return f"unknown setting `{name}`{where}{nearest(str(location[-1]), _known_keys(location))}"
    return f"setting `{name}`: {one['msg']}"


def _known_keys(location: tuple[object, ...]) -> Iterator[str]:
    sections: dict[object, type[pydantic.BaseModel]] = {
        "contexts": DeniedResource if "denied_resources" in location else Context,
        "limits": Limits,
        "sandbox": Sandbox,
        "audit": Audit,
        "output": Output,
        "telemetry": Telemetry,
        "denied_resources": DeniedResource,
        "redaction": RedactionRule if "rules" in location else Redaction,
    }
    model = sections.get(location[0], Settings) if len(location) > 1 else Settings
    return iter(model.model_fields)


def nearest(name: str, known: Iterator[str] | set[str]) -> str:
    """A suggestion to end an error with; empty when nothing is near."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else ""
