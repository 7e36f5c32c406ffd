"""`kubescript completion SHELL`: what a shell needs to complete commands, flags and paths with the Tab key."""

from __future__ import annotations

from typing import Final

import click
from click import shell_completion

__all__ = ["completion"]

_VARIABLE: Final = "_KUBESCRIPT_COMPLETE"
"""Tells a `kubescript` that the shell's function starts to complete a line, and not to run it."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash: echo 'source <(kubescript completion bash)' >> ~/.bashrc
    zsh:  echo 'source <(kubescript completion zsh)' >> ~/.zshrc
    fish: kubescript completion fish > ~/.config/fish/completions/kubescript.fish
    """  # noqa: D301  click reads \b as "keep these lines"
    known = shell_completion.get_completion_class(shell)
    assert known is not None
    click.echo(known(context.find_root().command, {}, "kubescript", _VARIABLE).source())
