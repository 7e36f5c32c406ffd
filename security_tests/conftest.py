"""Workers to attack: one whose language wall stands, one where it has fallen; and the table of what held."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kubescript import programs
from kubescript_sandbox.host import spawner
from kubescript_sandbox.wire import framing, protocol
from security_tests import benches, promises

TALLY = "WALL_TALLY"
"""Set by the test that runs the kernel layer again without privilege: print the counts as one line of JSON."""


@pytest.fixture(scope="session")
def hostile() -> Iterator[benches.Bench]:
    """Runs unrestricted Python in a locked-down worker."""
    with benches.opened(benches.HOSTILE) as bench:
        yield bench


@pytest.fixture(scope="session")
def sandbox() -> Iterator[benches.Bench]:
    """Runs scripts as the product does."""
    with benches.opened() as bench:
        yield bench


@pytest.fixture(scope="module")
def source() -> Iterator[spawner.Spawner]:
    """A fork server, for what wires the product's parts itself."""
    spawned = spawner.Spawner(programs.WORKER)
    spawned.start()
    yield spawned
    spawned.close()


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> bytearray:
    """Every byte that the host sends to a worker."""
    found = bytearray()
    send = framing.FrameSocket.send

    def noted(self: framing.FrameSocket, kind: Any, payload: bytes | memoryview, on_frame: Any = None) -> None:
        if kind is not protocol.FrameType.START:
            found.extend(payload)
        send(self, kind, payload, on_frame)

    monkeypatch.setattr(framing.FrameSocket, "send", noted)
    return found


@pytest.fixture
def attacks(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Tells the table how many attacks a test made, when not one, and how many this machine has no way to make."""

    def tell(made: int, absent: int = 0) -> None:
        record_property("attacks", made)
        record_property("absent", absent)

    return tell


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("promise"):
            item.user_properties += [("promise", name) for name in mark.args]
        made = getattr(getattr(item, "obj", None), "cases", None)
        if made is not None:
            item.user_properties.append(("attacks", made))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    layers = {promise.id: promise.layer for promise in promises.PROMISES}
    counts = {
        outcome: _counted(terminalreporter, outcome, layers) for outcome in ("passed", "failed", "error", "skipped")
    }
    held, skipped = counts["passed"], counts["skipped"] + _counted(terminalreporter, "passed", layers, "absent", 0)
    tried = held + counts["failed"] + counts["error"]
    if os.environ.get(TALLY):
        terminalreporter.write_line("tally: " + json.dumps([tried.total(), held.total(), skipped.total()]))
    if not tried:
        return
    terminalreporter.section("the wall, by layer")
    terminalreporter.write_line(f"{'layer':<44}{'attacks':>9}{'held':>9}{'skipped':>9}")
    for layer, title in promises.LAYERS.items():
        if tried[layer] or skipped[layer]:
            terminalreporter.write_line(f"{title:<44}{tried[layer]:>9}{held[layer]:>9}{skipped[layer]:>9}")


def _counted(
    reporter: pytest.TerminalReporter,
    outcome: str,
    layers: dict[str, promises.Layer],
    name: str = "attacks",
    one: int = 1,
) -> Counter[str]:
    """Attacks by layer among the reports of one outcome, as their tests told them; so many of a test that told none."""
    counts: Counter[str] = Counter()
    for report in reporter.stats.get(outcome, []):
        properties = dict(getattr(report, "user_properties", []))
        if "promise" in properties:
            counts[layers.get(str(properties["promise"]), "?")] += int(properties.get(name, one))
    return counts
