"""`kubescript snapshot`: saves the cluster, and its sources, to a folder."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubescript.cli import flags, opening, process, terminal, user_path

if TYPE_CHECKING:
    from kubescript.capture import capture

__all__ = ["snapshot"]


@flags.cluster_flags
@click.command(short_help="Save the cluster to a folder, for `--snapshot`.")
@click.argument("out", type=user_path.UserPath())
@click.option("--namespaces", "-n", help="Only these namespaces, separated by commas.")
@click.option(
    "--logs", type=click.IntRange(min=1), default=None, help="Lines of each container's log to save. Default: none."
)
@click.option("--sources", is_flag=True, help="Save metrics, alerts and log lines of [sources], too.")
@click.option(
    "--series", multiple=True, metavar="SELECTOR", help="With --sources: more series than rules and alerts read."
)
@click.pass_context
def snapshot(
    context: click.Context,
    /,
    out: Path,
    namespaces: str | None,
    logs: int | None,
    sources: bool,
    series: tuple[str, ...],
    **given: object,
) -> None:
    """Save the cluster to OUT, for `--snapshot OUT`. Leaves out what the policy denies; saves Secrets as metadata."""
    from kubescript.broker import records
    from kubescript.capture import capture

    chosen = _names(namespaces)
    if series and not sources:
        raise click.UsageError("--series belongs to --sources")
    with opening.application(context, given) as opened:
        _mute_call_events()
        clusters = opened.operator.contexts
        access = clusters.default
        cluster = access.cluster
        if sources and access.sources is None:
            raise click.UsageError("--sources needs [sources] in the configuration")
        journal: records.Journal = records.NOWHERE
        if opened.audit is not None:
            caller = opening.operator("snapshot")
            journal = opened.audit.journal(caller)
        with terminal.Status("saving the cluster") as status:
            report = capture.capture(
                access.broker,
                out,
                cluster=cluster.name,
                namespace=cluster.namespace,
                namespaces=chosen,
                logs=logs,
                journal=terminal.Watched(journal, status),
                sources_=access.sources if sources else None,
                series=series,
            )
            clusters.check_rules()
    process.echo(_snapshot_summary(report))
    if not report.objects:
        raise click.ClickException("the snapshot is empty: check --context, --namespaces and what RBAC allows")


def _names(namespaces: str | None) -> tuple[str, ...] | None:
    """Returns the namespaces between the commas; None for all of them."""
    if namespaces is None:
        return None
    parts = [part.strip() for part in namespaces.split(",")]
    names = tuple(part for part in parts if part)
    if not names:
        raise click.BadParameter("names no namespace", param_hint="'--namespaces'")
    return names


def _mute_call_events() -> None:
    """Drops the log lines of refused calls."""

    # The report lists each refusal once.
    def is_other(record: logging.LogRecord) -> bool:
        event = getattr(record, "event", "")
        return event != "broker.call"

    log = logging.getLogger("kubescript.broker.broker")
    log.addFilter(is_other)


def _snapshot_summary(report: capture.Report) -> str:
    """Returns a summary of what was saved, and a line for each part that was not."""
    resources = len(report.resources)
    logs = report.logs.saved
    beside = f", and {', '.join(report.sources)}" if report.sources else ""
    lines = [f"{report.objects} objects of {resources} resources and {logs} logs{beside} saved to {report.path}"]
    lines += [f"  not saved: {line}" for line in report.lines()]
    return "\n".join(lines)
