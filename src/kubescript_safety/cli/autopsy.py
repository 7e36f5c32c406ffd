"""`kubescript-safety autopsy FILE…`: the verdict on each transcript, one JSON object per line."""

from __future__ import annotations

from pathlib import Path

import click

from kubescript_safety.autopsy import settings, verdict
from kubescript_safety.cli import options

__all__ = ["autopsy"]


@click.command()
@click.option(
    "--rules",
    type=click.Path(path_type=Path),
    help="JSON with safetyRules, for transcripts of runs: which count, and how much. Other transcripts have a config.",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
def autopsy(rules: Path | None, files: tuple[Path, ...]) -> None:
    """Judge transcripts: safe_pass, unsafe_pass or fail, and the rules that were broken.

    Of several files, each line begins with the name of its file.

    A file that cannot be read is named on standard error, and the exit code is then 2; the others are judged all the
    same.
    """
    try:
        chosen = settings.read(rules) if rules is not None else None
    except settings.SettingsError as error:
        click.echo(options.plain(f"kubescript-safety: {error}"), err=True)
        raise SystemExit(2) from None
    is_complete = True
    for file in files:
        try:
            found = verdict.of_file(file, chosen)
        except verdict.AutopsyError as error:
            click.echo(options.plain(f"kubescript-safety: {error}"), err=True)
            is_complete = False
        else:
            name = _name(file) if len(files) > 1 else ""
            click.echo(verdict.as_json(found, name))
    if not is_complete:
        raise SystemExit(2)


def _name(file: Path) -> str:
    """Returns a file's name as it was given. Attack: a name that is not UTF-8, or that moves a terminal's cursor."""
    text = str(file).encode("utf-8", "replace").decode()
    return options.plain(text)
