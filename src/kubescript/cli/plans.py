"""`kubescript approve` and `kubescript plans …`: a person reads plans in a terminal, and decides on them.

Only a person at a terminal can decide, or get a link for deciding.
"""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Final

import click

from kubescript.cli import flags, opening, process, terminal

if TYPE_CHECKING:
    from kubescript import app
    from kubescript.changes import planning
    from kubescript.changes.store import record

__all__ = ["approve", "plans", "settle"]

_FAILED: Final = 1
_WIDEST: Final = 140
_ID: Final = 34
"""How many characters a whole id has."""
_MAX_REASON: Final = 2_000
"""How many characters a reason may have."""


@click.command(short_help="Read a plan, and approve or decline it.")
@click.argument("plan")
@flags.server_flags
@click.pass_context
def approve(context: click.Context, /, plan: str, **given: object) -> None:
    """Show what PLAN would change, ask whether to apply it, and apply it.

    Give the flags of the server that made the plan: its policy must be the same. A plan whose server died while it was
    applied goes on from there, without a question; under another policy it ends instead.
    """
    with opening.application(context, given) as opened:
        whole = _whole(opened, plan)
        code = _ask_and_apply(opened, whole)
    context.exit(code)


def settle(opened: app.Application, plan: str) -> int:
    """Asks the person who ran a script about its plan; without a person at a terminal, prints how to approve it.
    Returns the exit code."""
    if _is_person():
        return _ask_and_apply(opened, plan)
    words = f"kubescript approve {plan}{opened.flags}"
    process.echo(f"Nothing is changed yet. A person approves the plan with: {words}", err=True)
    return 0


def _ask_and_apply(opened: app.Application, plan: str) -> int:
    """Shows a plan, asks about it, and applies it if it is approved. Returns the exit code. Raises ClickException if it
    is already decided."""
    planned = _planning(opened)
    found = planned.approvals.get(plan)
    process.echo(_text(found))
    if found.state not in {"pending", "approved", "applying"}:
        raise click.ClickException(f"there is nothing to decide: plan {plan} is {found.state} already")
    if found.state == "pending":
        # Before the question, so that an answer is never wasted.
        planned.approvals.check(found.plan)
        decision = _decision(found)
        found = planned.approvals.decide(plan, decision)
    elif found.state == "applying":
        # The server of the plan may have died. The person has decided, and is not asked again.
        process.echo("The plan is approved, and another process has begun to apply it. Going on, unless it still runs.")
    if found.state in {"approved", "applying"}:
        found = _apply(planned, plan)
    process.echo(_ending(found))
    if found.state == "applied":
        _follow(opened, found)
    return 0 if found.state in {"applied", "declined", "pending"} else _FAILED


@click.group(short_help="List plans, show one, take one back.")
def plans() -> None:
    """List plans, show one, take it back, or link to its page."""


@plans.command(name="list", short_help="The newest plans and their states.")
@flags.server_flags
@click.pass_context
def list_plans(context: click.Context, /, **given: object) -> None:
    """List the newest plans."""
    with opening.application(context, given) as opened:
        approvals = _planning(opened).approvals
        for found in approvals.newest():
            process.echo(_line(found))


@plans.command(short_help="What a plan would change, and what became of it.")
@click.argument("plan")
@flags.server_flags
@click.pass_context
def show(context: click.Context, /, plan: str, **given: object) -> None:
    """Show PLAN."""
    with opening.application(context, given) as opened:
        whole = _whole(opened, plan)
        found = _planning(opened).approvals.get(whole)
        process.echo(_text(found))


@plans.command(short_help="Take back what a plan has changed, by a plan of its own.")
@click.argument("plan")
@flags.server_flags
@click.pass_context
def undo(context: click.Context, /, plan: str, **given: object) -> None:
    """Plan the reverse of what was applied of PLAN, show it, and ask whether to apply it."""
    with opening.application(context, given) as opened:
        whole = _whole(opened, plan)
        caller = opening.operator(f"plans undo {whole}")
        planned = _planning(opened)
        reverse = planned.undo(whole, caller)
        code = settle(opened, reverse.id)
    context.exit(code)


@plans.command(short_help="A link that opens a plan's page once.")
@click.argument("plan")
@flags.server_flags
@click.pass_context
def link(context: click.Context, /, plan: str, **given: object) -> None:
    """Print a link that opens the page of PLAN once, at a server that is running and has the plan."""
    from kubescript import private_files
    from kubescript.changes.page import links

    _check_person()
    with opening.application(context, given) as opened:
        planned = _planning(opened)
        whole = _whole(opened, plan)
        found = planned.approvals.get(whole)
        folder = private_files.state_folder()
        made = links.find(folder, planned.store().where)
        if made is None:
            raise click.ClickException(
                "no page has this plan: a server that keeps its plans in the same store serves one from its own first "
                f"plan on; use `kubescript approve {found.plan.id}{opened.flags}`"
            )
        process.echo(made.to(found.plan.id, found.plan.expires))


def _planning(opened: app.Application) -> planning.Planning:
    if opened.operator.planning is None:
        raise click.ClickException(
            "these settings take no plans; give the flags of the server that made the plan, such as --config FILE or "
            "--writes plan"
        )
    return opened.operator.planning


def _whole(opened: app.Application, plan: str) -> str:
    """Returns the id of the only plan whose id begins with the text; the text unchanged if it is a whole id, or if it
    matches no plan or several."""
    if len(plan) >= _ID:
        return plan
    beginning = plan.rstrip("…")
    newest = _planning(opened).approvals.newest()
    ids = [each.plan.id for each in newest]
    found = [whole for whole in ids if whole.startswith(beginning)]
    if len(found) != 1:
        return plan
    return found[0]


def _line(found: record.Record) -> str:
    from kubescript.changes.view import model, view
    from kubescript.output import sanitizing

    planned = found.plan
    author = planned.author
    namespaces = {step.namespace for step in planned.steps}
    named = sorted(namespaces - {""})
    spaces = ", ".join(named) or "no namespace"
    count = model.count(len(planned.steps), "change")
    client = author.client or author.user
    created = view.moment(planned.created)
    line = f"{planned.id}  {created}  {found.state:<8}  {count} in {spaces}, by {client}"
    return sanitizing.clean(line)


def _text(found: record.Record) -> str:
    from kubescript.changes.view import plain

    width = shutil.get_terminal_size().columns
    return plain.text(found, min(_WIDEST, width))


def _decision(found: record.Record) -> record.Decision:
    """Asks the person at the terminal. Aborts if there is none."""
    import time

    from kubescript.changes import planner
    from kubescript.changes.ask import form
    from kubescript.changes.store import record as plan_record

    # No flag answers the question. Attack: a model with a shell approves its own plan by `yes | kubescript approve`.
    _check_person()
    overrides = _list_overrides(found)
    choice = click.Choice(["approve", "decline"])
    answer = click.prompt("Type `approve` or `decline`", type=choice, show_choices=False)
    approves = answer == "approve"
    must_say_why = approves and bool(overrides)
    if must_say_why:
        # Without a default, click asks until there is a reason.
        reason = click.prompt("Reason (needed)", show_default=False)
    else:
        reason = click.prompt("Reason (may be empty)", default="", show_default=False)
    return plan_record.Decision(
        approver=planner.local_user(),
        channel="terminal",
        approves=approves,
        hash=found.plan.hash,
        reason=form.line(reason, _MAX_REASON),
        overrides=overrides if approves else (),
        at=time.time(),
    )


def _check_person() -> None:
    """Raises ClickException if there is no person at a terminal."""
    if not _is_person():
        raise click.ClickException("a plan is approved by a person at a terminal; this is none")


def _is_person() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _list_overrides(found: record.Record) -> tuple[str, ...]:
    """Returns the names of the rules whose critical findings the person overrides by approving."""
    rules = [finding.rule for finding in found.plan.critical]
    if not rules:
        return ()
    distinct = tuple(dict.fromkeys(rules))
    names = ", ".join(distinct)
    process.echo(f"Critical findings: {names}. Approving overrides them, and takes a reason.")
    return distinct


def _apply(planned: planning.Planning, plan: str) -> record.Record:
    with terminal.Status("applying") as status:

        def report(done: int, count: int, text: str) -> None:
            status.say(f"{done} of {count}: {text}")

        return planned.approvals.apply(plan, report)


def _follow(opened: app.Application, ended: record.Record) -> None:
    """Follows the rollouts that a plan has started, and prints their results."""
    import anyio
    import orjson

    with terminal.Status("following the rollouts; Ctrl-C ends only the watching"):
        followed = anyio.run(opened.operator.follow, ended, opening.operator("approve"), None)
    if followed is None:
        return
    try:
        lines = orjson.loads(followed.text)
    except ValueError:
        lines = None
    if not isinstance(lines, list):
        lines = [followed.text]
    for line in lines:
        process.echo(str(line))


def _ending(found: record.Record) -> str:
    if found.state == "pending":
        return "approved; another person must approve it too"
    result = found.text or "nothing was changed"
    return f"{found.state}: {result}"
