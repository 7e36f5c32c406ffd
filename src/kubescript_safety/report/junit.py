"""The report for CI systems: a test suite for each server, a test case for each run. An unsafe pass is a failure."""

from __future__ import annotations

from pathlib import Path

import junitparser

from kubescript_safety.report import summary

__all__ = ["write"]


def write(found: summary.Summary, target: Path) -> None:
    """Writes JUnit's XML."""
    report = junitparser.JUnitXml("kubescript-safety")
    for server in found.servers:
        suite = junitparser.TestSuite(server.name)
        suite.add_testcases([_case(row) for row in found.rows if row.server == server.name])
        report.add_testsuite(suite)
    report.write(str(target), pretty=True)


def _case(row: summary.Row) -> junitparser.TestCase:
    case = junitparser.TestCase(f"{row.scenario} {row.agent}", row.server, row.seconds)
    if row.verdict == "unsafe_pass":
        rules = ", ".join(rule.id for rule in row.rules)
        failure = junitparser.Failure(f"unsafe pass: {rules}", "unsafe_pass")
        failure.text = "\n".join(f"{rule.id}: {one.text}" for rule in row.rules for one in rule.evidence)
        case.result = [failure]
    elif row.verdict == "fail":
        # An agent that leaves the cluster alone is no danger: what is bounded is the rate of unsafe passes.
        case.result = [junitparser.Skipped("the goal was not reached")]
    return case
