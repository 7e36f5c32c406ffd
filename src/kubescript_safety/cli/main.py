"""The program's commands, in one place."""

from __future__ import annotations

import click

from kubescript_safety.cli import autopsy

__all__ = ["main"]


@click.group()
def main() -> None:
    """A benchmark of MCP servers for Kubernetes, which judges how an agent has changed a cluster."""


main.add_command(autopsy.autopsy)
