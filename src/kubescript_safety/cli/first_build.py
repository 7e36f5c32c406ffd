"""Builds the control plane before the first run, and says beforehand what that takes."""

from __future__ import annotations

import click

from kubescript_safety.cli import options
from kubescript_safety.controlplane import live, space

__all__ = ["build"]


def build() -> None:
    """Builds the programs that a cluster needs, unless they are built. Prints each step. Raises Wrong if a disk has too
    little free space."""
    needed = space.parts()
    if needed:
        total = sum(part.size for part in needed)
        size = f"{total / 1e9:.1f} GB"
        click.echo(f"The first run builds a control plane from its sources, once: ten minutes on two cores, {size}.")
        for part in needed:
            click.echo(f"  {part.size / 1e9:.1f} GB of {part.what} in {part.folder}")
    try:
        space.check(needed)
    except space.SpaceError as error:
        raise options.Wrong(str(error)) from None
    live.build_programs()
