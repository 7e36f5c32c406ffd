"""A plan as plain text, for a terminal and a client's question: the same content as the page, in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kubescript.changes.store import record
from kubescript.changes.view import characters, folding, model, view

__all__ = ["LEAST_WIDTH", "add_remarks", "critical", "line", "text"]

LEAST_WIDTH: Final = 40
"""The least width of a terminal on which a plan can be read."""
_MARKS: Final[dict[record.StepState, str]] = {
    "waiting": " ", "sending": "…", "not sent": "✗", "done": "✓", "failed": "✗", "unknown": "?",
}  # fmt: skip


def text(entry: record.Record, width: int = 100, now: float | None = None) -> str:
    """Returns a plan as text, as it is at the time `now` in seconds since the epoch, in lines of at most `width` cells
    of a terminal (at least `LEAST_WIDTH`). The text's only control character is the newline."""
    shown = view.of(entry, now)
    return _fold(_view(shown), width) + "\n"


def critical(entry: record.Record, width: int = 100) -> str:
    """Returns a plan's critical findings, as `text` has them."""
    found = [finding for finding in view.findings(entry.plan) if finding.is_critical]
    return _fold(map(_finding, found), width)


def line(words: str, width: int = 100) -> str:
    """Returns any text as a line, folded as `text` is, with nothing in it that a reader would not see."""
    return _fold([add_remarks(characters.show(words))], width)


def _fold(lines: Iterable[str], width: int) -> str:
    pieces: list[str] = []
    for line in lines:
        pieces += folding.fold(line, max(width, LEAST_WIDTH))
    return "\n".join(pieces)


def _join(words: model.Words) -> str:
    texts = [word if isinstance(word, str) else add_remarks(word) for word in words]
    return "".join(texts)


def _view(shown: model.View) -> Iterator[str]:
    summary = shown.summary
    yield f"Plan {summary.id}: {summary.title}"
    yield _join(summary.sentence)
    if shown.outcome.text:
        yield add_remarks(shown.outcome)
    headlines = (f"{change.number}. {add_remarks(change.headline)}" for change in shown.changes)
    yield from _section("What will happen", headlines)
    yield from _section("Findings", map(_finding, shown.findings))
    for change in shown.changes:
        yield from _change(change)
    yield from _section("Runbook", map(add_remarks, shown.runbook))
    yield from _section("What the script read", map(add_remarks, shown.reads))
    needed = model.count(shown.approvals, "approval")
    yield from _section(f"Decisions ({needed} needed)", map(_opinion, summary.opinions))
    yield ""
    yield f"In all: {shown.amount}. Made {summary.created}."
    yield shown.manner
    yield f"SHA-256 of the plan: {shown.hash}"
    yield f"SHA-256 of the script: {shown.script.text}"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    for at, line in enumerate(lines):
        if at == 0:
            yield ""
            yield title
        yield f"  {line}"


def _finding(finding: model.Finding) -> str:
    """Returns one finding as a line."""
    level = "CRITICAL" if finding.is_critical else "warning"
    rule = add_remarks(finding.rule)
    message = add_remarks(finding.message)
    places = "; ".join(f"change {place.change}, {place.target.text}" for place in finding.places)
    return f"{level} {rule}: {message} ({places})"


def _change(change: model.Change) -> Iterator[str]:
    """Yields the lines of one request."""
    yield ""
    target = add_remarks(change.target)
    if change.turn:
        target += f", {change.turn}"
    heading = f"{change.number}. {change.action} {target}"
    yield f"{heading}: {change.counts}" if change.counts else heading
    if change.state != "waiting":
        state = f"   [{_MARKS[change.state]}] {change.state}: {add_remarks(change.outcome)}"
        yield state.rstrip(": ")
    for warning in change.warnings:
        yield f"   warning of the API server: {add_remarks(warning)}"
    for effect in change.effects:
        yield f"   effect: {add_remarks(effect)}"
    if change.removes:
        yield "   the whole object goes"
    else:
        yield from _rows(change)
    yield f"   request: {add_remarks(change.request)}"


def _rows(change: model.Change) -> Iterator[str]:
    """Yields the lines of a request's fields, the decisive ones first."""
    for row in (*change.decisive, *change.rows):
        yield from _row(row)
    if change.server_rows:
        fields = model.count(len(change.server_rows), "field")
        yield f"   {fields} set by the server:"
    for row in change.server_rows:
        yield from _row(row)


def _row(row: model.Row) -> Iterator[str]:
    """Yields the lines of one field."""
    heading = f"   {add_remarks(row.path)}:"
    if row.badges:
        heading += f"  [{'; '.join(row.badges)}]"
    yield heading
    if row.lines:
        for line in row.lines:
            sign = line.sign or "…"
            yield f"     {sign} {line.text.text}"
        return
    if row.old is not None:
        yield f"     {model.REMOVED} {row.old.text}"
    if row.new is not None:
        yield f"     {model.ADDED} {row.new.text}"


def _opinion(opinion: model.Opinion) -> str:
    """Returns one decision as a line."""
    approver = add_remarks(opinion.approver)
    line = f"{opinion.verdict} by {approver} ({opinion.channel}) at {opinion.at}"
    overrides = ", ".join(rule.text for rule in opinion.overrides)
    if overrides:
        line += f"; overrides {overrides}"
    if opinion.reason.text:
        line += f": {add_remarks(opinion.reason)}"
    return line


def add_remarks(words: characters.Shown) -> str:
    """Returns a string with the remarks on its characters."""
    if not words.remarks:
        return words.text
    remarks = "; ".join(words.remarks)
    return f"{words.text} [{remarks}]"
