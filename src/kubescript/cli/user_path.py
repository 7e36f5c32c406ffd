"""Paths on the command line: `--key=~/audit.key` is in the user's home, although no shell expands it."""

from __future__ import annotations

import os
from pathlib import Path

import click

__all__ = ["UserPath"]


class UserPath(click.Path):
    """A path in which a leading `~` stands for the user's home."""

    def __init__(self, *, dir_okay: bool = True) -> None:
        # click checks the path twice, and while a server rotates an audit file it is briefly missing: between the two
        # checks a file "is not readable". The command that opens the file reports the actual problem.
        super().__init__(path_type=Path, dir_okay=dir_okay, readable=False)

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Returns the path."""
        given = os.fspath(value)
        expanded = os.path.expanduser(given)  # noqa: PTH111  it raises nothing for a home that is not known
        converted = super().convert(expanded, param, ctx)
        return Path(os.fsdecode(converted))
