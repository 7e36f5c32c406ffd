"""The program's commands."""

from __future__ import annotations

import click

from kubescript_safety.cli import autopsy, listing, proxy, report, run

__all__ = ["main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def main() -> None:
    """A benchmark of MCP servers for Kubernetes, which judges how an agent has changed a cluster."""


for command in (run.run, proxy.proxy, autopsy.autopsy, report.report, listing.listing):
    main.add_command(command)
