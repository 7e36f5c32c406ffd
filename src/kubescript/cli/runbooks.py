"""`kubescript runbooks …`: a person reviews the folder of runbooks, pins what was reviewed, and runs one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kubescript.cli import decisions, flags, opening, process, terminal

if TYPE_CHECKING:
    from kubescript import types
    from kubescript.runbooks import folder as runbook_folder
    from kubescript.runbooks import header

__all__ = ["runbooks"]

_FAILED: Final = 1
_SHOWN: Final = 16
"""How many digits of a hash a list shows."""


@click.group(short_help="Review, lock, list and run reviewed scripts.")
def runbooks() -> None:
    """Review, lock, list and run the scripts in the folder `runbooks.folder` (docs/runbooks.md)."""


@flags.file_flags
@runbooks.command(short_help="Pin the runbooks as they are now.")
@click.pass_context
def lock(context: click.Context, /, **given: object) -> None:
    """Write the SHA-256 of each runbook to runbooks.lock, and print what has changed. Review the runbooks first."""
    from kubescript import errors
    from kubescript.runbooks import folder as runbook_folder
    from kubescript.runbooks import header, lock_file

    with opening.explain_errors():
        opened = _open(context, given)
        digests = {}
        for name in opened.list_names():
            content = opened.read_script(name)
            try:
                header.parse(content.decode())
            except UnicodeDecodeError:
                raise click.ClickException(f"{name}.py: it is not UTF-8 text; nothing is locked") from None
            except errors.RunbookError as error:
                raise click.ClickException(f"{name}.py: {error.message}; nothing is locked") from None
            digests[name] = runbook_folder.digest(content)
        before = _read_lock(opened)
        _replace(opened.path / lock_file.NAME, lock_file.write(digests))
    changed = False
    for name in sorted(before.keys() | digests.keys()):
        change = _describe_change(before.get(name), digests.get(name))
        if change:
            changed = True
            process.echo(f"{change:<8} {name}  {digests.get(name, '')}".rstrip())
    if not changed:
        process.echo(f"nothing has changed: {len(digests)} runbooks")


def _read_lock(opened: runbook_folder.Folder) -> dict[str, str]:
    """Returns the digests of the lock file; none if there is none, or if it cannot be read, which is printed."""
    from kubescript import errors
    from kubescript.runbooks import lock_file

    if not (opened.path / lock_file.NAME).exists():
        return {}
    try:
        return opened.read_lock()
    except errors.RunbookError as error:
        process.echo(_line(f"Warning: {error.message}"), err=True)
        return {}


def _describe_change(before: str | None, now: str | None) -> str:
    if before == now:
        return ""
    if before is None:
        return "new"
    return "gone" if now is None else "changed"


def _replace(path: Path, content: bytes) -> None:
    """Writes a file as a whole, so that a server never reads half of it. Raises ClickException."""
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".runbooks-")
        try:
            with open(descriptor, "wb") as file:  # noqa: PTH123  it is a descriptor
                file.write(content)
                os.fchmod(file.fileno(), 0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from None


@flags.file_flags
@runbooks.command(name="list", short_help="The runbooks, and whether each is as it was locked.")
@click.pass_context
def list_runbooks(context: click.Context, /, **given: object) -> None:
    """List the runbooks. Exit code 1: one is not as it was locked."""
    from kubescript import errors

    failed = False
    with opening.explain_errors():
        opened = _open(context, given)
        names = set(opened.list_names()) | _read_lock(opened).keys()
        for name in sorted(names):
            try:
                found = opened.get(name)
            except errors.RunbookError as error:
                failed = True
                process.echo(_line(f"{name}: NOT RUN: {error.explained}"))
                continue
            process.echo(_line(f"{found.name}  {found.sha256[:_SHOWN]}  {found.header.description}"))
    if not names:
        process.echo(f"There are no runbooks in {opened.path}.")
    context.exit(_FAILED if failed else 0)


@flags.file_flags
@runbooks.command(short_help="A runbook's arguments and its text.")
@click.argument("name")
@click.pass_context
def show(context: click.Context, /, name: str, **given: object) -> None:
    """Show the runbook NAME as it is locked."""
    from kubescript.output import sanitizing

    with opening.explain_errors():
        found = _open(context, given).get(name)
    process.echo(_line(f"{found.name}: {found.header.description}"))
    process.echo(f"SHA-256: {found.sha256}")
    for key, argument in found.header.arguments.items():
        process.echo(_line(f"  {key} ({argument.type}) {argument.describe()}"))
    process.echo("")
    process.echo(sanitizing.clean(found.source))


@flags.cluster_flags
@runbooks.command(short_help="Run a runbook, as a script's call does.")
@click.argument("name")
@click.argument("arguments", metavar="[ARGUMENT=VALUE]...", nargs=-1)
@click.pass_context
def run(context: click.Context, /, name: str, arguments: tuple[str, ...], **given: object) -> None:
    """Run the runbook NAME. What it would change is asked about, as with `kubescript run`."""
    with opening.application(context, given) as opened:
        found = _folder(opened.settings.runbooks.folder).get(name)
        values = dict(_read_argument(found.header, text) for text in arguments)
        # The call is composed of values, which repr quotes; the host checks them once more.
        script = f"k8s.runbook({name!r}, **{values!r})"
        opened.start()
        import anyio

        async def evaluate() -> types.Answer:
            caller = opening.operator("runbooks run")
            return await opened.operator.evaluator.evaluate(script, None, None, caller, by_caller=True)

        with terminal.Status(terminal.starting()):
            answer = anyio.run(evaluate)
        exit_code = decisions.finish(opened, answer)
    context.exit(exit_code)


def _read_argument(declared: header.Header, text: str) -> tuple[str, header.Value]:
    """Returns a name and its value, in the type that the runbook declares. Raises UsageError."""
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"{text!r} is no ARGUMENT=VALUE")
    argument = declared.arguments.get(name)
    if argument is None or argument.type == "string":
        return name, value
    if argument.type == "boolean":
        if value not in {"true", "false"}:
            raise click.UsageError(f"{name} is true or false")
        return name, value == "true"
    try:
        return name, int(value)
    except ValueError:
        raise click.UsageError(f"{name} is an integer") from None


def _open(context: click.Context, given: dict[str, object]) -> runbook_folder.Folder:
    settings = flags.settings(context, given)
    return _folder(settings.runbooks.folder)


def _folder(path: Path | None) -> runbook_folder.Folder:
    from kubescript.runbooks import folder as runbook_folder

    if path is None:
        raise click.ClickException("the settings name no folder: give a --config FILE with [runbooks] folder")
    return runbook_folder.Folder(path)


def _line(text: str) -> str:
    """Returns text of a file on one line, without control characters."""
    from kubescript.output import sanitizing

    return sanitizing.printable(sanitizing.clean(text))
