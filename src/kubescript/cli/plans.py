"""`kubescript approve` and `kubescript plans …`: a person reads plans in a terminal, and decides on them.

Listing and showing need only the store; everything else needs the settings of the server that made the plan.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from kubescript.cli import decisions, flags, opening, process

if TYPE_CHECKING:
    from kubescript import app
    from kubescript.changes.store import record, store

__all__ = ["approve", "plans"]

_ID: Final = 34
"""How many characters a whole id has."""


@flags.cluster_flags
@click.command(short_help="Read a plan, and approve or decline it.")
@click.argument("plan")
@click.pass_context
def approve(context: click.Context, /, plan: str, **given: object) -> None:
    """Show what PLAN would change, ask whether to apply it, and apply it.

    Give the flags of the server that made the plan: its policy must be the same. A plan whose server died while it was
    applied goes on from there, without a question; under another policy it ends instead.
    """
    with opening.application(context, given) as opened:
        whole = _find_id(opened, "approve", plan)
        code = decisions.ask_and_apply(opened, whole)
    context.exit(code)


@click.group(short_help="List plans, show one, take one back.")
def plans() -> None:
    """List plans, show one, take it back, or link to its page."""


@flags.cluster_flags
@plans.command(name="list", short_help="The newest plans and their states.")
@click.pass_context
def list_plans(context: click.Context, /, **given: object) -> None:
    """List the newest plans, and how to decide on those that wait."""
    own = flags.of_plans(context, given)
    missing = _find_missing(context, given)
    if missing is not None:
        process.echo(_say_none(missing))
        return
    with _open_store(context, given) as kept:
        newest = kept.newest()
        for found in newest:
            process.echo(_line(found))
            if found.state == "pending":
                process.echo(f"    to decide: {_command('approve', found, own)}")
        if newest:
            process.echo(f"To read one: kubescript plans show {newest[0].plan.id}{own}")
        else:
            process.echo(_say_none(kept.where))


@flags.cluster_flags
@plans.command(short_help="What a plan would change, and what became of it.")
@click.argument("plan")
@click.pass_context
def show(context: click.Context, /, plan: str, **given: object) -> None:
    """Show PLAN."""
    own = flags.of_plans(context, given)
    with _open_store(context, given) as kept:
        found = kept.get(_complete_id(kept, plan))
        process.echo(decisions.text(found))
        if found.state == "pending":
            process.echo(f"To decide: {_command('approve', found, own)}")


@flags.cluster_flags
@plans.command(short_help="Take back what a plan has changed, by a plan of its own.")
@click.argument("plan")
@click.pass_context
def undo(context: click.Context, /, plan: str, **given: object) -> None:
    """Plan the reverse of what was applied of PLAN, show it, and ask whether to apply it."""
    from kubescript.output import sanitizing

    with opening.application(context, given) as opened:
        whole = _find_id(opened, "plans undo", plan)
        caller = opening.operator(f"plans undo {whole}")
        planned = decisions.planning_of(opened)
        reverse = planned.undo(whole, caller)
        for what in reverse.gone:
            process.echo(f"The object is gone, so nothing is taken back of: {sanitizing.clean(what)}")
        code = decisions.settle(opened, reverse.plan.id)
    context.exit(code)


@flags.cluster_flags
@plans.command(short_help="A link that opens a plan's page once.")
@click.argument("plan")
@click.pass_context
def link(context: click.Context, /, plan: str, **given: object) -> None:
    """Print a link that opens the page of PLAN once, at a server that is running and has the plan."""
    from kubescript import private_files
    from kubescript.changes.page import links

    decisions.check_person()
    with opening.application(context, given) as opened:
        whole = _find_id(opened, "plans link", plan)
        planned = decisions.planning_of(opened)
        found = planned.approvals.get(whole)
        folder = private_files.state_folder()
        made = links.find(folder, planned.store().where)
        if made is None:
            raise click.ClickException(
                "no page has this plan: a server that keeps its plans in the same store serves one from its own first "
                f"plan on; use `kubescript approve {found.plan.id}{opened.flags}`"
            )
        process.echo(made.to(found.plan.id, found.plan.expires))


def _find_missing(context: click.Context, given: dict[str, object]) -> str | None:
    """Returns the file of a store that no server has made yet, so that listing makes none; None if there is a store."""
    from kubescript.database import database

    with opening.explain_errors():
        settings = flags.settings(context, given)
        file = database.find_file(settings.plans.store)
    if file is None or file.exists():
        return None
    return str(file.absolute())


def _say_none(where: str) -> str:
    return f"There are no plans in {where}. Of a server with another store: give its --config."


@contextlib.contextmanager
def _open_store(context: click.Context, given: dict[str, object]) -> Iterator[store.Store]:
    """Yields the store of plans that the settings name, by default the user's own."""
    from kubescript.changes.store import store

    with opening.explain_errors():
        settings = flags.settings(context, given)
        with contextlib.closing(store.Store(settings.plans.store)) as kept:
            yield kept


def _find_id(opened: app.Application, command: str, plan: str) -> str:
    """Returns a plan's whole id. Raises ClickException if the settings take no plans; it names the command that
    works."""
    if opened.operator.planning is not None:
        return _complete_id(opened.operator.planning.store(), plan)
    from kubescript import errors
    from kubescript.changes.store import store

    how = ""
    with contextlib.suppress(errors.PlanError), contextlib.closing(store.Store(opened.settings.plans.store)) as kept:
        found = kept.get(_complete_id(kept, plan))
        how = _command(command, found, "")
    decisions.planning_of(opened, how)
    return plan


def _complete_id(kept: store.Store, plan: str) -> str:
    """Returns the id of the only plan whose id begins with the text; the text unchanged if it is a whole id, or if it
    matches no plan or several."""
    if len(plan) >= _ID:
        return plan
    beginning = plan.rstrip("…")
    ids = [found.plan.id for found in kept.newest()]
    matches = [whole for whole in ids if whole.startswith(beginning)]
    return matches[0] if len(matches) == 1 else plan


def _command(name: str, found: record.Record, own: str) -> str:
    """Returns a command about a plan that works as it is."""
    return f"kubescript {name} {found.plan.id}{decisions.flags_for(found, own)}"


def _line(found: record.Record) -> str:
    """Returns a plan's entry in the list."""
    from kubescript.changes.view import model, plain, view

    planned = found.plan
    author = planned.author
    namespaces = {step.namespace for step in planned.steps}
    named = sorted(namespaces - {""})
    spaces = ", ".join(named) or "no namespace"
    count = model.count(len(planned.steps), "change")
    by = view.client(author) if author.client else author.user
    created = view.moment(planned.created)
    # Attack: a client's name has a line of its own, with a command that a person copies.
    line = f"{planned.id}  {created}  {found.state:<8}  {count} in {spaces}, by {by}"
    return plain.line(line, decisions.width())
