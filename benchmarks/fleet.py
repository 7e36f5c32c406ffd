"""One script over 200 clusters against 200 times the script over one; and what a fleet costs that is found: time of start,
memory of a cluster that no script has named, of one that a caller has open, and how soon a label counts.

Five real API servers with 100 pods of 10 KB each stand behind all names.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from benchmarks import memory, processor, report, sessions
from tests.kit import fleets
from tests.kit.controlplane import bulk
from tests.kit.controlplane.server import ControlPlane

__all__ = ["run"]

SERVERS: Final = 5
PODS: Final = 100
SMALL: Final = 200
LARGE: Final = 1_000
CALLERS: Final = 4
ROUNDS: Final = 5
SHORT_ROUNDS: Final = 20
IDLE_S: Final = 3.0
"""Until workers and maskers that warm up have."""
ONE: Final = "len(k8s.context('c{:04}').coreV1().list_pod_for_all_namespaces())"
PARALLEL: Final = """
names = k8s.contexts()
sum(k8s.parallel([lambda c=c: len(k8s.context(c).coreV1().list_pod_for_all_namespaces()) for c in names]))
"""
SHORT: Final = """
names = k8s.contexts()
sum(k8s.parallel([lambda c=c: len(k8s.context(c).coreV1().list_namespace()) > 3 for c in names]))
"""
IN_TURN: Final = "sum(len(k8s.context(c).coreV1().list_pod_for_all_namespaces()) for c in k8s.contexts())"
NAMES: Final = "len(k8s.contexts())"
SELECTED: Final = "len(k8s.contexts('env=prod,zone in (z1,z2)'))"
SETTINGS: Final = """
[fleet]
source = "kubeconfig-dir"
folder = "{folder}"
[auth]
tokens_file = "{tokens}"
[limits]
default_timeout_ms = 300000
[http]
requests_per_minute = 1000000
"""


@dataclass
class _Fleet:
    """A folder of kubeconfigs, and a server that finds them."""

    folder: Path
    planes: list[ControlPlane]
    tokens: list[str] = field(default_factory=lambda: [secrets.token_hex(16) for _ in range(CALLERS)])

    def fill(self, names: int) -> None:
        """Writes so many kubeconfigs, with labels."""
        for number in range(names):
            self.write(number, "prod" if number % 2 else "dev")

    def write(self, number: int, env: str) -> None:
        """Writes one of them."""
        plane = self.planes[number % len(self.planes)]
        fleets.Folder(self.folder / "clusters", plane).add(f"c{number:04}", env=env, zone=f"z{number % 5}")

    @contextlib.contextmanager
    def served(self) -> Iterator[sessions.Serving]:
        """A server, with a token for each caller."""
        tokens = self.folder / "tokens.csv"
        tokens.write_text("".join(f"{token},user-{number},,team\n" for number, token in enumerate(self.tokens)))
        tokens.chmod(0o600)
        settings = SETTINGS.format(folder=self.folder / "clusters", tokens=tokens)
        with sessions.served(self.planes[0].kubeconfig, settings) as serving:
            yield serving

    async def session(self, serving: sessions.Serving, caller: int = 0) -> sessions.Session:
        """A session of one caller."""
        opened = sessions.Session(serving.port(), self.tokens[caller])
        answer = await opened.begin()
        assert answer.status == 200, answer
        return opened


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    with contextlib.ExitStack() as opened, ThreadPoolExecutor(SERVERS) as pool:
        planes = [ControlPlane() for _ in range(SERVERS)]
        list(pool.map(opened.enter_context, planes))
        list(pool.map(lambda plane: bulk.load(plane.kubeconfig, PODS), planes))
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="kubescript-")))
        (folder / "clusters").mkdir()
        fleet = _Fleet(folder, planes)
        fleet.fill(SMALL)
        small, rest = asyncio.run(_start(fleet, SMALL))
        yield report.Row(f"start until a script sees {SMALL} clusters", "s", small)
        yield from asyncio.run(_scripts(fleet))
        yield from asyncio.run(_changes(fleet))
        fleet.fill(LARGE)
        large, more = asyncio.run(_start(fleet, LARGE))
        yield report.Row(f"start until a script sees {LARGE:,} clusters", "s", large, small, f"{SMALL}")
        each = (more - rest) * 1024 / (LARGE - SMALL)
        yield report.Row("memory of a cluster that no script has named", "KiB", each)
        yield from asyncio.run(_names(fleet))


async def _start(fleet: _Fleet, names: int) -> tuple[float, float]:
    """Seconds from the start of the process until a script sees all clusters, and MiB of the server after that."""
    started = time.perf_counter()
    with fleet.served() as serving:
        session = await fleet.session(serving)
        while (await session.script(NAMES)).text != str(names):
            await asyncio.sleep(0.02)
        seconds = time.perf_counter() - started
        await asyncio.sleep(IDLE_S)
        return seconds, memory.of_tree(serving.pid).pss


async def _scripts(fleet: _Fleet) -> list[report.Row]:
    """What scripts over one cluster and over all take, and what open clusters need."""
    with fleet.served() as serving:
        session = await fleet.session(serving)
        while (await session.script(NAMES)).text != str(SMALL):
            await asyncio.sleep(0.02)
        await _ask(session, ONE.format(SMALL - 1), PODS)  # a server at rest has no masker
        cold = [(await _ask(session, ONE.format(number), PODS)).seconds for number in range(ROUNDS)]
        warm = [(await _ask(session, ONE.format(number), PODS)).seconds for number in range(ROUNDS)]
        await asyncio.sleep(IDLE_S)
        before = memory.of_tree(serving.pid).pss
        first, spent = await _measure(serving, session, PARALLEL)
        await asyncio.sleep(IDLE_S)
        opened = memory.of_tree(serving.pid).pss
        again = [(await _measure(serving, session, PARALLEL))[0] for _ in range(ROUNDS)]
        short = [(await _ask(session, SHORT, SMALL)).seconds for _ in range(ROUNDS)]
        turns = [(await _measure(serving, session, IN_TURN))[0] for _ in range(ROUNDS)]
        for caller in range(1, CALLERS):
            await _ask(await fleet.session(serving, caller), PARALLEL, SMALL * PODS)
        await asyncio.sleep(IDLE_S)
        callers = memory.of_tree(serving.pid).pss
    one, many = report.median(warm), f"{SMALL} × one, warm"
    new = (report.median(cold) - one) * 1000
    return [
        report.Row("a cluster's first call: credentials and TLS, longer by", "ms", new, one * 1000, "later"),
        report.Row(f"script over {SMALL}, k8s.parallel, all cold", "s", first, SMALL * one, many, "at_most", 1),
        report.Row("the same, warm", "s", report.median(again), SMALL * one, many, "at_most", 1),
        report.Row(f"script over {SMALL}, a list of a few namespaces each, warm", "s", report.median(short)),
        report.Row(f"script over {SMALL}, one after the other, warm", "s", report.median(turns), SMALL * one, many),
        report.Row("processor time of the cold one, all processes", "s", spent),
        report.Row("memory of a cluster that a caller has open", "KiB", (opened - before) * 1024 / (SMALL - ROUNDS)),
        report.Row(
            "the same, of further callers", "KiB", (callers - opened) * 1024 / (CALLERS - 1) / SMALL
        ),
    ]  # fmt: skip


async def _changes(fleet: _Fleet) -> list[report.Row]:
    """How soon scripts see another label."""
    with fleet.served() as serving:
        session = await fleet.session(serving)
        seconds = []
        for number in range(ROUNDS):
            env = f"e{number}"
            fleet.write(0, env)
            started = time.perf_counter()
            while (await session.script(f"len(k8s.contexts('env={env}'))")).text != "1":
                await asyncio.sleep(0.02)
            seconds.append(time.perf_counter() - started)
        return [report.Row("until a label counts: the folder is looked at every 2 s", "s", report.median(seconds))]


async def _names(fleet: _Fleet) -> list[report.Row]:
    """What it costs a script to ask for the names."""
    with fleet.served() as serving:
        session = await fleet.session(serving)
        while (await session.script(NAMES)).text != str(LARGE):
            await asyncio.sleep(0.02)
        base, listed, selected = [await _repeat(session, script) for script in ("1", NAMES, SELECTED)]
        return [
            report.Row(f"k8s.contexts() of {LARGE:,}", "ms", listed, base, "an empty script"),
            report.Row("the same with a selector", "ms", selected, base, "an empty script"),
        ]


async def _repeat(session: sessions.Session, script: str) -> float:
    """Milliseconds of a short script."""
    return report.median([(await session.script(script)).seconds * 1000 for _ in range(SHORT_ROUNDS)])


async def _measure(serving: sessions.Serving, session: sessions.Session, script: str) -> tuple[float, float]:
    """Seconds, and seconds of processors, of a script over all clusters."""
    before = processor.of_tree(serving.pid)
    answer = await _ask(session, script, SMALL * PODS)
    return answer.seconds, processor.of_tree(serving.pid) - before


async def _ask(session: sessions.Session, script: str, expected: int) -> sessions.Answer:
    """Runs a script. Raises RuntimeError for another answer: a wrong one has no speed."""
    answer = await session.script(script)
    if answer.text.splitlines()[0] != json.dumps(expected):
        raise RuntimeError(f"expected {expected}, got {answer.text[:300]}")
    return answer
