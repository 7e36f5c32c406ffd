"""Which tests stay in one process, and which of them begin first.

Tests that share what a module or an expensive session fixture starts stay together; all others go to any process that
is free. What takes longest begins first, by the times in tests/costs.json.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kit import paths, programs

__all__ = ["COSTS", "SHARED", "arrange", "end", "make_scheduler", "read", "write"]

COSTS: Final = paths.ROOT / "tests" / "costs.json"
SHARED: Final = frozenset({"identity_provider", "live_cluster", "openstack", "own_plane", "postgresql"})
"""Session fixtures that start programs of their own in each process: their tests run in one."""
_NAMED_AT: Final = "groups.json"


def read() -> dict[str, dict[str, float]]:
    """What tests cost when that was last recorded: `folders` ▶ processor seconds, `groups` ▶ seconds of wall time, `tests`
    ▶ seconds of wall time of the longest case, where that is a second or more."""
    found: dict[str, dict[str, float]] = json.loads(COSTS.read_text("utf-8")) if COSTS.exists() else {}
    return {kind: found.get(kind, {}) for kind in ("folders", "groups", "tests")}


def arrange(items: list[pytest.Item]) -> dict[str, str]:
    """Sorts the tests so that the longest group is first; returns the group of each."""
    groups = _groups(items)
    seconds = read()["groups"]
    order = {name: place for place, name in enumerate(dict.fromkeys(groups.values()))}
    # On a machine where the API server is still to be built, what needs it comes last.
    late = {groups[item.nodeid] for item in items if not programs.are_ready(item)}

    def place(item: pytest.Item) -> tuple[bool, float, int]:
        name = groups[item.nodeid]
        return name in late, -seconds.get(name, 0), order[name]

    items.sort(key=place)
    return groups


def write(groups: dict[str, str], folder: Path) -> None:
    """Tells the process that distributes the tests; all processes find the same groups."""
    file = folder / f"{_NAMED_AT}.{os.getpid()}"
    file.write_text(json.dumps(groups), "utf-8")
    file.replace(folder / _NAMED_AT)


def end(item: pytest.Function, fixture: str) -> None:
    """Ends a session fixture of `SHARED` that this test was the last to use, and what was made from it. Pytest would end
    it with the session, and has no other way: a later test that asks for it gets a new one."""
    # What it takes of a request is the test's node: a fixture's own request is no more at hand.
    item._fixtureinfo.name2fixturedefs[fixture][-1].finish(item._request)  # type: ignore[arg-type]


def make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Returns the scheduler of pytest-xdist that keeps our groups together."""
    from xdist.scheduler import loadscope

    class Scheduler(loadscope.LoadScopeScheduling):  # type: ignore[misc]
        """Gives each process one group after the other."""

        def schedule(self) -> None:
            if self.collection is None:
                folder = config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
                self.groups: dict[str, str] = json.loads((folder / _NAMED_AT).read_text("utf-8"))
            super().schedule()

        def _split_scope(self, nodeid: str) -> str:
            return self.groups[nodeid]

    config.option.loadscopereorder = False
    return Scheduler(config, log)


def _groups(items: Sequence[pytest.Item]) -> dict[str, str]:
    """The group of each test."""
    named: dict[str, str] = {}
    of_file: defaultdict[str, list[tuple[pytest.Item, frozenset[str]]]] = defaultdict(list)
    for item in items:
        fixtures = _shared_fixtures(item)
        everywhere = fixtures & SHARED
        if everywhere:
            named[item.nodeid] = min(everywhere)
        else:
            of_file[item.nodeid.partition("::")[0]].append((item, fixtures))
    for file, tests in of_file.items():
        roots = _unite(fixtures for _, fixtures in tests)
        for item, fixtures in tests:
            named[item.nodeid] = f"{file}[{roots[min(fixtures)]}]" if fixtures else item.nodeid.partition("[")[0]
    return named


def _shared_fixtures(item: pytest.Item) -> frozenset[str]:
    """The fixtures of a test that live as long as its module, and those of `SHARED`."""
    info = getattr(item, "_fixtureinfo", None)
    if info is None:
        return frozenset()
    found = {
        name for name, definitions in info.name2fixturedefs.items() if definitions[-1].scope in {"module", "class"}
    }
    return frozenset(found | SHARED.intersection(info.names_closure))


def _unite(sets: Iterable[frozenset[str]]) -> dict[str, str]:
    """The name of the group that each fixture belongs to: fixtures that any test asks for together are in one."""
    parents: dict[str, str] = {}

    def root(name: str) -> str:
        while parents.setdefault(name, name) != name:
            name = parents[name]
        return name

    for names in sets:
        for name in names:
            one, other = sorted((root(name), root(min(names))))
            parents[other] = one
    return {name: root(name) for name in tuple(parents)}
