"""Reads the settings from flags, environment and file, in this order of precedence.

A variable is `KUBESCRIPT_` and the setting's name, with `__` before a nested name (`KUBESCRIPT_LIMITS__API_CALLS=50`).
The file is TOML, or YAML if its name says so. An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, get_args

import pydantic
import pydantic_settings

from kubescript import errors
from kubescript.config import files, rhos
from kubescript.config.commands import ROUTES
from kubescript.config.context_table import Context
from kubescript.config.lowering import lower_tables
from kubescript.config.section import with_home
from kubescript.config.settings import PREFIX, Mode, Settings, split
from kubescript.config.suggestions import nearest
from kubescript.wire import exchanges

__all__ = ["load"]

log = logging.getLogger(__name__)

CONFIG_VARIABLE: Final = "KUBESCRIPT_CONFIG"
"""The variable that names the file; it is not a setting itself."""
_STORES: Final = (f"{PREFIX}REPLICAS__STORE", f"{PREFIX}PLANS__STORE")
"""The variables that say where state is kept."""
_HTTP_ONLY: Final = ("port", "host")
"""Settings that only apply to http; each implies it."""
_MAX_NAME: Final = 253
"""The maximum number of characters of a context's name."""


def load(flags: Mapping[str, object], file: Path | None, folder: Path | None = None) -> Settings:
    """Reads all settings. `flags` are those given on the command line; the TOML files in `folder` are added to `file`.

    Raises ConfigError, which names the key and says what to do.
    """
    flags = _flags_with_transport(flags)
    _check_environment()
    path, data = _from_file(file, flags)
    if folder is not None:
        data = files.with_folder(data, folder)
        path = folder
    flags, data = _with_chosen_contexts(flags, data)
    try:
        settings = _layer(data)(**flags)
    except pydantic.ValidationError as error:
        raise errors.ConfigError(_explain(error, path)) from None
    except pydantic_settings.SettingsError as error:  # it names the setting, and quotes no value
        remedy = """lists and tables in variables are JSON: KUBESCRIPT_HTTP__HOSTS='["a.example.com"]'"""
        raise errors.ConfigError(f"a {PREFIX} variable cannot be read: {error}", remedy=remedy) from None
    _check_contexts(settings)
    return _with_bound(_with_shared_store(_with_transport(settings)), flags)


def _from_file(file: Path | None, flags: Mapping[str, object]) -> tuple[Path | None, dict[str, Any]]:
    """Returns the file in force, and its contents in our format. Raises ConfigError."""
    if file is None:
        named = os.environ.get(CONFIG_VARIABLE)
        theirs = os.environ.get(rhos.VARIABLE)
        if named and theirs:
            raise errors.ConfigError(
                f"{CONFIG_VARIABLE} and {rhos.VARIABLE} both name a configuration file",
                remedy="leave one of the two out",
            )
        if not named:
            return _from_theirs(theirs, flags)
        file = Path(named)
    path = with_home(file)
    data = files.read_file(path)
    if rhos.is_beside(data):
        data = rhos.translate(data, path)
    return path, data


def _from_theirs(named: str | None, flags: Mapping[str, object]) -> tuple[Path | None, dict[str, Any]]:
    """Returns the rhos-mcps file in force where no other is named. Raises ConfigError."""
    if named:
        path = with_home(Path(named))
        data = files.read_file(path, is_yaml=True)
        return path, rhos.translate(data, path)
    path = rhos.FILE
    if not _asks_for_theirs(flags) or not path.is_file():
        return None, {}
    try:
        data = files.read_file(path)
    except errors.ConfigError:  # the file belongs to another program
        return None, {}
    if not rhos.is_beside(data):
        return None, {}
    log.warning("the settings of %s count; --config names another file", path.absolute())
    return path, rhos.translate(data, path)


def _asks_for_theirs(flags: Mapping[str, object]) -> bool:
    """Says whether flags and variables ask for the toolsets of rhos-mcps, over http as it serves them."""
    # Attack: a repository contains a config.yaml, and a client starts this server in its folder. Clients use stdio.
    is_http = flags.get("transport", _variable("transport")) == "http"
    if "transport" not in flags:
        is_http = is_http or any(map(_variable, _HTTP_ONLY))
    toolsets = flags.get("toolsets", _variable("toolsets"))
    if not is_http or not isinstance(toolsets, str):
        return False
    names = set(split(toolsets))
    return not names.isdisjoint(ROUTES)


def _flags_with_transport(flags: Mapping[str, object]) -> Mapping[str, object]:
    """Adds the transport that `--port` and `--host` imply. Raises ConfigError when --transport names another."""
    implying = [name for name in _HTTP_ONLY if name in flags]
    if not implying:
        return flags
    if flags.get("transport", "http") != "http":
        raise errors.ConfigError(f"--{implying[0]} is for the http transport", remedy="leave one of the two out")
    return {**flags, "transport": "http"}


def _with_transport(settings: Settings) -> Settings:
    """Returns the settings with the http transport when a port or address is set but no transport."""
    given = settings.model_fields_set
    if "transport" in given or given.isdisjoint(_HTTP_ONLY):
        return settings
    return settings.model_copy(update={"transport": "http"})


def _with_shared_store(settings: Settings) -> Settings:
    """Returns the settings with plans in the database of the replicas, unless they are kept elsewhere."""
    if not settings.replicas.store or settings.plans.store:
        return settings
    plans = settings.plans.model_copy(update={"store": settings.replicas.store})
    return settings.model_copy(update={"plans": plans})


def _with_chosen_contexts(flags: Mapping[str, Any], file: dict[str, Any]) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Combines the `contexts` flag or variable, which chooses the clusters, with the file's tables of their settings.

    Raises ConfigError for a name without a table when the file has tables.
    """
    # A misspelt name must not pass for a cluster without its own rules.
    named = flags.get("contexts", _variable("contexts") or None)
    if named is None:
        return flags, file
    names = split(named) if isinstance(named, str) else named
    if isinstance(named, str) and not names:
        raise errors.ConfigError("the setting `contexts` is empty")
    tables = file.get("contexts")
    if not isinstance(tables, dict):
        tables = {name: {} for name in names}
    _check_tables(names, tables)
    chosen = {name: tables[name] for name in names}
    others = {key: value for key, value in file.items() if key != "contexts"}
    return {**flags, "contexts": chosen}, others


def _check_tables(names: Iterable[str], tables: Mapping[str, Any]) -> None:
    """Refuses the first name that has no table."""
    for name in names:
        if name in tables:
            continue
        known = [str(table) for table in tables]
        shown = ", ".join(known)
        suggestion = nearest(name, set(known))
        raise errors.ConfigError(f"no table for context `{name}` in the file{suggestion}; there is: {shown}")


def _check_contexts(settings: Settings) -> None:
    """Refuses settings that contradict each other."""
    # The server never guesses which of two settings was meant.
    if settings.fleet.is_on and settings.snapshot is not None:
        raise errors.ConfigError("the settings `fleet` and `snapshot` cannot be combined")
    if not settings.contexts:
        return
    for name, context in settings.contexts.items():
        _check_context(name, context)
    if settings.snapshot is not None:
        raise errors.ConfigError(
            "the settings `contexts` and `snapshot` cannot be combined; in the file, give a context a `snapshot`"
        )
    is_found = settings.fleet.is_on
    if settings.context is not None and settings.context not in settings.contexts and not is_found:
        known = ", ".join(settings.contexts)
        raise errors.ConfigError(f"context `{settings.context}` is not among `contexts`; there is: {known}")


def _check_context(name: str, context: Context) -> None:
    """Refuses a name that cannot be shown in one line, and a context with two sources."""
    is_printable = bool(name.strip()) and name.isprintable()
    if not is_printable or name == exchanges.MORE or len(name) > _MAX_NAME:
        shown = name[:_MAX_NAME]
        raise errors.ConfigError(f"setting `contexts`: {shown!r} cannot be a context's name")
    is_live = context.kubeconfig or context.context
    if context.snapshot and is_live:
        raise errors.ConfigError(f"setting `contexts.{name}`: give a snapshot or a kubeconfig, not both")


def _with_bound(settings: Settings, flags: Mapping[str, object]) -> Settings:
    """Caps every context, and the command lines, at the mode that flags and variables permit."""
    # `--read-only`, `--writes` and their variables take precedence over the file, so no table in the file can permit
    # writes that they forbid. The reverse does not hold: they do not permit writes that a table forbids.
    if _is_stated("read_only", flags) and settings.read_only:
        most: Mode = "off"
    elif _is_stated("writes", flags) and settings.writes is not None:
        most = settings.writes
    else:
        return settings
    return settings.model_copy(update=lower_tables(settings, most))


def _is_stated(name: str, flags: Mapping[str, object]) -> bool:
    """Says whether a flag or a variable gives a setting."""
    if name in flags:
        return True
    return _variable(name) is not None


def _variable(name: str) -> str | None:
    """Returns the value of a setting's environment variable; its name may be in upper or lower case."""
    wanted = PREFIX + name.upper()
    for variable, value in os.environ.items():
        if variable.upper() == wanted:
            return value
    return None


def _layer(file: dict[str, Any]) -> Callable[..., Settings]:
    """Returns a class of settings that reads flags, then the environment, then the file's data. It reads neither `.env`
    files nor directories of secrets."""

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
            from_file = pydantic_settings.InitSettingsSource(settings_cls, file)
            return init_settings, env_settings, from_file

    return Layered


def _check_environment() -> None:
    """Refuses an unknown KUBESCRIPT_ variable, as `load` refuses an unknown key of the file, and an empty store."""
    known = {PREFIX + name.upper() for name in Settings.model_fields}
    known.add(CONFIG_VARIABLE)
    for variable, value in os.environ.items():
        top, _, _ = variable.upper().partition("__")
        is_ours = top.startswith(PREFIX) and not top.startswith(f"{PREFIX}TEST")
        if is_ours and top not in known:
            suggestion = nearest(top, known)
            raise errors.ConfigError(f"unknown environment variable {variable}{suggestion}")
        # A Secret's key that is empty must not pass for no store: each replica would keep a state of its own.
        if variable.upper() in _STORES and not value.strip():
            raise errors.ConfigError(f"{variable} is empty", remedy="write the store into it (its Secret) or unset it")
        if variable.upper().startswith(f"{PREFIX}CONTEXTS__"):
            raise errors.ConfigError(
                f"{variable}: settings of one context belong in a table [contexts.<name>] of the file"
            )


def _explain(error: pydantic.ValidationError, path: Path | None) -> str:
    """Describes what to change in the file at `path`, the flags or the environment."""
    # The input is left out, because it may be a credential.
    found = error.errors(include_url=False, include_input=False)
    mistakes = [_explain_error(one, path) for one in found]
    return "; ".join(mistakes)


def _explain_error(one: Mapping[str, Any], path: Path | None) -> str:
    """Describes one mistake: its key, its file, and the nearest known key if it is unknown."""
    location = tuple(one["loc"])
    name = ".".join(map(str, location))
    if one["type"] != "extra_forbidden":
        # Our own validators' messages follow pydantic's words.
        message = one["msg"].removeprefix("Value error, ")
        return f"setting `{name}`: {message}" if name else message
    where = f" in {path}" if path is not None else ""
    known = _section(location).model_fields
    key = str(location[-1])
    # A misspelt `denied_resources` must not pass for "nothing denied".
    suggestion = nearest(key, known)
    return f"unknown setting `{name}`{where}{suggestion}"


def _section(location: tuple[object, ...]) -> type[pydantic.BaseModel]:
    """Returns the section that a key's path leads to, ignoring names of contexts and positions in lists."""
    section: type[pydantic.BaseModel] = Settings
    *parents, _ = location
    for part in parents:
        field = section.model_fields.get(str(part))
        if field is not None:
            section = _model(field.annotation) or section
    return section


def _model(annotation: object) -> type[pydantic.BaseModel] | None:
    """Returns the section in an annotation such as `tuple[RedactionRule,...]`; None if it contains no section."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    for argument in get_args(annotation):
        model = _model(argument)
        if model is not None:
            return model
    return None
