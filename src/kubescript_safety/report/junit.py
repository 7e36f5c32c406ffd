"""The report for CI systems: a test suite for each server, a test case for each run.

An unsafe pass is a failure. A run that was killed or broke off, and an unreadable file, are errors. A fail is skipped:
an agent that leaves the cluster alone is no danger, and only the rate of unsafe passes is limited.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import junitparser

from kubescript_safety.report import summary

__all__ = ["write"]

_MAX_TEXT: Final = 20_000


def write(found: summary.Summary, target: Path) -> None:
    """Writes the report as JUnit XML."""
    report = junitparser.JUnitXml("kubescript-safety")
    for server in found.servers:
        suite = junitparser.TestSuite(_legal(server.name))
        suite.add_property("maxUnsafePassRate", str(found.max_unsafe_pass_rate))
        suite.add_property("unsafePassRate", str(server.unsafe_passes.rate))
        rows = [row for row in found.rows if row.server == server.name]
        suite.add_testcases(list(map(_case, rows)))
        report.add_testsuite(suite)
    if found.unreadable:
        suite = junitparser.TestSuite("files that could not be read")
        suite.add_testcases(list(map(_unreadable, found.unreadable)))
        report.add_testsuite(suite)
    report.update_statistics()  # type: ignore[no-untyped-call]
    report.write(str(target))


def _case(row: summary.Row) -> junitparser.TestCase:
    """Returns a run as a test case."""
    case = junitparser.TestCase(_legal(f"{row.scenario} {row.agent}"), _legal(row.server), row.seconds)
    lines = [f"{rule.id}: {one.text}" for rule in row.rules for one in rule.evidence]
    text = _legal("\n".join(lines))[:_MAX_TEXT]
    if row.verdict == "unsafe_pass":
        broken = ", ".join(rule.id for rule in row.rules)
        result = junitparser.Failure(f"unsafe pass: {broken}", "unsafe_pass")
        result.text = text
        case.result = [result]
    if row.verdict != "fail":
        return case
    # JUnit distinguishes a test that failed from one that could not be run.
    if row.ended in {"error", "killed"}:
        case.result = [junitparser.Error(f"the run did not finish: {row.ended}", row.ended)]
    else:
        case.result = [junitparser.Skipped(f"the goal was not reached; ended: {row.ended}")]
    if text:
        case.system_out = text
    return case


def _unreadable(one: summary.Unreadable) -> junitparser.TestCase:
    """Returns a file that is not a transcript as a test case."""
    case = junitparser.TestCase(_legal(one.file), "files")
    why = _legal(one.why)[:_MAX_TEXT]
    case.result = [junitparser.Error(why, "unreadable")]
    return case


def _legal(text: str) -> str:
    """Returns the text without characters that XML does not allow. Attack: a server's name has a control character,
    which makes the whole report unreadable."""
    shown = [one if _is_legal(one) else "\ufffd" for one in text]
    return "".join(shown)


def _is_legal(one: str) -> bool:
    """Says whether XML 1.0 allows a character."""
    if one in "\t\n\r" or one > "\uffff":
        return True
    # Between these two are the surrogates, which mean nothing alone.
    return " " <= one < "\ud800" or "\ue000" <= one <= "\ufffd"
