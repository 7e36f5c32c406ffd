"""One, two and three replicas behind HAProxy, each with the same share of the processors.

A control group gives every replica with all its processes a fifth of the machine's processor time. So a machine of two
cores shows what a replica adds, as three machines would, as long as the rest of the machine has time for the load
generator, HAProxy, PostgreSQL and the API server; their share is said beside it. The figures are ratios: a fifth of this
machine is nobody's server.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks import clusters, memory, report, sessions
from tests.kit import debian, postgres, replicas

__all__ = ["run"]

CALLERS: Final = 12
CLIENTS: Final = 48
SECONDS: Final = 20.0
WARM_S: Final = 5.0
SHARE: Final = 0.2
"""Of the machine's processor time, for each replica."""
GOALS: Final = {2: 1.8, 3: 2.6}
"""How many times the throughput of one."""
SCRIPT: Final = "[len(k8s.CoreV1Api().list_namespace().items) > 3, {number}]"
_HTTP: Final = "requests_per_minute = 1000000\n"
_PERIOD_US: Final = 100_000
_GROUPS: Final = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class _Measured:
    """What a number of replicas does."""

    rate: float
    """Scripts a second."""
    generator: float
    """Processor seconds of the load generator in each second."""


def run() -> Iterator[report.Row | str]:
    """The rows. Raises Unavailable."""
    with clusters.broken() as kubeconfig, contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        tokens = [secrets.token_hex(16) for _ in range(CALLERS)]
        try:
            database = opened.enter_context(postgres.Postgres())
            three = replicas.Replicas(folder, kubeconfig, _settings(folder, tokens, database.database()), _HTTP)
        except debian.Missing as error:
            raise report.Unavailable(str(error)) from None
        groups: list[Path] = []
        opened.callback(_remove, groups)  # once the replicas have ended
        opened.enter_context(three)
        for replica in three.each:
            _limit(memory.tree(replica.pid), groups)
        found = {}
        for count in (3, 2, 1):
            found[count] = asyncio.run(_measure(three.port, tokens))
            three.each[count - 1].end()
    yield from _rows(found)


def _settings(folder: Path, tokens: Sequence[str], store: str) -> str:
    file = folder / "tokens.csv"
    file.write_text("".join(f"{token},user-{number},\n" for number, token in enumerate(tokens)))
    file.chmod(0o600)
    return f'[auth]\ntokens_file = "{file}"\n[replicas]\nstore = "{store}"\n'


def _limit(processes: Sequence[int], groups: list[Path]) -> None:
    """Gives these processes, and those that they start, their share in a new control group. Raises Unavailable."""
    first = _GROUPS / "cpu"  # of cgroups of version 1
    group = (first if first.exists() else _GROUPS) / f"kubescript-{processes[0]}"
    quota = int(SHARE * (os.cpu_count() or 1) * _PERIOD_US)
    try:
        group.mkdir()
        groups.append(group)
        if first.exists():
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (group / "cpu.max").write_text(f"{quota} {_PERIOD_US}")
        for process in processes:
            (group / "cgroup.procs").write_text(str(process))
    except OSError as error:
        raise report.Unavailable(f"control groups cannot be made here: {error}") from None


def _remove(groups: Sequence[Path]) -> None:
    """Removes control groups whose processes have ended."""
    for group in groups:
        with contextlib.suppress(OSError):
            group.rmdir()


async def _measure(port: int, tokens: Sequence[str]) -> _Measured:
    """Has clients send scripts, each the next one when it has the answer."""
    opened = [sessions.Session(port, tokens[number % len(tokens)]) for number in range(CLIENTS)]
    await asyncio.gather(*(each.begin() for each in opened))
    await _send(opened, WARM_S)
    began, busy = time.perf_counter(), time.process_time()
    answers = await _send(opened, SECONDS)
    seconds = time.perf_counter() - began
    generator = (time.process_time() - busy) / seconds
    for each in opened:
        await each.end()
    return _Measured(answers / seconds, generator)


async def _send(opened: Sequence[sessions.Session], seconds: float) -> int:
    """Sends scripts for so long; returns how many were answered."""
    until = time.perf_counter() + seconds

    async def stay(number: int, session: sessions.Session) -> int:
        answers = 0
        while time.perf_counter() < until:
            answer = await session.script(SCRIPT.format(number=number))
            if answer.text != f"[true,{number}]":
                raise RuntimeError(f"wrong answer: {answer}")
            answers += 1
        return answers

    return sum(await asyncio.gather(*(stay(*each) for each in enumerate(opened))))


def _rows(found: dict[int, _Measured]) -> Iterator[report.Row | str]:
    one = found[1]
    for count in sorted(found):
        row = report.Row(f"{count} behind HAProxy: scripts a second", "/s", found[count].rate)
        if count in GOALS:
            row = report.Row(row.what, row.unit, row.subject, one.rate, "one", kind="at_least", goal=GOALS[count])
        yield row
        yield report.Row(f"{count}: the load generator's part of a core", "", found[count].generator)
    cores = os.cpu_count() or 1
    yield f"each has {SHARE * cores:.1f} of {cores} cores; all else shares what three of them leave"
