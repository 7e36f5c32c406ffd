"""All settings, as they hold for a server and for each of its clusters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

import pydantic
import pydantic_settings
from pydantic import Field

from kubescript.config import sections

__all__ = ["PREFIX", "Settings", "split"]

PREFIX: Final = "KUBESCRIPT_"


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
    contexts: Annotated[Mapping[str, sections.Context], pydantic_settings.NoDecode] = {}
    """Kubeconfig contexts that scripts may name, and no other: names, or in the file a table each. Default: one
    cluster."""
    snapshot: Path | None = None
    """Serve a saved cluster instead of a live one."""
    denied_resources: tuple[sections.DeniedResource, ...] = ()
    """Denied beside the defaults (Secret, serviceaccounts/token)."""
    deny_defaults: bool = True
    """Keep the default denials."""
    limits: sections.Limits = sections.Limits()
    sandbox: sections.Sandbox = sections.Sandbox()
    redaction: sections.Redaction = sections.Redaction()
    audit: sections.Audit = sections.Audit()
    output: sections.Output = sections.Output()
    telemetry: sections.Telemetry = sections.Telemetry()
    transport: Literal["stdio", "http"] = "stdio"
    host: str = "127.0.0.1"
    """Address of the http transport. Only loopback is accepted in this version: there is no authentication yet."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8080
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @pydantic.field_validator("toolsets", mode="before")
    @classmethod
    def _groups(cls, value: object) -> object:
        return split(value) if isinstance(value, str) else value

    @pydantic.field_validator("contexts", mode="before")
    @classmethod
    def _names(cls, value: object) -> object:
        names = split(value) if isinstance(value, str) else value
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


def split(names: str) -> tuple[str, ...]:
    """The names between the commas."""
    return tuple(filter(None, (part.strip() for part in names.split(","))))
