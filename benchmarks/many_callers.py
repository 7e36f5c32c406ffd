"""Many callers of one server over HTTP, each under his own name, beside a server that asks nobody who he is.

200 sessions send 2,000 scripts, each session the next one when it has the answer. The same three servers then show what
a caller feels of another one who sends 64 scripts at once, what one more caller costs, and what is left of callers that
have gone. `KUBESCRIPT_TEST_SCRIPTS` sends another number of scripts.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import kubernetes.client

from benchmarks import clusters, memory, processor, report, sessions

__all__ = ["run"]

SCRIPTS: Final = int(os.environ.get("KUBESCRIPT_TEST_SCRIPTS", "2000"))
SESSIONS: Final = 200
CALLERS: Final = {"nobody": 1, "20 callers": 20, "200 callers": 200}
"""Servers, and how many callers share the sessions of each; the first asks nobody who he is."""
BASELINE: Final = "no authentication"
HOG: Final = 64
QUIET_SCRIPTS: Final = 40
IDLE_S: Final = 5
"""Seconds after which a session ends whose caller has left, and 15 at most until his seat does."""
GONE_S: Final = 60
GOAL_MS: Final = 30
GOAL_MIB: Final = 1
GOAL_RATE: Final = 0.95
GOAL_P99: Final = 4
GOAL_BESIDE: Final = 2.5
GOAL_GONE: Final = 1.3
GROUP: Final = "many-callers"
SCRIPT: Final = "[len(k8s.CoreV1Api().list_namespace().items) > 3, {number}]"
WORK: Final = "sum(i * i for i in range(200_000))"
SETTINGS: Final = """\
[sandbox]
max_queue = 256
[http]
requests_per_minute = 1000000
"""


@dataclass
class _Load:
    """One server, its sessions, and what was measured of it."""

    name: str
    serving: sessions.Serving
    tokens: Sequence[str]
    open: list[sessions.Session] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Of each script."""
    rounds: list[float] = field(default_factory=list)
    """Seconds of each round, in which every session runs one script."""
    spent: list[float] = field(default_factory=list)
    """Seconds of processors in each round, of all processes of the server."""
    rests: list[float] = field(default_factory=list)
    """MiB whenever nobody was there."""
    first: list[float] = field(default_factory=list)
    """Seconds of each caller's first request."""
    later: list[float] = field(default_factory=list)
    """Seconds of the first request of all other sessions."""
    scripts: list[float] = field(default_factory=list)
    """Seconds of each caller's first script, which connects to the cluster."""

    def session(self, caller: int) -> sessions.Session:
        return sessions.Session(self.serving.port(), self.tokens[caller] if self.tokens else "")

    @property
    def rest(self) -> float:
        """MiB before the first caller."""
        return self.rests[0]

    async def begin(self) -> None:
        """Seats the callers one after the other, and begins the sessions."""
        self.rests.append(_mib(self.serving))
        callers = max(1, len(self.tokens))
        for number in range(SESSIONS):
            opened = self.session(number % callers)
            answer = await opened.begin()
            assert answer.status == 200, answer
            self.open.append(opened)
            # A caller's first session makes the seat, and its first script warms it.
            if number >= callers:
                self.later.append(answer.seconds)
                continue
            self.first.append(answer.seconds)
            script = await _run_numbered(opened, number)
            self.scripts.append(script.seconds)

    async def round(self, number: int) -> None:
        """Every session runs a script, all at once."""
        first = number * SESSIONS
        before = processor.of_tree(self.serving.pid)
        started = time.perf_counter()
        scripts = [_run_numbered(opened, each) for each, opened in enumerate(self.open, first)]
        answers = await asyncio.gather(*scripts)
        self.rounds.append(time.perf_counter() - started)
        self.spent.append(processor.of_tree(self.serving.pid) - before)
        self.seconds += [answer.seconds for answer in answers]

    def leave(self) -> None:
        """Hangs up, as clients do that do not say good-bye."""
        for opened in self.open:
            opened.hang_up()
        self.open.clear()


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    with clusters.broken() as kubeconfig, contextlib.ExitStack() as opened:
        _permit(kubeconfig)
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        loads = [_load(name, count, kubeconfig, folder, opened) for name, count in CALLERS.items()]
        yield from asyncio.run(_measured(loads))
        leaving = _load("200 callers", 200, kubeconfig, folder, opened, f"session_idle_s = {IDLE_S}\n")
        yield from asyncio.run(_gone(leaving))
        for load in (*loads, leaving):
            yield from _complaints(load)


async def _measured(loads: list[_Load]) -> list[report.Row]:
    for load in loads:
        load.serving.port()
    await asyncio.sleep(3)  # until everything that warms up has
    for load in loads:
        await load.begin()
    rows = [*_seats(loads)]
    for number in range(SCRIPTS // SESSIONS + 1):  # the first round warms them
        for load in loads:
            await load.round(number)
    rows += _speed(loads)
    for load in loads:
        name = f"{load.name}: PSS after it"
        left = _mib(load.serving)
        rows.append(report.Row(name, "MiB", left, load.rest, "at rest"))
        load.leave()
    return rows + await _fairness(loads[0], loads[1])


async def _gone(load: _Load) -> list[report.Row]:
    """What is left of callers that have gone, and of as many others after them."""
    rows: list[report.Row] = []
    load.serving.port()
    await asyncio.sleep(3)
    # Twice: what is kept of the first may serve the next, and what grows again is lost.
    for times in ("once", "twice"):
        await load.begin()
        load.leave()
        await asyncio.sleep(GONE_S)
        name = f"PSS once {len(load.tokens)} callers have come and gone, {times}"
        left = _mib(load.serving)
        rows.append(report.Row(name, "MiB", left, load.rest, "at rest", "at_most", GOAL_GONE))
    return rows


def _seats(loads: list[_Load]) -> Iterator[report.Row]:
    nobody, _, many = loads
    for load in loads:
        name = f"{load.name}: PSS with {SESSIONS} sessions"
        yield report.Row(name, "MiB", _mib(load.serving), load.rest, "at rest")
    # Sessions take memory without callers too: what is more than that is the callers'.
    with_callers = _mib(many.serving) - many.rest
    without = _mib(nobody.serving) - nobody.rest
    more = (with_callers - without) / len(many.tokens)
    yield report.Row("one more caller, beside his session", "MiB", more, kind="value_at_most", goal=GOAL_MIB)
    first = report.median(many.first[1:]) * 1000
    later = report.median(nobody.later) * 1000
    name = "one more caller's first request, begins a session"
    yield report.Row(name, "ms", first, later, f"{BASELINE}, another session", "value_at_most", GOAL_MS)
    script = report.median(many.scripts[1:]) * 1000
    only = nobody.scripts[0] * 1000
    yield report.Row("one more caller's first script", "ms", script, only, f"{BASELINE}, its first")


def _speed(loads: list[_Load]) -> Iterator[report.Row]:
    base = loads[0]
    for load in loads:
        name = f"{load.name}, {SESSIONS} sessions"
        rate = report.Row(f"{name}: scripts a second", "/s", _rate(load), goal=GOAL_RATE)
        spent = report.Row(f"{name}: processor time of a script", "ms", _spent_ms(load), goal=1 / GOAL_RATE)
        # The first is what the others are compared with.
        if load is not base:
            rate = dataclasses.replace(rate, baseline=_rate(base), baseline_name=BASELINE, kind="at_least")
            spent = dataclasses.replace(spent, baseline=_spent_ms(base), baseline_name=BASELINE, kind="at_most")
        yield from (rate, spent)
        p50, p99 = _latency(load, 50), _latency(load, 99)
        yield report.Row(f"{name}: p50", "ms", p50)
        yield report.Row(f"{name}: p99", "ms", p99, p50, "p50", "at_most", GOAL_P99)


def _spent_ms(load: _Load) -> float:
    """Milliseconds of processors that a script takes, without the first round."""
    return report.median(load.spent[1:]) * 1000 / SESSIONS


def _rate(load: _Load) -> float:
    """Scripts a second, without the first round."""
    return SESSIONS / report.median(load.rounds[1:])


def _latency(load: _Load, share: int) -> float:
    """Milliseconds in which this share of the scripts has its answer, in per cent, without the first round."""
    later = load.seconds[SESSIONS:]
    return _percentile(later, share) * 1000


async def _fairness(shared: _Load, fair: _Load) -> list[report.Row]:
    """What one who sends a script at a time feels of one who sends 64 at once: in one queue, as without callers, and
    as two callers."""
    rows: list[report.Row] = []
    alone = await _quiet(fair, hog=False)
    for load, name in ((fair, "another caller"), (shared, "one queue, first come first served")):
        beside = await _quiet(load, hog=True)
        for share in (50, 99):
            what = f"a script at a time beside {HOG} of {name}: p{share}"
            slow = _percentile(beside, share) * 1000
            least = _percentile(alone, share) * 1000
            row = report.Row(what, "ms", slow, least, "alone", goal=GOAL_BESIDE)
            if load is fair and share == 50:
                row = dataclasses.replace(row, kind="at_most")
            rows.append(row)
    return rows


async def _quiet(load: _Load, *, hog: bool) -> list[float]:
    """Seconds of scripts that are sent one at a time, while another one keeps so many under way."""
    quiet = load.session(0)
    # The last caller is another one than the first, where there are callers.
    last = max(1, len(load.tokens)) - 1
    greedy = [load.session(last) for _ in range(HOG if hog else 0)]
    every = (quiet, *greedy)
    await asyncio.gather(*(each.begin() for each in every))
    tasks = [asyncio.create_task(_endless(each)) for each in greedy]
    # Until the queue is full.
    await asyncio.sleep(1 if hog else 0)
    seconds = []
    for number in range(QUIET_SCRIPTS):
        answer = await _run_numbered(quiet, number)
        seconds.append(answer.seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for each in every:
        each.hang_up()
    return seconds


async def _endless(session: sessions.Session) -> None:
    while True:
        answer = await session.script(WORK)
        assert answer.text.startswith("26"), answer


async def _run_numbered(session: sessions.Session, number: int) -> sessions.Answer:
    """Runs a script. Raises RuntimeError for any answer but its own."""
    answer = await session.script(SCRIPT.format(number=number))
    # Another's answer would show that callers are mixed up.
    if answer.text != f"[true,{number}]":
        raise RuntimeError(f"wrong answer: {answer}")
    return answer


def _complaints(load: _Load) -> Iterator[str]:
    """Notes what the server has logged beside news."""
    bad = load.serving.complaints
    if bad:
        first = bad[0][:300]
        yield f"{load.name}: {len(bad)} warnings or errors in the log, such as {first}"


def _load(
    name: str, callers: int, kubeconfig: Path, folder: Path, opened: contextlib.ExitStack, http: str = ""
) -> _Load:
    tokens: list[str] = []
    tables = [SETTINGS + http]
    if callers > 1:
        tokens = [secrets.token_hex(16) for _ in range(callers)]
        file = folder / f"{callers}.csv"
        lines = [f"{token},user-{number},,{GROUP}\n" for number, token in enumerate(tokens)]
        file.write_text("".join(lines))
        file.chmod(0o600)
        tables = [
            'acts_as = "impersonate"',
            f'[impersonation]\ngroups = ["{GROUP}"]',
            f'[auth]\ntokens_file = "{file}"',
            *tables,
        ]
    serving = opened.enter_context(sessions.served(kubeconfig, *tables))
    return _Load(name, serving, tokens)


def _permit(kubeconfig: Path) -> None:
    """Lets the group read namespaces."""
    rbac = kubernetes.client.RbacAuthorizationV1Api(kubernetes.client.ApiClient(clusters.configuration(kubeconfig)))
    rule = {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list"]}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": GROUP}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": GROUP}
    made: list[tuple[Any, dict[str, Any]]] = [
        (rbac.create_cluster_role, {"metadata": {"name": GROUP}, "rules": [rule]}),
        (
            rbac.create_cluster_role_binding,
            {"metadata": {"name": GROUP}, "roleRef": reference, "subjects": [subject]},
        ),
    ]
    for create, body in made:
        try:
            create(body)
        except kubernetes.client.ApiException as error:
            # 409: an earlier run has made it.
            if error.status != 409:
                raise


def _percentile(values: Sequence[float], share: int) -> float:
    ordered = sorted(values)
    place = len(ordered) * share // 100
    return ordered[min(len(ordered) - 1, place)]


def _mib(serving: sessions.Serving) -> float:
    """PSS of the server and all its processes."""
    return memory.of_tree(serving.pid).pss
