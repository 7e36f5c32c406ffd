"""Opens what a command needs, and ends a command that fails with a message. `main` and `plans` use it."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

import kubescript
from kubescript import programs
from kubescript.cli import flags, terminal
from kubescript.output import sanitizing
from kubescript_sandbox.host import spawner

if TYPE_CHECKING:
    from kubescript import app, config, types

__all__ = ["application", "explain_errors", "operator", "reread"]


def operator(command: str) -> types.Caller:
    """Returns the caller on record when a person runs a command, and no client asks."""
    from kubescript import types

    return types.Caller(
        session=uuid.uuid4().hex[:16],  # the number of a process is used again, and on other machines
        client=f"kubescript {command}",
        version=kubescript.__version__,
    )


@contextlib.contextmanager
def application(context: click.Context, given: dict[str, object], *, serves: bool = False) -> Iterator[app.Application]:
    """Yields everything a command needs. It is put together only now: the fork server was started before any secret was
    read."""
    source: spawner.Spawner = context.find_root().obj
    masking = spawner.Spawner(programs.MASKER, reads=True)
    with explain_errors(), contextlib.closing(masking):
        if not serves:  # what serves has more to import, and to answer first
            source.warm_up()
            masking.warm_up()
        from kubescript import app, logs  # 0.3 s, in which both warm up

        settings = flags.settings(context, given)
        logs.configure(settings.log_level, as_text=terminal.wants_text(settings), file=settings.log_file)
        with app.opened(settings, source, masking, flags.of_plans(context, given)) as opened:
            yield opened


def reread(context: click.Context, given: dict[str, object]) -> config.Settings:
    """Returns the settings as they would be if the server started now. Raises ConfigError."""
    from kubescript import errors

    try:
        return flags.settings(context, given)
    except click.ClickException as error:
        raise errors.ConfigError(error.format_message()) from None


@contextlib.contextmanager
def explain_errors() -> Iterator[None]:
    """Ends a command with an error's message and what to do, never with a stack trace."""
    from kubescript import errors

    try:
        yield
    except errors.KubescriptError as error:
        # Attack: an API server's words, or a name in a saved cluster, give orders to the terminal.
        raise click.ClickException(sanitizing.clean(error.explained)) from None
