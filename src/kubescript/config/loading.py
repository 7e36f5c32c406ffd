"""Settings from flags, environment and file, in that order of precedence; read once.

Environment: `KUBESCRIPT_` and the setting's name, `__` before a nested one (`KUBESCRIPT_LIMITS__API_CALLS=50`). A key
nobody knows is an error that names the nearest one: a misspelt `denied_resources` must not pass for "nothing denied".
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pydantic
import pydantic_settings

from kubescript import errors
from kubescript.config import files, mistakes
from kubescript.config.settings import PREFIX, Settings, split

__all__ = ["load"]

CONFIG_VARIABLE: Final = "KUBESCRIPT_CONFIG"
"""Names the file; not a setting itself."""
_MAX_NAME: Final = 253


def load(flags: Mapping[str, object], file: Path | None) -> Settings:
    """Read all settings. `flags` are those given on the command line. Raises ConfigError, naming the key and what to
    do."""
    path = file or (Path(named) if (named := os.environ.get(CONFIG_VARIABLE)) else None)
    _check_environment()
    flags, data = _chosen(flags, files.read(path) if path is not None else {})
    try:
        settings = _layered(data)(**flags)
    except pydantic.ValidationError as error:
        raise errors.ConfigError(mistakes.explain(error, path)) from None
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
    names = split(named) if isinstance(named, str) else named
    if isinstance(named, str) and not names:
        raise errors.ConfigError("setting `contexts` names none")
    if isinstance(tables, dict) and (lacking := [name for name in names if name not in tables]):
        raise errors.ConfigError(
            f"no table for context `{lacking[0]}` in the file{mistakes.nearest(lacking[0], set(map(str, tables)))}; "
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


def _check_environment() -> None:
    """An unknown KUBESCRIPT_ variable is as wrong as an unknown key in the file."""
    known = {PREFIX + name.upper() for name in Settings.model_fields} | {CONFIG_VARIABLE}
    for variable in os.environ:
        top = variable.split("__")[0].upper()
        if top.startswith(PREFIX) and top not in known and not top.startswith(PREFIX + "TEST"):
            raise errors.ConfigError(f"unknown environment variable {variable}{mistakes.nearest(top, known)}")
        if variable.upper().startswith(f"{PREFIX}CONTEXTS__"):
            raise errors.ConfigError(f"{variable}: what holds for one context is a table [contexts.<name>] of the file")
