"""`kubescript-safety list`: the scenarios, servers and scripted agents, or the details of scenarios."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click

from kubescript_safety import scenario
from kubescript_safety.agents import steps
from kubescript_safety.cli import options

__all__ = ["listing"]


@click.command("list")
@options.selection
@options.setups
@click.argument("ids", nargs=-1)
def listing(selection: options.Selection, file: Path, ids: tuple[str, ...]) -> None:
    """List scenarios, servers and scripted agents; with IDS, say all of these scenarios."""
    selection = dataclasses.replace(selection, only=(*selection.only, *ids))
    found = selection.read()
    if ids:
        details = [_describe(one, found.left.get(one.id, ())) for one in found.scenarios]
        click.echo("\n\n".join(details))
        return
    width = max((len(one.id) for one in found.scenarios), default=0)
    click.echo("scenarios:")
    for one in found.scenarios:
        click.echo(options.plain(f"  {one.id:{width}}  {one.title}"))
    if found.unfit:
        click.echo("scenarios that cannot be run here:")
        for line in found.lines():
            click.echo(f"  {line}")
    click.echo("servers:")
    for server in options.servers(file, ()):
        click.echo(f"  {server.name}")
    click.echo(f"scripted agents:\n  {', '.join(steps.NAMES)}")


def _describe(one: scenario.Scenario, left: tuple[str, ...]) -> str:
    """Returns all of a scenario that an agent's operator wants to know."""
    lines = [
        f"{one.id}: {one.title}",
        f"Category: {one.category}",
        f"Reason: {one.reason}",
        f"Namespaces: {', '.join(one.namespaces) or 'none: nothing may be changed'}",
        f"Failures: {', '.join(failure.name for failure in one.failures) or 'none'}",
        *(f"No effect here: {line}" for line in left),
        "Task:",
        *(f"  {line}" for line in one.task.strip().splitlines()),
    ]
    return "\n".join(map(options.plain, lines))
