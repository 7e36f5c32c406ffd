"""The MCP conformance suite against a `kubescript` that serves HTTP.

A scenario is named here with the number of checks that succeed: with fewer it would have tested less. Those that are not
named need tools, resources or prompts of fixed names and contents, which only a server made for the suite has.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript.cli import demo
from tests.kit import clients, npm

pytestmark = pytest.mark.timeout(600)  # the first run on a machine installs the suite

PATIENCE_SECONDS: Final = 250

Check = Mapping[str, Any]


@dataclass(frozen=True)
class Suite:
    """One version of the suite. It runs all its scenarios in one process, which takes seconds; those of other servers
    fail."""

    package: str
    """Its folder in `node_modules`."""
    scenarios: Mapping[str, int]
    """Those that apply to any server, and how many checks each makes."""


NEEDS_A_TOOL: Final = {
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-tools-list-changed-on-subscription",
}
"""A list changes only if the suite's own tool changes it. test_protocol.py changes ours by SIGHUP."""
SUITES: Final = {
    "0.1.16": Suite(
        "@modelcontextprotocol/conformance",
        {
            "server-initialize": 1,
            "ping": 1,
            "tools-list": 1,
            "resources-list": 1,
            "prompts-list": 1,
            "logging-set-level": 1,
            "completion-complete": 1,
            "resources-subscribe": 1,
            "resources-unsubscribe": 1,
            "server-sse-multiple-streams": 2,
            "dns-rebinding-protection": 2,
        },
    ),
    "0.2.0-alpha.12": Suite(
        "conformance-next",
        {
            "server-initialize": 3,
            "server-session-lifecycle": 3,
            "server-stateless": 24,
            "ping": 2,
            "tools-list": 3,
            "resources-list": 2,
            "prompts-list": 2,
            "logging-set-level": 2,
            "completion-complete": 2,
            "resources-subscribe": 2,
            "resources-unsubscribe": 2,
            "server-sse-multiple-streams": 2,
            "dns-rebinding-protection": 2,
            "sep-2164-resource-not-found": 4,
            "caching": 8,
            "http-header-validation": 14,
            "input-required-result-unsupported-methods": 2,
        },
    ),
}


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Mapping[str, Sequence[Check]]]]:
    """Runs a suite once; gives the checks that each scenario made."""
    ran: dict[str, Mapping[str, Sequence[Check]]] = {}

    def run(version: str) -> Mapping[str, Sequence[Check]]:
        if version not in ran:
            ran[version] = _run(SUITES[version], url, tmp_path_factory.mktemp("results"))
        return ran[version]

    with clients.serving(["--toolsets", "code", "--snapshot", str(demo.SNAPSHOT)]) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        yield run


@pytest.mark.parametrize(
    ("version", "scenario"), [(version, scenario) for version, suite in SUITES.items() for scenario in suite.scenarios]
)
def test_a_scenario_that_applies_succeeds_in_all_its_checks(
    version: str, scenario: str, checks: Callable[[str], Mapping[str, Sequence[Check]]]
) -> None:
    """What the suite could not check, for want of a tool of its own, does not count."""
    made = [check for check in checks(version)[scenario] if not _is_left_out(check)]
    assert [check for check in made if check["status"] != "SUCCESS"] == []
    assert len(made) == SUITES[version].scenarios[scenario]


def _is_left_out(check: Check) -> bool:
    details = check.get("details") or {}
    return check["status"] == "SKIPPED" or details.get("untestable") is True or check["id"] in NEEDS_A_TOOL


def _run(suite: Suite, url: str, folder: Path) -> Mapping[str, Sequence[Check]]:
    program = npm.modules() / suite.package / "dist" / "index.js"
    command = [str(npm.node()), str(program), "server", "--url", url, "--output-dir", str(folder)]
    done = subprocess.run(
        [*command, "--suite", "all"], capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )
    found = {_scenario(file): json.loads(file.read_text()) for file in folder.glob("*/checks.json")}
    assert found, done.stdout[-2000:] + done.stderr[-2000:]
    return found


def _scenario(file: Path) -> str:
    """`server-ping-2026-11-23T08-18-14-831Z` is a folder of the scenario `ping`."""
    found = re.fullmatch(r"server-(.+?)-\d{4}-\d\d-\d\dT[\d-]+Z", file.parent.name)
    assert found, file
    return found[1]
