"""What a shell has beside a command: completion scripts, and a man page of all commands."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import click
from click.testing import CliRunner

from kubescript.cli import main
from scripts.release import changelog, publication

__all__ = ["make"]

_SHELLS: Final = ("bash", "zsh", "fish")
_HELP: Final = frozenset({"--help", "--version"})
_FILES: Final = """\
.SH FILES
.TP
.I ~/.kube/config
The kubeconfig, unless \\fB\\-\\-kubeconfig\\fR or the variable KUBECONFIG names another one.
.TP
.I ~/.local/state/kubescript
Plans that wait for a decision, and what they were made of.
.SH EXIT STATUS
0 when the command did what it was asked for, 1 when it did not, 2 when the command line has a mistake.
"""


def make(published: publication.Publication, dist: Path) -> None:
    """Writes completions/SHELL and kubescript.1."""
    scripts = dist / "completions"
    scripts.mkdir(exist_ok=True)
    for shell in _SHELLS:
        printed = CliRunner().invoke(main.cli, ["completion", shell], catch_exceptions=False)
        (scripts / shell).write_text(printed.output, encoding="utf-8")
    (dist / "kubescript.1").write_text("".join(_page(published)), encoding="utf-8")


def _page(published: publication.Publication) -> Iterator[str]:
    """The man page. Its date is that of the version, so the same sources give the same bytes."""
    root = click.Context(main.cli, info_name="kubescript")
    yield f'.TH KUBESCRIPT 1 "{changelog.date(published.version)}" "kubescript {published.version}" "User Commands"\n'
    yield f".SH NAME\nkubescript \\- {_text(main.cli.help)}\n"
    yield ".SH SYNOPSIS\n.B kubescript\n[OPTIONS] [COMMAND] [ARGS]...\n"
    yield ".SH DESCRIPTION\nWithout a command, kubescript serves MCP as \\fBserve\\fR does.\n"
    yield ".SH OPTIONS\nAll commands that use a cluster take these; \\fB\\-\\-help\\fR tells which.\n"
    yield from _options(root, main.cli.params)
    yield ".SH COMMANDS\n"
    for context in _commands(root):
        yield from _command(context)
    yield _FILES
    yield f".SH SEE ALSO\nkubectl(1), {_text(published.repository)}\n"


def _commands(parent: click.Context) -> Iterator[click.Context]:
    """Every command under a group, in the order of names, with those of inner groups after their own."""
    group = parent.command
    if isinstance(group, click.Group):
        for name in group.list_commands(parent):
            command = group.get_command(parent, name)
            if command is not None and not command.hidden:
                context = click.Context(command, parent=parent, info_name=name)
                yield context
                yield from _commands(context)


def _command(context: click.Context) -> Iterator[str]:
    pieces = context.command.collect_usage_pieces(context)
    name = context.command_path.removeprefix("kubescript ")
    yield f".SS {_text(name)} {_text(' '.join(pieces))}\n"
    for paragraph in inspect.cleandoc(context.command.help or "").split("\n\n"):
        yield f".PP\n{_paragraph(paragraph)}\n"
    shared = {parameter.name for parameter in main.cli.params}
    yield from _options(
        context, [one for one in context.command.params if isinstance(one, click.Option) and one.name not in shared]
    )


def _options(context: click.Context, parameters: Iterable[click.Parameter]) -> Iterator[str]:
    for parameter in parameters:
        record = parameter.get_help_record(context)
        if record is not None and not _HELP.intersection(parameter.opts):
            names, description = record
            yield f".TP\n.B {_text(names)}\n{_text(description)}\n"


def _paragraph(text: str) -> str:
    """A paragraph; click's mark in its first line keeps the lines as they are."""
    if text.startswith("\b\n"):
        return f".nf\n{_text(text[2:])}\n.fi"
    return _text(" ".join(text.split()))


def _text(text: str | None) -> str:
    """Text as roff prints it: no character of it is a request or an escape."""
    escaped = (text or "").replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"^\.", r"\\&.", escaped, flags=re.MULTILINE)
