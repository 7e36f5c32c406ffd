"""The flags that the server and every sub-command share, and the settings that result from them. Each command shows
those that mean something to it."""

from __future__ import annotations

import copy
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from kubescript.cli import user_path

if TYPE_CHECKING:
    from kubescript import config

__all__ = ["as_words", "cluster_flags", "file_flags", "of_plans", "remember", "server_flags", "settings"]

_IN_TABLES: Final = {
    "audit": ("audit", "file"),
    "stateless": ("http", "stateless"),
    "tokens_file": ("auth", "tokens_file"),
}
"""Flags for a setting in a table."""
_HTTP_ONLY: Final = frozenset({"transport", "host", "port", "stateless", "tokens_file", "insecure_no_auth"})
_NOT_FOR_PLANS: Final = frozenset({"toolsets", "kubeconfig_later", "log_level", "log_format", "log_file"})
_FLAGS_BEFORE: Final = "kubescript.flags"
"""The key under which a sub-command finds the flags that precede it."""


_TOOLSETS: Final = (
    click.Option(
        ["--toolsets"],
        help="Groups of tools to serve, separated by commas: code, kubectl, helm, cluster, gateway, "
        "openstack, openshift, observability.",
    ),
)
_CLUSTERS: Final = (
    click.Option(["--kubeconfig"], type=user_path.UserPath(), help="Kubeconfig file."),
    click.Option(
        ["--kubeconfig-later"],
        is_flag=True,
        default=None,
        help="Start even without a usable kubeconfig. The first call looks for it again.",
    ),
    click.Option(["--context"], help="Kubeconfig context."),
    click.Option(["--contexts"], help="Kubeconfig contexts that scripts may name, separated by commas."),
    click.Option(["--snapshot"], type=user_path.UserPath(), help="Serve this saved cluster instead of a live one."),
)
_FILES: Final = (
    click.Option(["--config", "config_file"], type=user_path.UserPath(), help="TOML or YAML file with settings."),
    click.Option(
        ["--config-dir"],
        type=user_path.UserPath(),
        help="Folder of TOML files, read in the order of their names. Later settings override; rules add up.",
    ),
)
_CHANGES: Final = (
    click.Option(
        ["--read-only/--no-read-only"],
        default=None,
        help="Refuse every request that could change the cluster. --no-read-only: --writes plan.",
    ),
    click.Option(
        ["--writes"],
        type=click.Choice(["off", "plan", "direct"]),
        help="How the cluster may be changed. plan: a person approves what a script would change. direct: at once.",
    ),
    click.Option(["--audit"], type=user_path.UserPath(), help="Record every script and API call in this file."),
    click.Option(
        ["--audit-keep"],
        type=click.Choice(["scripts", "responses"]),
        help="Also keep, beside the audit file, each script's text or all that `audit replay` needs.",
    ),
)
_LISTENER: Final = (
    click.Option(
        ["--transport"],
        type=click.Choice(["stdio", "http"]),
        help="How clients connect. Default: http if --port or --host is given, else stdio.",
    ),
    click.Option(["--host"], help="Address of the http transport. All but loopback addresses need authentication."),
    click.Option(["--port"], type=int, help="Port of the http transport."),
    click.Option(
        ["--stateless"],
        is_flag=True,
        default=None,
        help="Keep no sessions of http clients, so that any replica answers any request.",
    ),
    click.Option(
        ["--tokens-file"],
        type=user_path.UserPath(),
        help='Who may call over http: a line token,user,uid,"group1,group2" for each.',
    ),
    click.Option(
        ["--insecure-no-auth"],
        is_flag=True,
        default=None,
        help="Serve any --host without authentication: whoever reaches the port has the server's rights.",
    ),
)
_LOG: Final = (
    click.Option(
        ["--log-level"],
        type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
        help="Lowest level that is logged.",
    ),
    click.Option(
        ["--log-format"],
        type=click.Choice(["auto", "json", "text"]),
        help="Format of the log. auto: text on a terminal, JSON elsewhere.",
    ),
    click.Option(
        ["--log-file"], type=user_path.UserPath(), help="Append the log to this file instead of writing it to stderr."
    ),
)

_Command = TypeVar("_Command", bound=click.Command)


def server_flags(command: _Command) -> _Command:
    """Adds the flags of commands that start a server, or that are about its start."""
    return _add(command, (*_TOOLSETS, *_CLUSTERS, *_FILES, *_CHANGES, *_LISTENER, *_LOG))


def cluster_flags(command: _Command) -> _Command:
    """Adds the flags of commands that serve no client: those of a server without its tools and its listener."""
    return _add(command, (*_CLUSTERS, *_FILES, *_CHANGES, *_LOG))


def file_flags(command: _Command) -> _Command:
    """Adds the flags of commands that call no cluster of the settings."""
    return _add(command, (*_FILES, *_LOG))


def _add(command: _Command, shown: Sequence[click.Option]) -> _Command:
    """Adds all flags, and hides those that mean nothing to the command: a person repeats a server's flags."""
    # Flags that are not given set nothing: environment and file decide.
    for option in (*_TOOLSETS, *_CLUSTERS, *_FILES, *_CHANGES, *_LISTENER, *_LOG):
        own = copy.copy(option)
        own.hidden = option not in shown
        command.params.append(own)
    return command


def remember(context: click.Context, flags: dict[str, object]) -> None:
    """Keeps the flags that precede a sub-command for it."""
    context.meta[_FLAGS_BEFORE] = _drop_unset(flags)


def settings(context: click.Context, flags: dict[str, object]) -> config.Settings:
    """Returns the settings of this command. Raises ConfigError."""
    from kubescript import config, errors

    given = _merge_flags(context, flags)
    file = given.pop("config_file", None)
    folder = given.pop("config_dir", None)
    assert file is None or isinstance(file, Path)
    assert folder is None or isinstance(folder, Path)
    kept = given.pop("audit_keep", None)
    given = _with_tables(given, kept)
    loaded = config.load(given, file, folder)
    if kept and loaded.audit.file is None:
        raise errors.ConfigError("--audit-keep needs an audit file", remedy="pass --audit FILE as well")
    if _serves(context):
        return loaded
    return _interactive_defaults(loaded)


def _serves(context: click.Context) -> bool:
    """Says whether the command starts a server; all others answer a person."""
    return context.parent is None or context.info_name == "serve"


def _with_tables(given: dict[str, object], kept: object) -> dict[str, object]:
    """Returns the flags as settings; the flag of a setting in a table is put into that table. `kept` is the value of
    --audit-keep."""
    settings: dict[str, object] = {}
    tables: dict[str, dict[str, object]] = {}
    if kept:
        tables["audit"] = {str(kept): True}
    for name, value in given.items():
        if name not in _IN_TABLES:
            settings[name] = value
            continue
        table, key = _IN_TABLES[name]
        members = tables.setdefault(table, {})
        members[key] = value
    return settings | tables


def of_plans(context: click.Context, flags: dict[str, object]) -> str:
    """Returns the flags that a command about this server's plans needs, quoted for a shell and preceded by a space."""
    words = as_words(context, flags, _NOT_FOR_PLANS)
    if not words:
        return ""
    line = shlex.join(words)
    return f" {line}"


def as_words(context: click.Context, flags: dict[str, object], left_out: frozenset[str] = frozenset()) -> list[str]:
    """Returns the server's flags for a client's configuration: paths are absolute, and flags of the http transport are
    omitted."""
    words: list[str] = []
    values = _merge_flags(context, flags)
    root = context.find_root().command
    for option in root.params:
        value = values.get(option.name or "")
        if value is None or option.name in _HTTP_ONLY | left_out:
            continue
        if isinstance(value, bool):
            spellings = option.opts if value else option.secondary_opts
            words.append(spellings[0])
            continue
        # A client starts the server in a folder of its own.
        if isinstance(value, Path):
            value = value.absolute()
        words += [option.opts[0], str(value)]
    return words


def _drop_unset(flags: dict[str, object]) -> dict[str, object]:
    """Returns the flags that were given, without those that are None."""
    return {name: value for name, value in flags.items() if value is not None}


def _merge_flags(context: click.Context, flags: dict[str, object]) -> dict[str, object]:
    """Returns the flags given before and after the sub-command; the latter take precedence."""
    root = context.find_root()
    before: dict[str, object] = root.meta.get(_FLAGS_BEFORE, {})
    after = _drop_unset(flags)
    return before | after


def _interactive_defaults(settings: config.Settings) -> config.Settings:
    """Returns the settings with defaults for a person at a terminal instead of a server's."""
    updates: dict[str, object] = {}
    if not _names_a_cluster(settings):
        # A script that needs no cluster runs without one.
        updates["kubeconfig_later"] = True
    if "log_level" not in settings.model_fields_set:
        updates["log_level"] = "warning"
    output = settings.output
    if "mark_untrusted" not in output.model_fields_set:
        # The mark is for models.
        updates["output"] = output.model_copy(update={"mark_untrusted": False})
    return settings.model_copy(update=updates)


def _names_a_cluster(settings: config.Settings) -> bool:
    """Says whether a setting, a variable or the default kubeconfig names a cluster."""
    from kubescript.cluster import kubeconfig

    is_listed = settings.contexts or settings.context or settings.fleet.is_on
    return bool(is_listed or kubeconfig.source(settings.kubeconfig))
