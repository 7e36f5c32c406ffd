"""Opens the parts that a command needs, and ends a failing command with a message. `main` and `plans` use it."""

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
    """Returns the caller that is recorded when a person runs a command without a client."""
    from kubescript import types

    # Not the process id: process ids are reused, and are not unique across machines.
    session = uuid.uuid4().hex[:16]
    return types.Caller(session=session, client=f"kubescript {command}", version=kubescript.__version__)


@contextlib.contextmanager
def application(context: click.Context, given: dict[str, object], *, serves: bool = False) -> Iterator[app.Application]:
    """Yields everything a command needs."""
    # The application is built only now, so that the fork server was started before any secret was read.
    source: spawner.Spawner = context.find_root().obj
    masking = spawner.Spawner(programs.MASKER, reads=True)
    with explain_errors(), contextlib.closing(masking):
        if not serves:  # a server has more to import, and must first answer its client
            source.warm_up()
            masking.warm_up()
        from kubescript import app, logs  # takes 0.3 s, during which both warm up

        settings = flags.settings(context, given)
        as_text = terminal.wants_text(settings)
        logs.configure(settings.log_level, as_text=as_text, file=settings.log_file)
        for_plans = flags.of_plans(context, given)
        with app.opened(settings, source, masking, for_plans) as opened:
            yield opened


def reread(context: click.Context, given: dict[str, object]) -> config.Settings:
    """Returns the settings that the server would have if it started now. Raises ConfigError."""
    from kubescript import errors

    try:
        return flags.settings(context, given)
    except click.ClickException as error:
        raise errors.ConfigError(error.format_message()) from None


@contextlib.contextmanager
def explain_errors() -> Iterator[None]:
    """Ends a command with an error's message and remedy, never with a stack trace."""
    from kubescript import errors

    try:
        yield
    except errors.KubescriptError as error:
        # Attack: an API server's text, or a name in a saved cluster, contains control sequences for the terminal.
        raise click.ClickException(sanitizing.clean(error.explained)) from None
