"""A plan as plain text, for a terminal and a client's question: the same content as the page, in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kubescript.changes.store import record
from kubescript.changes.view import characters, model, view

__all__ = ["text"]

_LEAST_WIDTH: Final = 40
_MARKS: Final = {"waiting": " ", "sending": "…", "done": "✓", "failed": "✗", "unknown": "?"}


def text(entry: record.Record, width: int = 100, now: float | None = None) -> str:
    """Returns a plan as text at a time in seconds since the epoch, in lines of at most `width` characters (at least
    40), whose only control character is the newline."""
    room = max(width, _LEAST_WIDTH)
    return "\n".join(piece for line in _view(view.of(entry, now)) for piece in _fold(line, room)) + "\n"


def _join(words: model.Words) -> str:
    return "".join(word if isinstance(word, str) else _add_remarks(word) for word in words)


def _view(shown: model.View) -> Iterator[str]:
    yield f"Plan {shown.summary.id}: {shown.summary.title}"
    yield _join(shown.summary.sentence)
    if shown.outcome.text:
        yield _add_remarks(shown.outcome)
    yield from _section("Findings", map(_finding, shown.findings))
    for change in shown.changes:
        yield from _change(change)
    yield from _section("What the script read", map(_add_remarks, shown.reads))
    yield from _section(
        f"Decisions ({model.count(shown.approvals, 'approval')} needed)", map(_opinion, shown.summary.opinions)
    )
    yield ""
    yield f"In all: {shown.amount}. Made {shown.summary.created}."
    yield f"SHA-256 of the plan: {shown.hash}"
    yield f"SHA-256 of the script: {shown.script.text}"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    for at, line in enumerate(lines):
        if at == 0:
            yield ""
            yield title
        yield f"  {line}"


def _finding(finding: model.Finding) -> str:
    level = "CRITICAL" if finding.is_critical else "warning"
    target = finding.target.text
    return f"{level} {_add_remarks(finding.rule)}: {_add_remarks(finding.message)} (change {finding.change}, {target})"


def _change(change: model.Change) -> Iterator[str]:
    yield ""
    turn = f", {change.turn}" if change.turn else ""
    yield f"{change.number}. {change.action} {_add_remarks(change.target)}{turn}: {change.counts}"
    if change.state != "waiting":
        yield f"   [{_MARKS[change.state]}] {change.state}: {_add_remarks(change.outcome)}".rstrip(": ")
    yield f"   {_add_remarks(change.request)}"
    for warning in change.warnings:
        yield f"   warning of the API server: {_add_remarks(warning)}"
    for dependent in change.dependents:
        yield f"   depends on it: {_add_remarks(dependent)}"
    if change.removes:
        yield "   the whole object goes"
        return
    for row in change.rows:
        yield from _row(row)
    if change.server_rows:
        yield f"   {model.count(len(change.server_rows), 'field')} set by the server:"
    for row in change.server_rows:
        yield from _row(row)


def _row(row: model.Row) -> Iterator[str]:
    badges = f"  [{'; '.join(row.badges)}]" if row.badges else ""
    yield f"   {_add_remarks(row.path)}:{badges}"
    if row.lines:
        for line in row.lines:
            yield f"     {line.sign} {line.text.text}" if line.sign else f"     … {line.text.text}"
        return
    if row.old is not None:
        yield f"     {model.REMOVED} {row.old.text}"
    if row.new is not None:
        yield f"     {model.ADDED} {row.new.text}"


def _opinion(opinion: model.Opinion) -> str:
    verdict = "approved" if opinion.approves else "declined"
    overrides = ", ".join(rule.text for rule in opinion.overrides)
    override = f"; overrides {overrides}" if overrides else ""
    reason = f": {_add_remarks(opinion.reason)}" if opinion.reason.text else ""
    return f"{verdict} by {_add_remarks(opinion.approver)} ({opinion.channel}) at {opinion.at}{override}{reason}"


def _add_remarks(words: characters.Shown) -> str:
    """Returns a text with the remarks on its characters."""
    return words.text + (f" [{'; '.join(words.remarks)}]" if words.remarks else "")


def _fold(line: str, width: int) -> Iterator[str]:
    """Yields a line in pieces, broken at spaces if possible. Later pieces are indented deeper, so that they do not look
    like lines of ours."""
    margin = len(line) - len(line.lstrip(" "))
    indent = " " * min(margin + 6, width // 2)
    lead, start = "", 0
    while len(lead) + len(line) - start > width:
        room = width - len(lead)
        blank = line.rfind(" ", start + room * 2 // 3, start + room)
        end = start + room if blank < 0 else blank + 1
        yield lead + line[start:end]
        lead, start = indent, end
    yield lead + line[start:]
