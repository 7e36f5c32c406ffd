"""One script over two hundred clusters, some of them slow, dead or broken: real API servers behind a gate."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import anyio
import msgspec
import pytest

from kubescript import app
from kubescript.cluster import live, outages, sockets
from tests.kit import clients, extent, fleets, gate, patience, two_hundred

pytestmark = [pytest.mark.timeout(600), pytest.mark.slow, pytest.mark.sampled]

BROKEN: Final[dict[gate.Behaviour, tuple[int, ...]]] = {
    "slow": (20, 70, 120, 170),
    "refuse": (7, 107),
    "silent": (33, 153),
    "401": (11, 111),
    "503": (12, 112),
    "cut": (13, 113),
}
FAILURES: Final[dict[str, tuple[gate.Behaviour, ...]]] = {
    "cluster.unreachable": ("refuse",),
    "cluster.timeout": ("silent",),
    "401": ("401",),
    "503": ("503",),
    "cluster.broken": ("cut",),
}
MOST_SOCKETS: Final = 40
HOLD_S: Final = 600
"""Half a minute where users are; both scripts together may take longer on a busy machine."""
IN_FLIGHT: Final = 8
"""Those of calls under way are never closed."""
IN_TURN_S: Final = 20
"""A script has the last two seconds of it for its end. Four stuck clusters leave less than that."""
IN_TURN_NAMES: Final = 40
"""How many clusters are asked in turn. On a busy machine 200 refused calls take longer than two seconds."""
SPARE_MIB: Final = 16
SHOWN: Final = 20
"""How many clusters a receipt names."""
COUNT: Final = "len(k8s.context({!r}).coreV1().list_pod_for_all_namespaces())"
PARALLEL: Final = """
names = k8s.contexts()
found = k8s.parallel([lambda c=c: len(k8s.context(c).coreV1().list_pod_for_all_namespaces()) for c in names])
{name: count for name, count in zip(names, found) if isinstance(count, int)}
"""
IN_TURN: Final = f"""
found = {{}}
for name in k8s.contexts()[:{IN_TURN_NAMES}]:
    try:
        found[name] = sum(1 for pod in k8s.context(name).coreV1().list_pod_for_all_namespaces())
    except ApiException:
        pass
found
"""


class Asking:
    """The server of the fleet."""

    def __init__(self, opened: app.Application) -> None:
        self.opened = opened

    def ask(self, script: str, timeout_s: float = 120) -> str:
        async def run() -> str:
            async with clients.joined(self.opened) as client:
                return clients.text(await clients.evaluate(client, script, timeout=int(timeout_s * 1000)))

        return anyio.run(run)

    def value(self, script: str, timeout_s: float = 120) -> Any:
        """The value of the answer, without the notes under it."""
        text = self.ask(script, timeout_s)
        assert text.startswith(("{", "[")) or text[0].isdigit(), text
        return msgspec.json.decode(text.splitlines()[0])


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[two_hundred.Fleet]:
    folder = tmp_path_factory.mktemp("two-hundred") / "fleet"
    with two_hundred.Fleet(folder, extent.count(5, 2), BROKEN) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(fleet: two_hundred.Fleet) -> Iterator[Asking]:
    config = fleet.folder.with_name("kubescript.toml")
    config.write_text(fleets.SETTINGS.format(folder=fleet.folder))
    with pytest.MonkeyPatch.context() as patch:
        # A busy machine may take three seconds to connect, after which a sound cluster would count as dead.
        patch.setattr(live, "_CONNECT_OF_SEVERAL_S", 30.0)
        with clients.application(["--toolsets", "code", "--config", str(config)]) as opened:
            assert opened.fleet.wait(60)
            yield Asking(opened)


def test_one_script_asks_two_hundred(
    fleet: two_hundred.Fleet, server: Asking, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each sound cluster is answered for, and each other one is named with its reason; the connections stay within their
    limit, and the worker needs the memory of one list. A second script does not wait for the silent ones again."""
    monkeypatch.setattr(sockets.OPEN, "_most", MOST_SOCKETS)
    monkeypatch.setattr(outages, "_HOLD_S", HOLD_S)
    with _peaks(caplog) as peaks:
        assert server.value(COUNT.format("c000")) == two_hundred.PODS
        with _sockets(fleet) as seen:
            text = server.ask(PARALLEL)
        patience.until(lambda: len(peaks) == 2)
    sound = fleet.named("open", "slow")
    assert msgspec.json.decode(text.splitlines()[0]) == dict.fromkeys(sound, two_hundred.PODS)
    for reason, behaviours in FAILURES.items():
        assert _named(text, reason) == set(fleet.named(*behaviours)), text
    # Without the limit, each of 182 sound clusters has one; on a busy machine, what was closed still counts for a while.
    assert IN_FLIGHT < max(seen) < 2 * MOST_SOCKETS
    assert peaks[1] <= peaks[0] + SPARE_MIB
    silent = fleet.named("silent")
    before = [fleet.gate.change(name, "silent") for name in silent]
    text = server.ask(PARALLEL)
    assert msgspec.json.decode(text.splitlines()[0]) == dict.fromkeys(sound, two_hundred.PODS)
    assert _named(text, "cluster.unreachable") == set(fleet.named("silent", "refuse"))
    assert [fleet.gate.change(name, "silent") for name in silent] == before


def test_a_script_without_time_for_all_returns_what_it_has(fleet: two_hundred.Fleet, server: Asking) -> None:
    """Cluster after cluster, the script ends before its deadline: what was not asked is counted, and the first ones are
    named. The next script has time again."""
    stuck = [f"c010{letter}" for letter in "abcd"]  # each takes half of the time that is left
    for name in stuck:
        _add(fleet, server, name, "held")
    text = server.ask(IN_TURN, IN_TURN_S)
    for name in stuck:
        _remove(fleet, server, name)
    found = msgspec.json.decode(text.splitlines()[0])
    assert found == dict.fromkeys([f"c{number:03}" for number in range(11) if number != 7], two_hundred.PODS)
    assert f"[{IN_TURN_NAMES - len(found)} calls failed: c007: cluster.unreachable list pods, " in text
    late = [*stuck, *(f"c{number:03}" for number in range(11, 11 + SHOWN - len(stuck)))]
    assert f"cluster.timeout list pods in clusters {', '.join(late)} and " in text
    assert "the answer may be incomplete" in text
    assert server.value(COUNT.format("c199")) == two_hundred.PODS


def test_an_endless_list_uses_up_nothing_of_the_others(fleet: two_hundred.Fleet, server: Asking) -> None:
    """It ends after a quarter of the bytes that a script may read, even in a script that keeps its lists."""
    _add(fleet, server, "endless", "endless")
    text = server.ask(PARALLEL.replace("k8s.contexts()", "['c198', 'endless', 'c199']"))
    _remove(fleet, server, "endless")
    assert msgspec.json.decode(text.splitlines()[0]) == dict.fromkeys(("c198", "c199"), two_hundred.PODS)
    assert "endless: cluster.too_large list pods" in text


def test_an_api_server_dies_meanwhile(fleet: two_hundred.Fleet, server: Asking) -> None:
    """Its clusters fail or are whole, never less; all others are right. It is asked again when it is back."""
    plane = fleet.planes[-1]
    _add(fleet, server, "b-dies", "held", plane.port)
    with ThreadPoolExecutor(1) as pool:
        # The list of the first one has begun, and waits in its middle until the API server is gone. It may have sent all.
        answer = pool.submit(server.ask, PARALLEL)
        patience.until(lambda: fleet.gate.change("b-dies", "held") > 0)
        plane.kill()
        fleet.gate.change("b-dies", "open")
        text = answer.result()
    found = msgspec.json.decode(text.splitlines()[0])
    assert set(found.values()) == {two_hundred.PODS}
    mine = [f"c{number:03}" for number in range(two_hundred.NAMES) if fleet.plane(number) is plane]
    assert set(fleet.named("open", "slow")) - set(mine) <= set(found)
    assert len(found) < two_hundred.NAMES - len(mine) // 2
    _remove(fleet, server, "b-dies")
    plane.start()
    assert server.value(COUNT.format(mine[0])) == two_hundred.PODS


def test_a_cluster_goes_while_its_list_streams(fleet: two_hundred.Fleet, server: Asking) -> None:
    """The list that has begun is answered whole, the next call is refused, and other clusters are asked as before."""
    _add(fleet, server, "c200", "held")
    script = f"[{COUNT.format('c200')}, {COUNT.format('c000')}, {COUNT.format('c200')}]"
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(server.ask, f"print({COUNT.format('c200')})\n{COUNT.format('c200')}")
        patience.until(lambda: fleet.gate.change("c200", "held") > 0)
        _remove(fleet, server, "c200")
        fleet.gate.change("c200", "open")
        text = answer.result()
    assert text.startswith(f"{two_hundred.PODS}\n") and "policy.unknown_context" in text, text
    assert "policy.unknown_context" in server.ask(script)
    assert server.value(COUNT.format("c000")) == two_hundred.PODS


def _add(
    fleet: two_hundred.Fleet, server: Asking, name: str, behaviour: gate.Behaviour, port: int | None = None
) -> None:
    """Adds a cluster, and waits until scripts may name it."""
    plane = next((each for each in fleet.planes if each.port == port), fleet.planes[0])
    fleet.add(name, behaviour, plane)
    patience.until(lambda: name in server.opened.fleet.members())


def _remove(fleet: two_hundred.Fleet, server: Asking, name: str) -> None:
    """Removes a cluster, and waits until no script may name it."""
    fleet.remove(name)
    patience.until(lambda: name not in server.opened.fleet.members())


def _named(text: str, reason: str) -> set[str]:
    """The clusters for which the receipt has this reason."""
    many = re.search(rf"{re.escape(reason)} list pods in clusters ((?:c\d+(?:, )?)+)", text)
    few = re.findall(rf"(c\d+): {re.escape(reason)} list pods", text)
    return {*few, *(re.findall(r"c\d+", many[1]) if many else ())}


@contextlib.contextmanager
def _peaks(caplog: pytest.LogCaptureFixture) -> Iterator[list[int]]:
    """The most MiB of each script's worker, as the kernel counts them."""
    peaks: list[int] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.getMessage() == "script finished":
                peaks.append(vars(record)["peak_mib"])

    log, handler = logging.getLogger("kubescript.evaluator.evaluator"), Handler()
    with caplog.at_level(logging.INFO, log.name):
        log.addHandler(handler)
        yield peaks
        log.removeHandler(handler)


@contextlib.contextmanager
def _sockets(fleet: two_hundred.Fleet) -> Iterator[list[int]]:
    """How many connections to the fleet's ports this process had, looked at again and again."""
    ports = {f"{port:04X}" for port in fleet.ports.values()}
    seen, ended = [0], threading.Event()

    def look() -> None:
        while not ended.wait(0.02):
            seen.append(_count_sockets(ports))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        ended.set()
        looking.join()


def _count_sockets(ports: set[str]) -> int:
    own = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            own.add(os.readlink(descriptor))
    lines = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    # The remote address and port, the state "established", and the inode.
    return sum(line[2][9:] in ports and line[3] == "01" and f"socket:[{line[9]}]" in own for line in lines)
