"""Settings from flags, environment and file, in that order of precedence; read once.

Environment: `KUBESCRIPT_` and the setting's name, `__` before a nested one (`KUBESCRIPT_LIMITS__API_CALLS=50`). A key
nobody knows is an error that names the nearest one: a misspelt `denied_resources` must not pass for "nothing denied".
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, get_args

import pydantic
import pydantic_settings

from kubescript import errors
from kubescript.config.settings import PREFIX, Settings, split

__all__ = ["load", "nearest"]

CONFIG_VARIABLE: Final = "KUBESCRIPT_CONFIG"
"""Names the file; not a setting itself."""
_MAX_NAME: Final = 253


def load(flags: Mapping[str, object], file: Path | None) -> Settings:
    """Read all settings. `flags` are those given on the command line. Raises ConfigError, naming the key and what to
    do."""
    path = file or (Path(named) if (named := os.environ.get(CONFIG_VARIABLE)) else None)
    _check_environment()
    flags, data = _with_chosen_contexts(flags, _read_file(path) if path is not None else {})
    try:
        settings = _layered(data)(**flags)
    except pydantic.ValidationError as error:
        raise errors.ConfigError(_explain(error, path)) from None
    _check_contexts(settings)
    stated = "read_only" in flags or _variable("read_only") is not None
    return _read_only_everywhere(settings) if stated and settings.read_only else settings


def _with_chosen_contexts(flags: Mapping[str, Any], file: dict[str, Any]) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """`contexts` of a flag or variable say which clusters to serve; the file's tables say how.

    A name without a table is refused where there are tables: a misspelt one must not pass for "no rules of its own".
    """
    named, tables = flags.get("contexts", _variable("contexts") or None), file.get("contexts")
    if named is None:
        return flags, file
    names = split(named) if isinstance(named, str) else named
    if isinstance(named, str) and not names:
        raise errors.ConfigError("setting `contexts` names none")
    if isinstance(tables, dict) and (unknown := [name for name in names if name not in tables]):
        raise errors.ConfigError(
            f"no table for context `{unknown[0]}` in the file{nearest(unknown[0], set(map(str, tables)))}; "
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


def _read_only_everywhere(settings: Settings) -> Settings:
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
            raise errors.ConfigError(f"unknown environment variable {variable}{nearest(top, known)}")
        if variable.upper().startswith(f"{PREFIX}CONTEXTS__"):
            raise errors.ConfigError(f"{variable}: what holds for one context is a table [contexts.<name>] of the file")


def _read_file(path: Path) -> dict[str, Any]:
    """The tables of the file. Raises ConfigError."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise errors.ConfigError(f"cannot read the configuration file {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise errors.ConfigError(f"cannot read the configuration file {path}: it is not UTF-8 text") from None
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
            mark = getattr(error, "problem_mark", None)
            where = f", line {mark.line + 1}" if mark is not None else ""
            why = getattr(error, "problem", None) or "not valid YAML"
            raise errors.ConfigError(f"{path}{where}: {why}") from None
        raise


def _explain(error: pydantic.ValidationError, path: Path | None) -> str:
    """What to change in the file at `path`, the flags or the environment."""
    return "; ".join(_explain_error(one, path) for one in error.errors(include_url=False, include_input=False))


def _explain_error(one: Mapping[str, Any], path: Path | None) -> str:
    location = tuple(one["loc"])
    name = ".".join(str(part) for part in location)
    if one["type"] == "extra_forbidden":
        where = f" in {path}" if path is not None else ""
        return f"unknown setting `{name}`{where}{nearest(str(location[-1]), _section(location).model_fields)}"
    return f"setting `{name}`: {one['msg']}"


def _section(location: tuple[object, ...]) -> type[pydantic.BaseModel]:
    """The section that a key's path leads to; the names of contexts and the numbers of a list lead to none."""
    section: type[pydantic.BaseModel] = Settings
    for part in location[:-1]:
        field = section.model_fields.get(str(part))
        section = (_model(field.annotation) if field is not None else None) or section
    return section


def _model(annotation: object) -> type[pydantic.BaseModel] | None:
    """The section in an annotation such as `tuple[RedactionRule, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    return next(filter(None, map(_model, get_args(annotation))), None)


def nearest(name: str, known: Iterable[str]) -> str:
    """A suggestion to end an error with; empty when nothing is near."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else ""
