"""`kubescript audit …`: the commands that check and read an audit file. None of them needs a cluster or a server."""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from kubescript.cli import record_files, user_path
from kubescript.kube import times

if TYPE_CHECKING:
    from kubescript import config
    from kubescript_sandbox.host import executor

__all__ = ["audit"]

_CRITICAL: Final = 1


def _explain_errors(command: Callable[..., Any]) -> Callable[..., Any]:
    """Ends a command with an error's message and remedy, never with a stack trace."""

    @functools.wraps(command)
    def run(*arguments: Any, **flags: Any) -> Any:
        from kubescript import errors

        try:
            return command(*arguments, **flags)
        except errors.KubescriptError as error:
            raise click.ClickException(error.explained) from None
        except BrokenPipeError:  # `| head` has read enough
            raise
        except OSError as error:
            raise click.ClickException(f"{error.filename}: {error.strerror}") from None
        except (KeyError, TypeError, ValueError, AttributeError):
            # Records are used as plain dictionaries: a malformed one fails where it is used.
            raise click.ClickException(
                "a record lacks a field or has a wrong value; run `kubescript audit verify`"
            ) from None

    return run


@click.group()
def audit() -> None:
    """Check and read an audit file (docs/audit.md)."""


def _parse_time(_context: click.Context, _option: click.Parameter, value: str | None) -> datetime.datetime | None:
    """Returns the time that an option gives; UTC if it has no offset."""
    if value is None:
        return None
    moment = times.parse(value)
    if moment is None:
        raise click.BadParameter(f"{value!r} is not a time such as 2026-01-31T12:00:00Z")
    return moment


@audit.command()
@record_files.files_argument
@record_files.KEY_OPTION
@click.option(
    "--heads", "earlier", type=click.File(encoding="utf-8", errors="replace"),
    help="What an earlier `verify` printed, or - for stdin: fail if one of its heads is no longer in a chain.",
)  # fmt: skip
@click.option(
    "--since", callback=_parse_time,
    help="Of several files, compare only plans that were applied from this time on: files that were written last more "
    "than a day before it may be gone.",
)  # fmt: skip
@click.pass_context
@_explain_errors
def verify(
    context: click.Context,
    files: tuple[Path, ...],
    key_file: Path | None,
    earlier: TextIO | None,
    since: datetime.datetime | None,
) -> None:
    """Check the whole chain of each FILE, rotated files included; a folder stands for its .jsonl files. Of several
    replicas' files, check also that each plan was approved on one of them and applied once. Exit code 1: a record was
    changed or is missing; 2: a chain is keyed and no key was given."""
    from kubescript.audit import heads

    wanted = {} if earlier is None else heads.read(earlier)
    found: set[str] = set()
    codes = []
    for file in files:
        code, text, those = record_files.verify(file, key_file, frozenset(wanted))
        codes.append(code)
        found |= those
        click.echo(f"{file}: {text}" if len(files) > 1 else text)
    is_whole = record_files.BROKEN not in codes
    if earlier is not None:
        click.echo(heads.as_text(wanted, found))
        codes.append(record_files.BROKEN if wanted.keys() - found else 0)
    if len(files) > 1 and is_whole:
        codes.append(_compare(files, since))
    context.exit(record_files.worst(codes))


def _compare(files: tuple[Path, ...], since: datetime.datetime | None) -> int:
    """Prints whether several chains agree about their plans; returns the exit code."""
    from kubescript.audit import plan_histories

    report = plan_histories.compare(files, since)
    click.echo(plan_histories.as_text(report))
    return record_files.BROKEN if report.faults else 0


def _filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the flags that select records."""
    options = (
        click.option("--session", default="", help="Only this session."),
        click.option("--script", default="", help="Only this script: the beginning of its hash, or an evaluation id."),
        click.option(
            "--since", callback=_parse_time, help="Only from this time on (RFC 3339; UTC if it has no offset)."
        ),
    )
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), command)


@audit.command()
@record_files.files_argument
@_filter_options
@click.option("--denied", is_flag=True, help="Only calls that were not allowed.")
@click.option("--plan", default="", help="Only what became of this plan, from its script on: the beginning of its id.")
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
@_explain_errors
@record_files.verifies_first
def show(files: tuple[Path, ...], as_json: bool, plan: str, code: int, **chosen: Any) -> None:
    """Print one line for each record, even if the chain is broken; of several files, one file after the other. The exit
    code is that of `verify`."""
    from kubescript.audit import format as showing
    from kubescript.audit import reader

    found = _records(files, chosen)
    if plan:
        wanted = reader.of_plan(files, plan)
        found = reader.records_of(files, wanted)
    is_empty = True
    for record in found:
        is_empty = False
        line = showing.raw(record) if as_json else showing.line(record)
        click.echo(line)
    if plan and is_empty:
        raise click.ClickException(f"the record has no plan {plan!r}")
    click.get_current_context().exit(code)


@audit.command()
@record_files.files_argument
@_filter_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_explain_errors
@record_files.verifies_first
def stats(files: tuple[Path, ...], as_json: bool, code: int, **chosen: Any) -> None:
    """Print totals: scripts, calls, refusals by rule, bytes, latencies, redactions."""
    import orjson

    from kubescript.audit import stats as summing

    record_files.refuse_unverified(code)
    records = _records(files, chosen)
    sums = summing.sum_up(records)
    if not as_json:
        click.echo(summing.as_text(sums))
        return
    document = orjson.dumps(sums, option=orjson.OPT_INDENT_2)
    click.echo(document.decode())


@audit.command()
@record_files.files_argument
@_filter_options
@click.option("--name", default="kubescript", help="Name of the roles.")
@click.option(
    "--metadata",
    is_flag=True,
    help="Include what was served as metadata, such as Secrets. RBAC cannot limit it to metadata: whoever has the "
    "role's credentials can read whole objects.",
)
@_explain_errors
@record_files.verifies_first
def role(files: tuple[Path, ...], name: str, metadata: bool, code: int, **chosen: Any) -> None:
    """Print the smallest RBAC roles that allow what was recorded."""
    from kubescript.audit import rbac as least

    record_files.refuse_unverified(code)
    records = _records(files, chosen)
    roles = least.as_yaml(records, name, metadata=metadata)
    click.echo(roles, nl=False)


@audit.command()
@record_files.file_argument
@click.option(
    "--config",
    "config_file",
    type=user_path.UserPath(dir_okay=False),
    help="JSON file of the rules: which count, how severely, and what changes are held against.",
)
@click.option("--planned", is_flag=True, help="Judge plans that were not applied, too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
@_explain_errors
@record_files.verifies_first
def rules(
    context: click.Context, file: Path, config_file: Path | None, planned: bool, as_json: bool, code: int
) -> None:
    """Judge how the cluster was changed. Exit code 1: a critical finding."""
    import msgspec

    from kubescript.audit import judgement as judging
    from kubescript.audit import reader
    from kubescript.changes.rules.conduct import configuration
    from kubescript.output import sanitizing

    record_files.refuse_unverified(code)
    settings = configuration.Configuration()
    if config_file is not None:
        settings = configuration.read(config_file)
    records = reader.records(file)
    judgement = judging.judge(records, settings, planned=planned)
    if as_json:
        document = msgspec.json.encode(judgement).decode()
        click.echo(sanitizing.escape_line(document))
    else:
        click.echo(judging.as_text(judgement))
    exit_code = _CRITICAL if judgement.is_critical else 0
    context.exit(exit_code)


@audit.command()
@record_files.file_argument
@_filter_options
@click.option(
    "--snapshot", "out", type=user_path.UserPath(), help="Run nothing; copy what a replay needs to this new folder."
)
@click.pass_context
@_explain_errors
@record_files.verifies_first
def replay(context: click.Context, file: Path, out: Path | None, code: int, **chosen: Any) -> None:
    """Run the recorded scripts again without a cluster, and compare their answers. Exit code 1: an answer differs;
    otherwise that of `verify`."""
    from kubescript import config, redaction
    from kubescript.audit import export, reader
    from kubescript.cli import replay as again
    from kubescript.output import sanitizing

    wanted = reader.Filter(**chosen)
    if out is not None:
        saved = export.export(file, out, wanted)
        click.echo(f"{saved} scripts saved to {out}; kubescript audit replay {out}/audit.jsonl")
        context.exit(code)
    settings = config.load({}, None)
    masking = redaction.Engine(settings.redaction)
    with _runner(context, settings) as runner:
        for verdict in again.replay(file, runner, settings, wanted, masking.text):
            if verdict.state in {"differs", "damaged"}:
                code = record_files.BROKEN
            line = f"{verdict.script[:8]} {verdict.state:<7} {verdict.why}"
            # The reason quotes the answers, which contain text from the cluster.
            click.echo(sanitizing.printable(line.rstrip()))
    context.exit(code)


@contextlib.contextmanager
def _runner(context: click.Context, settings: config.Settings) -> Iterator[executor.Executor]:
    """Yields an executor for recorded scripts, as confined as a server's."""
    from kubescript import config, programs
    from kubescript_sandbox.host import executor

    runner = executor.Executor(
        context.find_root().obj,
        programs.SCRIPTS,
        memory_bytes=settings.limits.memory_mib * config.MIB,
        cpu_seconds=settings.limits.max_timeout_ms // 1000,
        spares=1,
        strict=bool(settings.sandbox.strict),
    )
    with contextlib.closing(runner):
        yield runner


def _records(files: tuple[Path, ...], chosen: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Returns the records that the flags select."""
    from kubescript.audit import reader

    wanted = reader.Filter(**chosen)
    return reader.records_of(files, wanted)
