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

__all__ = ["PREFIX", "DeniedResource", "Limits", "Sandbox", "Settings", "load"]

PREFIX: Final = "KUBESCRIPT_"
CONFIG_VARIABLE: Final = "KUBESCRIPT_CONFIG"
"""Names the file; not a setting itself."""

MIB: Final = 1024 * 1024


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
    api_calls: Annotated[int, Field(ge=1)] = 1_000
    """Kubernetes API calls of one script, allowed or not."""
    response_mib: Annotated[int, Field(ge=1)] = 1_024
    """MiB of API answers one script may read, summed."""

    def for_script(self, timeout_ms: int | None) -> types.Limits:
        """The limits of one script that asked for `timeout_ms`."""
        return types.Limits(
            timeout_ms=min(timeout_ms or self.default_timeout_ms, self.max_timeout_ms),
            memory_bytes=self.memory_mib * MIB,
            depth=self.depth,
            output_bytes=self.output_kib * 1024,
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
    """Kubeconfig context; default: the current one."""
    snapshot: Path | None = None
    """Serve a saved cluster instead of a live one."""
    denied_resources: tuple[DeniedResource, ...] = ()
    """Denied beside the defaults (Secret, serviceaccounts/token)."""
    deny_defaults: bool = True
    """Keep the default denials."""
    limits: Limits = Limits()
    sandbox: Sandbox = Sandbox()
    transport: Literal["stdio", "http"] = "stdio"
    host: str = "127.0.0.1"
    """Address of the http transport. Only loopback is accepted in this version: there is no authentication yet."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @pydantic.field_validator("toolsets", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(filter(None, (part.strip() for part in value.split(",")))) if isinstance(value, str) else value

    @property
    def strict(self) -> bool:
        """Whether to refuse to start without every kernel layer."""
        return self.transport == "http" if self.sandbox.strict is None else self.sandbox.strict


def load(flags: Mapping[str, object], file: Path | None) -> Settings:
    """Read all settings. `flags` are those given on the command line. Raises ConfigError, naming the key and what to
    do."""
    path = file or (Path(named) if (named := os.environ.get(CONFIG_VARIABLE)) else None)
    _check_environment()
    try:
        return _layered(_read(path) if path is not None else {})(**flags)
    except pydantic.ValidationError as error:
        raise errors.ConfigError(_explain(error, path)) from None


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
            raise errors.ConfigError(f"unknown environment variable {variable}{_nearest(top, known)}")


def _explain(error: pydantic.ValidationError, path: Path | None) -> str:
    return "; ".join(_explain_one(one, path) for one in error.errors(include_url=False, include_input=False))


def _explain_one(one: Mapping[str, Any], path: Path | None) -> str:
    location = tuple(one["loc"])
    name = ".".join(str(part) for part in location)
    if one["type"] == "extra_forbidden":
        where = f" in {path}" if path is not None else ""
        return f"unknown setting `{name}`{where}{_nearest(str(location[-1]), _known_keys(location))}"
    return f"setting `{name}`: {one['msg']}"


def _known_keys(location: tuple[object, ...]) -> Iterator[str]:
    sections: dict[object, type[pydantic.BaseModel]] = {
        "limits": Limits,
        "sandbox": Sandbox,
        "denied_resources": DeniedResource,
    }
    model = sections.get(location[0], Settings) if len(location) > 1 else Settings
    return iter(model.model_fields)


def _nearest(name: str, known: Iterator[str] | set[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else ""
