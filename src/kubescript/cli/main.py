"""The commands. `kubescript` alone serves MCP; every sub-command takes the same flags, and shows some of them.

Every command first starts the fork server. `process` ends commands with their exit codes.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import click

import kubescript
from kubescript import programs
from kubescript.cli import (
    audit,
    decisions,
    flags,
    migrate,
    opening,
    plans,
    policy,
    process,
    runbooks,
    shell_completion,
    snapshot,
    terminal,
    user_path,
)
from kubescript_sandbox.host import spawner

if TYPE_CHECKING:
    from kubescript import config

__all__ = ["main"]

_FAILED: Final = 1
_MIN_TIMEOUT_MS: Final = 1


@flags.server_flags
@click.group(
    invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(kubescript.__version__, "-V", "--version", prog_name="kubescript")
@click.pass_context
def cli(context: click.Context, /, **given: object) -> None:
    """Serve Kubernetes to MCP clients: a sandbox for scripts beside the API server."""
    flags.remember(context, given)
    if context.invoked_subcommand is None:
        _serve(context, {})


@flags.server_flags
@cli.command()
@click.pass_context
def serve(context: click.Context, /, **given: object) -> None:
    """Serve MCP. This is what `kubescript` does without a command."""
    _serve(context, given)


def _serve(context: click.Context, given: dict[str, object]) -> None:
    """Serves until the client or a signal ends it."""
    with opening.application(context, given, serves=True) as opened:
        opened.load_sdk()  # first: it imports the MCP SDK in its own way
        import anyio

        from kubescript import transports

        _enable_garbage_collection()
        if opened.settings.transport == "stdio":
            process.exit_on_signals(opened, context.find_root().obj)

        def reread() -> config.Settings:
            return opening.reread(context, given)

        with contextlib.suppress(KeyboardInterrupt):
            announce = terminal.announcer(opened.settings, opened.operator.contexts)
            anyio.run(transports.serve, opened, announce, reread)


@flags.cluster_flags
@cli.command(short_help="Run one script and print its result.")
@click.argument("file", type=click.File(encoding="utf-8"), required=False)
@click.option("--code", "-c", help="The script itself, instead of a FILE.")
@click.option("--timeout", type=click.IntRange(min=_MIN_TIMEOUT_MS), help="Time limit of the script in milliseconds.")
@click.pass_context
def run(context: click.Context, /, file: TextIO | None, code: str | None, timeout: int | None, **given: object) -> None:
    """Run one script from FILE (- for standard input) or CODE, and print its result."""
    script = _script(file, code)
    with opening.application(context, given) as opened:
        _check_timeout(timeout, opened.settings.limits.max_timeout_ms)
        opened.start()
        import anyio

        evaluate = opened.operator.evaluator.evaluate
        caller = opening.operator("run")
        with terminal.Status(terminal.starting()) as status:
            answer = anyio.run(evaluate, script, timeout, status.on_progress, caller)
        exit_code = decisions.finish(opened, answer)
    context.exit(exit_code)


def _script(file: TextIO | None, code: str | None) -> str:
    """Returns the script from the file or the option, whichever was given."""
    if (file is None) == (code is None):
        raise click.UsageError("give one script: a FILE, - for standard input, or -c CODE")
    if code is not None:
        return code
    assert file is not None
    return _read_script(file)


def _read_script(file: TextIO) -> str:
    try:
        return file.read()
    except (OSError, UnicodeDecodeError) as error:
        why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
        raise click.ClickException(f"cannot read the script {file.name}: {why}") from None


def _check_timeout(timeout: int | None, most: int) -> None:
    """Refuses a timeout above the limit."""
    # The timeouts of clients are clamped instead, because clients cannot know the limit.
    if timeout is not None and timeout > most:
        raise click.BadParameter(
            f"{timeout} is above the limit of {most} (limits.max_timeout_ms)", param_hint="'--timeout'"
        )


@flags.server_flags
@cli.command(short_help="Check the sandbox, the cluster and your rights there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--offline", is_flag=True, help="Do not connect to the clusters.")
@click.pass_context
def doctor(context: click.Context, /, as_json: bool, offline: bool, **given: object) -> None:
    """Check the sandbox, each cluster and what RBAC allows there. Exit code 1: something is wrong."""
    from kubescript import logs
    from kubescript.cli import clients
    from kubescript.cli import doctor as examination

    with opening.explain_errors():
        settings = flags.settings(context, given)
        # Only errors are logged: the report covers the rest.
        logs.configure("error", as_text=terminal.wants_text(settings), file=settings.log_file)
        words = flags.as_words(context, given)
        served = clients.server(settings, words)
        line = clients.claude_line("kubescript", served)
        # Without `http.url`, no client has an address by which such a server answers.
        is_named = settings.is_local or settings.http.url or settings.transport != "http"
        shown = clients.without_passwords(line) if is_named else ""
        others = clients.without_passwords(clients.others_line(settings, words))
        source = context.find_root().obj
        report = examination.examine(settings, source, offline=offline, connect=shown, connect_others=others)
    text = report.as_json() if as_json else report.as_text()
    process.echo(text)
    exit_code = 0 if report.healthy else _FAILED
    context.exit(exit_code)


@flags.file_flags
@cli.command(short_help="Run four scripts on a bundled snapshot; needs no cluster.")
@click.pass_context
def demo(context: click.Context, /, **given: object) -> None:
    """Run four scripts on a bundled snapshot of a broken cluster and show what they cost."""
    from kubescript.cli import demo

    # No `contexts`: a variable may name clusters, which exclude a snapshot.
    given = {**given, "contexts": (), "snapshot": given["snapshot"] or demo.SNAPSHOT}
    with opening.application(context, given) as opened:
        opened.start()
        import anyio

        failed = False
        for number in range(len(demo.SCRIPTS)):
            with terminal.Status(terminal.starting()):
                page, is_error = anyio.run(demo.perform, opened.operator.evaluator, number)
            process.echo(page)
            failed = failed or is_error
    process.echo(demo.next_steps())
    context.exit(_FAILED if failed else 0)


@flags.server_flags
@cli.command(short_help="Connect an MCP client: print, write or remove its configuration.")
@click.argument("name", metavar="NAME", type=click.Choice(["claude-code", "claude-desktop", "cursor", "vscode"]))
@click.option("--write", is_flag=True, help="Write to the client's configuration file, and keep a copy of the old one.")
@click.option("--remove", is_flag=True, help="Take the server out of that file, and keep a copy of the old one.")
@click.option(
    "--file", type=user_path.UserPath(), help="The configuration file. Default: the user's own, for all projects."
)
@click.option("--as", "title", default="kubescript", show_default=True, help="Name of the server in the client.")
@click.pass_context
def client(
    context: click.Context, /, name: str, write: bool, remove: bool, file: Path | None, title: str, **given: object
) -> None:
    """Print what an MCP client needs to start this server: claude-code, claude-desktop, cursor or vscode.

    Also give the flags that the client should start the server with.
    """
    from kubescript.cli import client_files, clients

    if write and remove:
        raise click.UsageError("give --write or --remove")
    chosen = clients.CLIENTS[name]
    target = (file or chosen.file()).absolute()
    with opening.explain_errors():
        if remove:
            done = client_files.remove(target, chosen.key, title)
            process.echo(f"{done}; restart {chosen.title}")
            return
        settings = flags.settings(context, given)
        words = flags.as_words(context, given)
        served = clients.server(settings, words, chosen)
        for warning in clients.warnings(settings, served):
            process.echo(f"Warning: {warning}", err=True)
        if write:
            entry = served.entry(typed=chosen.typed)
            done = client_files.add(target, chosen.key, title, entry)
            process.echo(f"{done}; restart {chosen.title} to use it")
            return
    if name == "claude-code" and file is None:
        process.echo(clients.claude_line(title, served))
        return
    process.echo(clients.snippet(title, chosen, served))
    process.echo(f"This belongs in {target}; --write puts it there.", err=True)


cli.add_command(audit.audit)
cli.add_command(plans.approve)
cli.add_command(plans.plans)
cli.add_command(shell_completion.completion)
cli.add_command(migrate.migrate)
cli.add_command(policy.policy)
cli.add_command(runbooks.runbooks)
cli.add_command(snapshot.snapshot)


def _enable_garbage_collection() -> None:
    """Enables the collector again, after the imports."""
    # Objects made at start-up are permanent: no collection needs to visit them.
    gc.freeze()
    gc.enable()


def main() -> None:
    """Runs the command `kubescript`."""
    gc.disable()  # importing thousands of classes makes no garbage, and collecting takes a seventh of the start
    # Finding the plugins of pydantic, which we have no use for, reads the entry points of all installed packages.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    process.open_streams()
    # Before any flag, variable or file is read, so that no secret can be in the memory of a worker.
    source = spawner.Spawner(programs.WORKER)
    try:
        with opening.explain_errors():
            source.start()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    try:
        code = process.run(cli, source)
    finally:
        source.close()
    process.leave(code)


if __name__ == "__main__":
    main()
