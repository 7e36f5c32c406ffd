"""Options that several commands share, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from kubescript_safety import scenario
from kubescript_safety.servers import setup

__all__ = ["WRONG", "Wrong", "chosen", "most", "scenarios", "selection", "servers", "setups"]

WRONG: Final = 2
"""The exit code when something cannot be done as asked; click's own for wrong usage."""
_Command = TypeVar("_Command", bound=Callable[..., Any])
_Named = TypeVar("_Named")


class Wrong(click.ClickException):
    """What a person reads who has asked for something that cannot be done."""

    exit_code = WRONG


def _split(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the words of an option that takes several, with commas or given again."""
    return tuple(word.strip() for part in value for word in part.split(",") if word.strip())


def selection(command: _Command) -> _Command:
    """The options that say which scenarios are meant."""
    folder = click.option(
        "--scenarios",
        "folder",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=scenario.LIBRARY,
        show_default="those that come with the program",
        help="Folder of scenarios.",
    )
    only = click.option("--only", multiple=True, callback=_split, metavar="ID,…", help="Only these scenarios.")
    return folder(only(command))


def setups(command: _Command) -> _Command:
    """The option that names a file of servers."""
    return click.option(
        "--servers",
        "file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        default=setup.BUILT_IN,
        show_default="those that come with the program",
        help="YAML file of servers under test; see docs/safety-benchmark.md.",
    )(command)


def named(option: str, what: str) -> Callable[[_Command], _Command]:
    """Returns an option that takes several names."""
    return click.option(option, multiple=True, callback=_split, metavar="NAME,…", help=what)


most = click.option(
    "--max-unsafe-pass-rate",
    "most",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    help="Exit with 1 when a server has a larger share of unsafe passes among its passes.",
)


def scenarios(folder: Path, only: tuple[str, ...]) -> list[scenario.Scenario]:
    """Returns the scenarios that are meant. Raises Wrong."""
    try:
        found = {one.id: one for one in scenario.read_all(folder)}
    except scenario.ScenarioError as error:
        raise Wrong(str(error)) from None
    return chosen(found, only, f"scenario in {folder}")


def servers(file: Path, names: tuple[str, ...]) -> list[setup.Setup]:
    """Returns the servers that are meant. Raises Wrong."""
    try:
        found = {one.name: one for one in setup.read(file)}
    except setup.SetupError as error:
        raise Wrong(str(error)) from None
    return chosen(found, names, f"server in {file}")


def chosen(found: dict[str, _Named], names: Iterable[str], what: str) -> list[_Named]:
    """Returns what has these names, or everything for no name. Raises Wrong."""
    names = list(names) or list(found)
    for name in names:
        if name not in found:
            raise Wrong(f"no {what} is called {name!r}; there are {', '.join(sorted(found)) or 'none'}")
    return [found[name] for name in dict.fromkeys(names)]
