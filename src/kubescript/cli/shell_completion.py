"""`kubescript completion SHELL`: the script with which a shell completes commands, flags and paths on the Tab key."""

from __future__ import annotations

from typing import Final

import click
from click import shell_completion

__all__ = ["completion"]

_VARIABLE: Final = "_KUBESCRIPT_COMPLETE"
"""The variable that makes `kubescript`, when started by the shell's function, complete a line instead of running it."""


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
