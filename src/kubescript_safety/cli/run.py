"""`kubescript-safety run`: every scenario with every server and every agent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from kubescript_safety import scenario
from kubescript_safety.agents import script, steps
from kubescript_safety.agents.chat import agent as chat
from kubescript_safety.agents.chat import model
from kubescript_safety.autopsy import verdict
from kubescript_safety.cli import first_build, options, report
from kubescript_safety.cluster.api import Kind
from kubescript_safety.runs import matrix
from kubescript_safety.runs.agent import Agent
from kubescript_safety.servers import setup

__all__ = ["run"]

_SCRIPTED: Final = "scripted"


@dataclass(frozen=True, slots=True)
class _Agents:
    """Creates agents by name, in the process of a lane."""

    models: Mapping[str, model.Model]

    def __call__(self, name: str, server: setup.Setup, kinds: Mapping[str, Kind]) -> Agent:
        chosen = self.models.get(name)
        if chosen is not None:
            return chat.Chat(chosen)
        return script.Script(name, server.kind, kinds)


@click.command()
@click.argument("folder_of_transcripts", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path))
@options.selection
@options.setups
@options.add_names("--server", "Only these servers.")
@options.add_names(
    "--agent",
    f"These agents: {', '.join(steps.NAMES)}, or `{_SCRIPTED}` for all five (the default); `openai:MODEL` or "
    "`anthropic:MODEL`, with the key in the variable that the client library reads.",
)
@click.option("--base-url", help="Endpoint of the models.")
@click.option("--seed", type=int, help="Of the models, where the API has one.")
@click.option("--temperature", type=float, help="Of the models, where the API has one.")
@click.option("--max-turns", type=int, help="Answers of a model in one run.  [default: 40]")
@click.option("--max-tokens", type=int, help="Tokens of a model in one run, input and output.  [default: 500000]")
@click.option("--seconds", type=float, help="Time of a model in one run.  [default: the scenario's]")
@click.option("--repeats", type=click.IntRange(1, 1000), default=1, show_default=True, help="Runs of each cell.")
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=None, help="Clusters at a time. [default: one a processor, and one]"
)
@options.most
def run(
    folder_of_transcripts: Path,
    selection: options.Selection,
    file: Path,
    server: tuple[str, ...],
    agent: tuple[str, ...],
    repeats: int,
    jobs: int | None,
    most: float,
    **settings: object,
) -> None:
    """Run scenarios on real clusters, write their transcripts and a report into FOLDER, and print the rates.

    The first run builds etcd, the Kubernetes control plane and kwok from their sources, which takes minutes and 5 GB.
    """
    names, agents = _agents(agent, settings)
    found = selection.read()
    if found.unfit:
        click.echo("not run:", err=True)
        for line in found.lines():
            click.echo(f"  {line}", err=True)
    _check_scripts(found.scenarios, names)
    servers = options.servers(file, server)
    todo = matrix.cells(found.scenarios, servers, names, repeats)
    _prepare(folder_of_transcripts)
    # This happens before lanes start, because they would all wait for the one that builds.
    first_build.build()
    lanes = jobs or (os.cpu_count() or 1) + 1
    failed = _carry_out(todo, agents, folder_of_transcripts, min(lanes, len(todo)))
    if failed < len(todo):
        report.finish(folder_of_transcripts, most)
    if failed:
        raise options.Wrong(f"{failed} of {len(todo)} runs could not be carried out")


def _agents(given: tuple[str, ...], settings: Mapping[str, object]) -> tuple[list[str], _Agents]:
    """Returns the agents' names, and a factory for them. Raises Wrong."""
    names: list[str] = []
    for one in given or (_SCRIPTED,):
        names += steps.NAMES if one == _SCRIPTED else (one,)
    try:
        models = {name: model.parse(name, **settings) for name in names if ":" in name}
    except model.ModelError as error:
        raise options.Wrong(str(error)) from None
    known = {name: name for name in (*steps.NAMES, *models)}
    chosen = options.choose(known, names, "agent")
    return chosen, _Agents(models)


def _check_scripts(found: list[scenario.Scenario], names: list[str]) -> None:
    """Raises Wrong if a scripted agent is selected for a scenario without one."""
    if set(names).isdisjoint(steps.NAMES):
        return
    # This is checked before anything is built or started, because the first run takes minutes.
    for one in found:
        if not steps.knows(one.id):
            raise options.Wrong(f"no agent is scripted for {one.id}; name a model with --agent, or use the proxy")


def _prepare(folder: Path) -> None:
    """Creates the folder, which must be empty: other runs' transcripts would be judged together with these. Raises
    Wrong."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise options.Wrong(f"{folder} is not empty; name a new folder")
    except OSError as error:
        raise options.Wrong(f"{folder}: {error.strerror}") from None


def _carry_out(todo: list[matrix.Cell], agents: _Agents, folder: Path, lanes: int) -> int:
    """Carries out all runs and prints their results; returns how many failed."""
    failed = 0
    for number, done in enumerate(matrix.carry_out(todo, agents, folder, lanes), 1):
        if done.file is None:
            failed += 1
            said = f"not carried out\n{done.failure}"
        else:
            said = _describe(done.file)
        click.echo(f"{number}/{len(todo)} {done.cell.name}: {said}")
    return failed


def _describe(file: Path) -> str:
    """Returns the verdict as a line."""
    try:
        judged = verdict.of_file(file)
    # The error ends nothing here, because the report repeats it.
    except verdict.AutopsyError as error:
        return options.plain(f"cannot be judged: {error}")
    rules = ", ".join(rule.id for rule in judged.rules)
    return f"{judged.verdict} ({rules})" if rules else judged.verdict
