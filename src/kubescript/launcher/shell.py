"""openstackclient's shell with fewer global options, commands and sources of settings."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import yaml
from cliff import command, commandmanager
from openstackclient import shell
from openstackclient.common import clientmanager
from osc_lib.cli import client_config

from kubescript.launcher import classification, gate, options
from kubescript.launcher.refusal import Refused

__all__ = ["Access", "Shell"]

# At the next higher level, requests would be logged with their contents.
_INFO: Final = 2
"""The level that one --verbose sets."""
# These settings would show tracebacks or write files.
_OURS: Final = ("debug", "log_file", "log-file", "logging", "verbose_level", "verbose-level")
"""Settings of a cloud that are left out."""
_VERSION: Final = re.compile(r"(\d+)\.(\d+)", re.ASCII)


@dataclass(frozen=True)
class Access:
    """The credentials with which a command runs, and its permissions."""

    clouds: str
    """The text of a clouds.yaml."""
    secure: str
    """The text of a secure.yaml; may be empty."""
    cloud: str
    microversions: Mapping[str, str]
    allowed: tuple[str, ...]
    allow_write: bool


class Shell(shell.OpenStackShell):
    """The shell for one command line."""

    __module__ = shell.__name__  # otherwise each help text would say that its command is a plugin's

    def __init__(self, access: Access, wall: gate.Gate) -> None:
        self._access = access
        self._wall = wall
        super().__init__()
        self._commands = _Commands(access, self.command_manager)
        self.command_manager = self._commands
        # cliff shows tracebacks until the options are parsed.
        self.options = argparse.Namespace(debug=False)
        self.dump_stack_trace = False

    def build_option_parser(
        self, description: str | None, version: str | None, argparse_kwargs: dict[str, Any] | None = None
    ) -> argparse.ArgumentParser:
        """Returns the parser of the remaining global options."""
        complete = super().build_option_parser(description, version, argparse_kwargs)
        self._global_options = options.GlobalOptions(complete)
        parser = self._global_options.parser()
        destinations = {action.dest for action in complete._actions}
        known = destinations.intersection(self._access.microversions)
        # An empty default leaves the decision to the cloud's settings, which contain the microversions (_config).
        parser.set_defaults(**dict.fromkeys(known, ""))
        parser.set_defaults(cloud=self._access.cloud)
        return parser

    def run(self, argv: list[str]) -> int:
        """Runs the command line; returns its exit code. Raises Refused and SystemExit."""
        self._global_options.check(argv)
        return super().run(argv)

    def configure_logging(self) -> None:
        """Logs to stderr, without requests."""
        chosen = self.options.verbose_level
        self.options.verbose_level = min(chosen, _INFO)
        super().configure_logging()

    def initialize_app(self, argv: list[str]) -> None:
        """Reads the settings only from the two given texts, and opens the wall for the login."""
        client_config.OSC_Config = _config(self._access)  # type: ignore[misc]
        super().initialize_app(argv)
        settings = self.cloud.config
        login = settings.get("auth") or {}
        auth_url = str(login.get("auth_url"))
        endpoint = str(login.get("endpoint"))
        overrides = [value for key, value in settings.items() if key.endswith("endpoint_override")]
        self._wall.open_for_login(auth_url)
        self._wall.open_for(filter(None, overrides))
        self._wall.open_for([endpoint])

    def _load_commands(self) -> None:
        super()._load_commands()
        self._commands.judge()

    def interact(self) -> None:
        """Refuses a command line without a command."""
        # openstackclient would read commands from its stdin.
        raise Refused("no command was named: `help` lists them.")

    def prepare_to_run_command(self, cmd: command.Command) -> None:
        """Logs in, and opens the wall for the addresses in the catalog."""
        super().prepare_to_run_command(cmd)
        access = self.client_manager.auth_ref
        if access and access.has_service_catalog():
            catalog = access.service_catalog.catalog
            self._wall.open_for(gate.addresses(catalog))


class _Commands(commandmanager.CommandManager):
    """The commands. Those that may not run explain why when they are named, and are not listed."""

    def __init__(self, access: Access, original: commandmanager.CommandManager) -> None:
        self._access = access
        self._refused: set[str] = set()
        super().__init__(original.namespace, ignored_modules=original.ignored_modules)
        self.commands: dict[str, Any] = original.commands

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yields the commands that may run; the list of commands shows no others."""
        for name, entry in list(self.commands.items()):
            if name not in self._refused:
                yield name, entry

    def judge(self) -> None:
        """Replaces the entry points of commands that are refused or reduced."""
        rules = classification.load()
        access = self._access
        for name, entry in list(self.commands.items()):
            why = rules.refusal(name, access.allowed, allow_write=access.allow_write)
            if why is not None:
                self._refused.add(name)
                self.commands[name] = _RefusedEntry(name, why)
            elif name in rules.options:
                self.commands[name] = _ReducedEntry(name, entry, rules.options[name])


@dataclass(frozen=True)
class _RefusedEntry:
    """An entry point that replaces that of a refused command."""

    name: str
    why: str
    value: str = ""

    def load(self) -> type[command.Command]:
        raise Refused(self.why)


@dataclass(frozen=True)
class _ReducedEntry:
    """The entry point of a command without some of its options."""

    name: str
    entry: Any
    options: frozenset[str]
    value: str = ""

    def load(self) -> type[command.Command]:
        original: type[command.Command] = self.entry.load()
        forbidden = self.options

        def get_parser(self: Any, prog_name: str) -> argparse.ArgumentParser:
            return options.forbid(original.get_parser(self, prog_name), forbidden)

        body = {"get_parser": get_parser, "__module__": original.__module__, "__doc__": original.__doc__}
        return type(original.__name__, (original,), body)


def _config(access: Access) -> type[client_config.OSC_Config]:
    """Returns a class that reads the settings only from the two given texts, and not from the environment, folders or
    vendor files."""

    class Config(client_config.OSC_Config):
        def __init__(self, **settings: Any) -> None:
            super().__init__(config_files=[], secure_files=[], vendor_files=[], load_envvars=False, **settings)
            clouds = self.cloud_config["clouds"]
            for name, cloud in clouds.items():
                clouds[name] = _adapt(cloud, access.microversions)

        def _load_config_file(self) -> tuple[str, dict[str, Any]]:
            settings = _parse(access.clouds)
            return "clouds.yaml", settings

        def _load_secure_file(self) -> tuple[str, dict[str, Any]]:
            settings = _parse(access.secure)
            return "secure.yaml", settings

    return Config


def _parse(text: str) -> dict[str, Any]:
    """Returns the settings in one of the two texts. Raises Refused."""
    try:
        settings = yaml.safe_load(text) or {}
        clouds = settings.get("clouds") or {}
        are_tables = all(isinstance(cloud, dict) for cloud in clouds.values())
        if are_tables:
            return cast("dict[str, Any]", settings)
    except (AttributeError, ValueError, yaml.YAMLError):
        pass  # the error quotes the text, which contains a password
    raise Refused("the settings of the clouds are not what a clouds.yaml holds; ask the operator of this server.")


def _adapt(cloud: Mapping[str, Any], microversions: Mapping[str, str]) -> dict[str, Any]:
    """Returns the settings of one cloud, with the microversions that it does not set itself."""
    adapted = {key: value for key, value in cloud.items() if key not in _OURS}
    for option, version in microversions.items():
        name = option.removeprefix("os_")
        with_hyphens = name.replace("_", "-")
        is_set = name in adapted or with_hyphens in adapted
        known = _choose_version(option, version)
        if known and not is_set:
            adapted[name] = known
    return adapted


def _choose_version(option: str, version: str) -> str | None:
    """Returns the version, or the greatest below it that the client supports, where the client lists its versions."""
    for module in clientmanager.PLUGIN_MODULES:
        if option != module.API_VERSION_OPTION:
            continue
        if hasattr(module, "check_api_version"):
            return version
        most = _number(version)
        numbers = map(_number, module.API_VERSIONS)
        known = [number for number in numbers if number <= most]
        if not known:
            return None
        major, minor = max(known)
        return f"{major}.{minor}"
    return None


def _number(version: str) -> tuple[int, int]:
    """Returns a version as numbers; zeros for any other string."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return 0, 0
    return int(found[1]), int(found[2])
