"""A person's decision on a plan at a terminal: the plan is shown, asked about, applied and followed. `main` and `plans`
use it.

Only a person at a terminal can decide, or get a link for deciding.
"""

from __future__ import annotations

import os
import sys
import termios
from typing import TYPE_CHECKING, Final

import click

from kubescript.cli import opening, process, terminal

if TYPE_CHECKING:
    from kubescript import app, types
    from kubescript.changes import planning
    from kubescript.changes.store import record

__all__ = ["ask_and_apply", "check_person", "finish", "flags_for", "planning_of", "settle", "text", "width"]

_FAILED: Final = 1
_WIDEST: Final = 140
_USUAL_WIDTH: Final = 80
_MAX_REASON: Final = 2_000
"""How many characters a reason may have."""
_QUESTION: Final = "Type `approve` or `yes` to apply this plan, `decline` or `no` to change nothing"
_ANSWERS: Final = {"approve": True, "yes": True, "decline": False, "no": False}


def settle(opened: app.Application, plan: str, result: str | None = None) -> int:
    """Asks the person who ran a script about its plan; without a person at a terminal, prints how to approve it.
    Also prints the script's result. Returns the exit code."""
    if not _is_person():
        if result is not None:
            process.echo(result)
        words = f"kubescript approve {plan}{opened.flags}"
        process.echo(f"Nothing is changed yet. A person approves the plan with: {words}", err=True)
        return 0
    # Attack: a script's result looks like a harmless plan, and stands before the true one. So it comes last.
    try:
        return ask_and_apply(opened, plan)
    finally:
        if result is not None:
            process.echo(result)


def finish(opened: app.Application, answer: types.Answer) -> int:
    """Prints the answer of a script that has ended, and has a person decide on its writes. Returns the exit code."""
    if answer.plan:
        return settle(opened, answer.plan, answer.text)
    process.echo(answer.text, err=answer.is_error)
    return _FAILED if answer.is_error else 0


def ask_and_apply(opened: app.Application, plan: str) -> int:
    """Shows a plan, asks about it, and applies it if it is approved. Returns the exit code. Raises ClickException if it
    is already decided."""
    planned = planning_of(opened)
    found = planned.approvals.get(plan)
    process.echo(text(found))
    if found.state not in {"pending", "approved", "applying"}:
        raise click.ClickException(f"there is nothing to decide: plan {plan} is {found.state} already")
    if found.state == "pending":
        # Before the question, so that an answer is never wasted.
        planned.approvals.check(found.plan)
        decision = _ask(found)
        found = planned.approvals.decide(plan, decision)
    elif found.state == "applying" and not found.plan.author.brings_token:
        # The server of the plan may have died. The person has decided, and is not asked again.
        process.echo("The plan is approved, and another process has begun to apply it. Going on, unless it still runs.")
    if found.state in {"approved", "applying"} and not found.plan.author.brings_token:
        found = _apply(planned, plan)
    process.echo(_describe_end(found))
    _tell_undo(opened, found)
    if found.state == "applied":
        _follow(opened, found)
    return 0 if found.state in {"applied", "approved", "declined", "pending"} else _FAILED


def planning_of(opened: app.Application, command: str = "") -> planning.Planning:
    """Returns the parts that plans need. Raises ClickException if the settings take no plans; `command` is the one
    that would."""
    if opened.operator.planning is not None:
        return opened.operator.planning
    how = command or "such as --config FILE or --writes plan"
    raise click.ClickException(f"these settings take no plans; give the flags of the server that made the plan: {how}")


def flags_for(found: record.Record, given: str) -> str:
    """Returns the flags with which a command finds a plan's server; `given` are those of this command."""
    return found.plan.flags or given


def text(found: record.Record) -> str:
    """Returns a plan as text for the terminal."""
    from kubescript.changes.view import plain

    return plain.text(found, width())


def check_person() -> None:
    """Raises ClickException if there is no person at a terminal."""
    if not _is_person():
        raise click.ClickException("a plan is approved by a person at a terminal; this is none")


def _is_person() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def width() -> int:
    """Returns the number of the terminal's columns, and at most as many as a person likes to read in a line."""
    # COLUMNS is not read. Attack: it names more columns than there are, and the terminal breaks the lines of a plan.
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except OSError:
        return _USUAL_WIDTH
    return min(_WIDEST, columns or _USUAL_WIDTH)


def _check_width() -> None:
    """Raises ClickException if the terminal would break the lines of a plan."""
    from kubescript.changes.view import plain

    columns = width()
    if columns < plain.LEAST_WIDTH:
        raise click.ClickException(
            f"a plan cannot be read in {columns} columns: make the terminal {plain.LEAST_WIDTH} columns wide or wider"
        )


def _ask(found: record.Record) -> record.Decision:
    """Asks the person at the terminal. Aborts if there is none."""
    import time

    from kubescript.changes import planner
    from kubescript.changes.ask import form
    from kubescript.changes.store import record as plan_record

    # No flag answers the question. Attack: a model with a shell approves its own plan by `yes | kubescript approve`.
    check_person()
    _check_width()
    overrides = _list_overrides(found)
    # What was typed before the question is no answer to it.
    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    approves = click.prompt(_QUESTION, value_proc=_read_answer)
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


def _read_answer(typed: str) -> bool:
    """Returns whether a person approves. Raises UsageError, after which click asks again, if the answer is no whole
    word."""
    answer = _ANSWERS.get(typed.strip())
    if answer is None:
        raise click.UsageError("type one whole word: approve, yes, decline or no")
    return answer


def _list_overrides(found: record.Record) -> tuple[str, ...]:
    """Shows the critical findings once more, and returns the rules that the person overrides by approving."""
    from kubescript.changes.view import plain

    rules = [finding.rule for finding in found.plan.critical]
    if not rules:
        return ()
    # Attack: a long plan scrolls its findings out of view.
    process.echo(plain.critical(found, width()))
    process.echo("Approving overrides these findings, and takes a reason.")
    return tuple(dict.fromkeys(rules))


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


def _describe_end(found: record.Record) -> str:
    from kubescript.changes.view import plain

    if found.state == "pending":
        return "approved; another person must approve it too"
    if found.plan.author.brings_token and found.state in {"approved", "applying"}:
        return "approved; the next call of its author applies it, with the author's own token"
    result = found.text or "nothing was changed"
    return plain.line(f"{found.state}: {result}", width())


def _tell_undo(opened: app.Application, found: record.Record) -> None:
    """Prints how the changes that were made can be taken back."""
    from kubescript.changes import undo
    from kubescript.changes.view import plain

    is_nothing_done = all(application.state != "done" for application in found.steps)
    if is_nothing_done or found.plan.author.is_sender:
        return
    lasting = undo.describe_lasting(found)
    if lasting:
        process.echo(plain.line(f"The plan cannot be taken back, since this cannot: {lasting}", width()))
        return
    words = f"kubescript plans undo {found.plan.id}{flags_for(found, opened.flags)}"
    process.echo(f"To take it back: {words}")
