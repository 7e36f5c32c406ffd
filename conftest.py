"""What `make quick` and `make test` choose among all tests, in which order they run, and what the tests of both folders
share.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pytest

from tests.kit import unchanged

if TYPE_CHECKING:
    from tests.kit.identity_provider import IdentityProvider
    from tests.kit.openstack.client import Client
    from tests.kit.openstack.services import Services

NEEDS_A_CLUSTER: Final = frozenset({"control_plane", "kubeconfig", "live_cluster", "live_programs", "plane"})
"""Fixtures that start an API server: what asks for one of them, however indirectly, is marked `cluster`."""
FIRST: Final = ("tests/live/zero_shot/test_zero_shot.py",)
"""Files that take longest: when a worker begins one of them last, the others wait for it."""
STARTED: Final = pytest.StashKey[float]()
PASSED: Final = Counter[str]()
"""Repeatable tests that passed in this run, by the stamp of their module."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The flag of `make test`."""
    parser.addoption(
        "--skip-unchanged",
        action="store_true",
        help="leave out `repeatable` tests when nothing that decides them has changed since they passed",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Notes when the run began."""
    config.stash[STARTED] = getattr(config, "workerinput", {}).get("started") or time.time()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Every worker leaves out the same tests: those that had passed before the run began."""
    node.workerinput["started"] = node.config.stash[STARTED]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts the longest files first, marks what needs a cluster, and leaves out what would only pass again."""
    places = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: places.get(_file(item), len(FIRST)))
    for item in items:
        if NEEDS_A_CLUSTER.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("cluster")
    repeatable: defaultdict[Path, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("repeatable"):
            repeatable[item.path].append(item)
    for path, tests in repeatable.items():
        _leave_out(config, unchanged.stamp(path, [item.nodeid for item in tests]), tests)


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _leave_out(config: pytest.Config, stamp: str, tests: list[pytest.Item]) -> None:
    """Skips these tests if they have passed as they are; else has their reports say what to remember when they do."""
    skipped = config.getoption("--skip-unchanged") and unchanged.passed(stamp, config.stash[STARTED])
    for item in tests:
        if skipped:
            item.add_marker(pytest.mark.skip(reason="passed before, and nothing it depends on has changed"))
        else:
            item.user_properties.append(("repeatable", (stamp, len(tests))))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Prepares Keycloak before any test's time limit runs, and begins to prepare OpenStack: the first time on a machine
    takes minutes."""
    if session.config.option.collectonly:
        return
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    # What stops them is told by the tests that ask for them; the others run.
    if "identity_provider" in wanted:
        from tests.kit.keycloak import prepared

        with contextlib.suppress(Exception):
            prepared.prepare()
    if "openstack" in wanted:
        from tests.kit.openstack import build

        # In one process, and beside the tests of others: whoever needs it waits for its lock.
        if os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0":
            threading.Thread(target=_quietly, args=(build.template,), daemon=True).start()


def _quietly(make: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):
        make()


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
