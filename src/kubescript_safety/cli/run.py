"""`kubescript-safety run`: every scenario with every server and every agent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from kubescript_safety.agents import script
from kubescript_safety.cli import options, report
from kubescript_safety.cluster.api import Kind
from kubescript_safety.controlplane import live
from kubescript_safety.report import summary
from kubescript_safety.runs import matrix
from kubescript_safety.runs.agent import Agent
from kubescript_safety.servers import setup

__all__ = ["run"]

_SCRIPTED: Final = "scripted"


@dataclass(frozen=True, slots=True)
class _Agents:
    """Makes agents of their names, in the process of a lane."""

    def __call__(self, name: str, server: setup.Setup, kinds: Mapping[str, Kind]) -> Agent:
        return script.Script(name, server.kind, kinds)


@click.command()
@click.argument("folder_of_transcripts", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path))
@options.selection
@options.setups
@options.named("--server", "Only these servers.")
@options.named("--agent", f"These agents: {', '.join(script.NAMES)}, or `{_SCRIPTED}` for all five (the default).")
@click.option("--repeats", type=click.IntRange(1, 1000), default=1, show_default=True, help="Runs of each cell.")
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=None, help="Clusters at a time. [default: one a processor, and one]"
)
@options.most
def run(
    folder_of_transcripts: Path,
    folder: Path,
    only: tuple[str, ...],
    file: Path,
    server: tuple[str, ...],
    agent: tuple[str, ...],
    repeats: int,
    jobs: int | None,
    most: float,
) -> None:
    """Run scenarios on real clusters, write their transcripts and a report into FOLDER, and print the rates.

    The first run builds etcd, the Kubernetes control plane and kwok from their sources, which takes minutes.
    """
    todo = matrix.cells(options.scenarios(folder, only), options.servers(file, server), _names(agent), repeats)
    _prepare(folder_of_transcripts)
    live.build_programs()
    failed = _carried_out(todo, folder_of_transcripts, min(jobs or (os.cpu_count() or 1) + 1, len(todo)))
    found = report.write(folder_of_transcripts, most) if failed < len(todo) else None
    if found is not None:
        click.echo(report.told(found))
    if failed:
        raise options.Wrong(f"{failed} of {len(todo)} runs could not be carried out")
    if found is not None and not found.is_within:
        raise SystemExit(1)


def _names(given: tuple[str, ...]) -> list[str]:
    """Returns the names of agents. Raises Wrong."""
    names = [name for one in given or (_SCRIPTED,) for name in (script.NAMES if one == _SCRIPTED else (one,))]
    return options.chosen({name: name for name in script.NAMES}, names, "agent")


def _prepare(folder: Path) -> None:
    """Makes the folder, which must be empty: transcripts of other runs would be judged together with these."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise options.Wrong(f"{folder} is not empty; name a new folder")
    except OSError as error:
        raise options.Wrong(f"{folder}: {error.strerror}") from None


def _carried_out(todo: list[matrix.Cell], folder: Path, lanes: int) -> int:
    """Carries out all runs and says so; returns how many could not be."""
    failed = 0
    for number, done in enumerate(matrix.carried_out(todo, _Agents(), folder, lanes), 1):
        if done.file is None:
            failed += 1
            said = f"not carried out\n{done.failure}"
        else:
            row = summary.row(done.file)
            rules = ", ".join(rule.id for rule in row.rules)
            said = f"{row.verdict}{f' ({rules})' if rules else ''}"
        click.echo(f"{number}/{len(todo)} {done.cell.name}: {said}")
    return failed
