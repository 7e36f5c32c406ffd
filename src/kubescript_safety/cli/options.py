"""Options that several commands share, and the types of their values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from kubescript_safety import evidra, scenario
from kubescript_safety.servers import setup

__all__ = [
    "WRONG", "Chosen", "Selection", "Wrong", "add_names", "choose", "most", "plain", "selection", "servers", "setups",
]  # fmt: skip

WRONG: Final = 2
"""The exit code for requests that cannot be carried out, the same as click's for wrong usage."""
_Command = TypeVar("_Command", bound=Callable[..., Any])
_Named = TypeVar("_Named")


class Wrong(click.ClickException):
    """An error for a user whose request cannot be carried out."""

    exit_code = WRONG

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(plain, message.split("\n"))))


def _split(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the words of an option that takes several, separated by commas or in repeated options."""
    words = ",".join(value).split(",")
    return tuple(filter(None, map(str.strip, words)))


def plain(text: str) -> str:
    """Returns a line that is safe for a terminal. Attack: a server's name contains a line end and then what this
    program would print about a better server, or moves the cursor."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected scenarios."""

    folder: Path
    only: tuple[str, ...]
    allow_shell: bool

    def read(self) -> Chosen:
        """Returns the scenarios. Raises Wrong if a named one does not exist or cannot be run."""
        found = {one.id: one for one in self._ours()}
        unfit: dict[str, tuple[str, ...]] = {}
        left: dict[str, tuple[str, ...]] = {}
        for one in evidra.read_all(self.folder, allow_shell=self.allow_shell):
            if isinstance(one, evidra.Runnable):
                task = one.scenario
                found[task.id] = task
                left[task.id] = one.left
            else:
                unfit[one.id] = one.reasons
        # A scenario that is requested by name is not left out silently.
        for name in self.only:
            if name in unfit:
                raise Wrong(f"{name} cannot be run here: {'; '.join(unfit[name])}")
        chosen = choose(found, self.only, f"scenario in {self.folder}")
        return Chosen(chosen, {} if self.only else unfit, left)

    def _ours(self) -> list[scenario.Scenario]:
        """Returns the scenarios in our format. Raises Wrong."""
        try:
            found = list(scenario.read_all(self.folder))
        except scenario.ScenarioError as error:
            raise Wrong(str(error)) from None
        for one in found:
            if not self.allow_shell and any(scenario.commands(one)):
                raise Wrong(f"{one.id} runs commands on this machine; --allow-shell lets it")
        return found


@dataclass(frozen=True, slots=True)
class Chosen:
    """The scenarios to run, and those that cannot be run here with the reasons."""

    scenarios: list[scenario.Scenario]
    unfit: dict[str, tuple[str, ...]]
    left: dict[str, tuple[str, ...]]
    """The parts of each scenario that have no effect here."""

    def lines(self) -> list[str]:
        """Returns a line for each scenario that cannot be run."""
        unfit = sorted(self.unfit.items())
        return [plain(f"{name}: {'; '.join(reasons)}") for name, reasons in unfit]


def selection(command: _Command) -> _Command:
    """Adds the options that select scenarios; the command gets a `Selection`."""

    @functools.wraps(command)
    def call(folder: Path, only: tuple[str, ...], *, allow_shell: bool, **more: Any) -> Any:
        """Calls the command with a `Selection` in place of its options."""
        chosen = Selection(folder, only, allow_shell)
        return command(selection=chosen, **more)

    kind = click.Path(exists=True, file_okay=False, path_type=Path)
    for option in (
        click.option("--allow-shell", is_flag=True, help="Let scenarios of the folder run programs on this machine."),
        click.option("--only", multiple=True, callback=_split, metavar="ID,…", help="Only these scenarios."),
        click.option(
            "--scenarios",
            "folder",
            type=kind,
            default=scenario.LIBRARY,
            show_default="those that come with the program",
            help="Folder of scenarios, ours or those of Evidra Bench.",
        ),
    ):
        call = option(call)
    return call  # type: ignore[return-value]


def setups(command: _Command) -> _Command:
    """Adds the option for a file of servers."""
    return click.option(
        "--servers",
        "file",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        default=setup.BUILT_IN,
        show_default="those that come with the program",
        help="YAML file of servers under test; see docs/safety-benchmark.md.",
    )(command)


def add_names(option: str, what: str) -> Callable[[_Command], _Command]:
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


def servers(file: Path, names: tuple[str, ...]) -> list[setup.Setup]:
    """Returns the selected servers. Raises Wrong."""
    try:
        found = {one.name: one for one in setup.read(file)}
    except setup.SetupError as error:
        raise Wrong(str(error)) from None
    return choose(found, names, f"server in {file}")


def choose(found: dict[str, _Named], names: Iterable[str], what: str) -> list[_Named]:
    """Returns the values with these names, or all if there are no names. Raises Wrong."""
    # A name that is given twice counts once.
    wanted = dict.fromkeys(names) or found
    for name in wanted:
        if name not in found:
            known = ", ".join(sorted(found)) or "none"
            raise Wrong(f"no {what} is called {name!r}; there are {known}")
    return [found[name] for name in wanted]
