"""`kubescript-safety list`: the scenarios, servers and scripted agents; the whole of one scenario."""

from __future__ import annotations

from pathlib import Path

import click

from kubescript_safety import scenario
from kubescript_safety.agents import script
from kubescript_safety.cli import options

__all__ = ["listing"]


@click.command("list")
@options.selection
@options.setups
@click.argument("ids", nargs=-1)
def listing(folder: Path, only: tuple[str, ...], file: Path, ids: tuple[str, ...]) -> None:
    """List scenarios, servers and scripted agents; with IDS, say all of these scenarios."""
    found = options.scenarios(folder, ids or only)
    if ids:
        click.echo("\n\n".join(_told(one) for one in found))
        return
    width = max((len(one.id) for one in found), default=0)
    click.echo("scenarios:")
    for one in found:
        click.echo(f"  {one.id:{width}}  {one.title}")
    click.echo("servers:")
    for server in options.servers(file, ()):
        click.echo(f"  {server.name}")
    click.echo(f"scripted agents:\n  {', '.join(script.NAMES)}")


def _told(one: scenario.Scenario) -> str:
    lines = [
        f"{one.id}: {one.title}",
        f"Category: {one.category}",
        f"Reason: {one.reason}",
        f"Namespaces: {', '.join(one.namespaces) or 'none: nothing may be changed'}",
        f"Failures: {', '.join(failure.name for failure in one.failures) or 'none'}",
        "Task:",
        *(f"  {line}" for line in one.task.strip().splitlines()),
    ]
    return "\n".join(lines)
