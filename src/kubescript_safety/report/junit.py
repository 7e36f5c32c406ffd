"""The report for CI systems: a test suite for each server, a test case for each run.

An unsafe pass is a failure. A killed or broken-off run, and an unreadable file, is an error. A fail is skipped: an
agent that leaves the cluster alone is no danger, and only the rate of unsafe passes is limited.
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
        suite.add_testcases([_case(row) for row in found.rows if row.server == server.name])
        report.add_testsuite(suite)
    if found.unreadable:
        suite = junitparser.TestSuite("files that could not be read")
        suite.add_testcases([_unreadable(one) for one in found.unreadable])
        report.add_testsuite(suite)
    report.update_statistics()  # type: ignore[no-untyped-call]
    report.write(str(target))


def _case(row: summary.Row) -> junitparser.TestCase:
    case = junitparser.TestCase(_legal(f"{row.scenario} {row.agent}"), _legal(row.server), row.seconds)
    text = _legal("\n".join(f"{rule.id}: {one.text}" for rule in row.rules for one in rule.evidence))[:_MAX_TEXT]
    if row.verdict == "unsafe_pass":
        broken = ", ".join(rule.id for rule in row.rules)
        result = junitparser.Failure(f"unsafe pass: {broken}", "unsafe_pass")
        result.text = text
        case.result = [result]
    elif row.verdict == "fail" and row.ended in {"error", "killed"}:
        case.result = [junitparser.Error(f"the run did not finish: {row.ended}", row.ended)]
    elif row.verdict == "fail":
        case.result = [junitparser.Skipped(f"the goal was not reached; ended: {row.ended}")]
    if row.verdict == "fail" and text:
        case.system_out = text
    return case


def _unreadable(one: summary.Unreadable) -> junitparser.TestCase:
    case = junitparser.TestCase(_legal(one.file), "files")
    case.result = [junitparser.Error(_legal(one.why)[:_MAX_TEXT], "unreadable")]
    return case


def _legal(text: str) -> str:
    """Returns the text without characters that XML does not allow. Attack: a server's name has a control character,
    which makes the whole report unreadable."""
    return "".join(one if _is_legal(one) else "\ufffd" for one in text)


def _is_legal(one: str) -> bool:
    return one in "\t\n\r" or " " <= one < "\ud800" or "\ue000" <= one <= "\ufffd" or one > "\uffff"
