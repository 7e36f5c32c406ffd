"""What `make quick`, `make test` and `make long` choose among all tests, in which order they run, what they may cost, and
what the tests of both folders share.
"""

from __future__ import annotations

import functools
import gc
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import httpcore2
import pytest

from tests.kit import costs, programs, schedule, unchanged

if TYPE_CHECKING:
    from tests.kit.identity_provider import IdentityProvider
    from tests.kit.openstack.client import Client
    from tests.kit.openstack.services import Services

STARTED: Final = pytest.StashKey[float]()
METER: Final = costs.Meter()
REPORT: Final = costs.Report()
GROUPS: Final[dict[str, str]] = {}
"""Test ▶ the group that stays in one process with it."""
PASSED: Final = Counter[str]()
"""Repeatable tests that passed in this run, by the stamp of their module."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The flag of `make test`."""
    parser.addoption(
        "--skip-unchanged",
        action="store_true",
        help="leave out `repeatable` tests when nothing that decides them has changed since they passed",
    )
    parser.addoption("--budget", action="store_true", help="fail when a folder costs more than tests/costs.json allows")
    parser.addoption("--record-costs", action="store_true", help="write what this run costs into tests/costs.json")


def pytest_configure(config: pytest.Config) -> None:
    """Notes when the run began, and has all HTTP clients of a process share one TLS context for servers outside."""
    # Reading the machine's authorities takes 25 ms, and a run makes thousands of clients.
    vars(httpcore2)["default_ssl_context"] = functools.cache(httpcore2.default_ssl_context)
    config.stash[STARTED] = getattr(config, "workerinput", {}).get("started") or time.time()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Every worker leaves out the same tests: those that had passed before the run began."""
    node.workerinput["main"] = os.getpid()
    node.workerinput["started"] = node.config.stash[STARTED]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collects without the garbage collector: there is little garbage, and looking for some takes a sixth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts the longest first, marks what needs a cluster or took long, and leaves out what its result cannot change."""
    GROUPS.update(schedule.arrange(items))
    seconds = schedule.read()["tests"]
    for item in items:
        if programs.CLUSTERS.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("cluster")
        if item.nodeid.partition("[")[0] in seconds:
            item.add_marker("slow")
    repeatable: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("repeatable"):
            repeatable[item.path].append(item)
    for path, tests in repeatable.items():
        _leave_out(config, unchanged.stamp(path, [item.nodeid for item in tests]), tests)


def _leave_out(config: pytest.Config, stamp: str, tests: list[pytest.Item]) -> None:
    """Skips these tests if they have passed as they are; else has their reports say what to remember when they do."""
    skipped = config.getoption("--skip-unchanged") and unchanged.passed(stamp, config.stash[STARTED])
    for item in tests:
        if skipped:
            item.add_marker(pytest.mark.skip(reason="passed before, and nothing it depends on has changed"))
        else:
            item.user_properties.append(("repeatable", (stamp, len(tests))))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Tells which tests stay together, before pytest-xdist says what was collected, and begins to build their programs."""
    if session.config.option.collectonly:
        return
    if hasattr(session.config, "workerinput"):
        _freeze()
        schedule.write(GROUPS, session.config._tmp_path_factory.getbasetemp().parent)  # type: ignore[attr-defined]
    # One process builds, beside the tests that need none of it.
    if os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":
        threading.Thread(target=programs.build_all, args=(session.items,), daemon=True).start()


def _freeze() -> None:
    """Has the garbage collector forget what there is: looking through half a million objects takes 0.4 s each time."""
    import hypothesis  # noqa: F401 - its plugins look for referrers, and find none that are frozen

    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def run_folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture(scope="session")
def run_process(request: pytest.FixtureRequest) -> int:
    """The process that was typed, with which all that the run shares ends."""
    return int(getattr(request.config, "workerinput", {}).get("main", os.getpid()))


@pytest.fixture(scope="session")
def identity_provider() -> Iterator[IdentityProvider]:
    """A Keycloak of our own, shared by the whole run: who stops it starts it again, and who wants a resource names it."""
    from tests.kit.identity_provider import IdentityProvider

    with IdentityProvider() as provider:
        yield provider


@pytest.fixture(scope="session")
def openstack() -> Iterator[Services]:
    """Keystone, Glance and Placement of our own, shared by the whole run: who makes something there removes it."""
    from tests.kit.openstack.services import Services

    with Services() as services:
        yield services


@pytest.fixture(scope="session")
def openstack_command() -> Iterator[Client]:
    """Runs command lines of openstackclient in forks of a warm process, as the product does."""
    from tests.kit.openstack.client import Client

    with Client("ours") as client:
        yield client


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Distributes groups of tests, not files."""
    return schedule.make_scheduler(config, log)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Counts what a test costs, from when its programs are there: its time limit begins later."""
    programs.wait_for(item)
    METER.begin()
    try:
        return (yield)
    finally:
        if nextitem is not None:  # after the last one, what the session has started ends as well
            METER.end(item.nodeid, GROUPS.get(item.nodeid, item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Function, nextitem: pytest.Item | None) -> Iterator[None]:
    """Ends what a group has started for the whole run as soon as the group has run: servers cost time while they idle."""
    yield
    group = GROUPS.get(item.nodeid, "")
    if group in schedule.SHARED and nextitem is not None and GROUPS.get(nextitem.nodeid) != group:
        schedule.end(item, group)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Tells the process that was typed what the tests of this one cost; that one adds it up, and compares."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["costs"] = METER.told()
        return
    if config.option.numprocesses is None:
        REPORT.add(METER.told())
    REPORT.add_servers(config._tmp_path_factory.getbasetemp())  # type: ignore[attr-defined]
    if config.getoption("--record-costs"):
        REPORT.record()
    if config.getoption("--budget") and REPORT.over():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes what the tests of one process cost."""
    if told := getattr(node, "workeroutput", {}).get("costs"):
        REPORT.add(told)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints what the suite costs."""
    if config.getoption("--budget") or config.getoption("--record-costs"):
        terminalreporter.section("what the tests cost")
        terminalreporter.write("\n".join([*REPORT.lines(), ""]))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Says at the very end why a run has failed whose tests have passed: what is printed before may be cut off."""
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal and config.getoption("--budget") and not hasattr(config, "workerinput"):
        for line in REPORT.over():
            terminal.write_line(f"over its budget: {line}", red=True)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Counts what passed of each module's repeatable tests; when all did, that is remembered."""
    if report.when != "call" or not report.passed:
        return
    for name, value in report.user_properties:
        if name == "repeatable":
            stamp, every = cast("tuple[str, int]", value)
            PASSED[stamp] += 1
            if PASSED[stamp] == every:
                unchanged.remember(stamp)
