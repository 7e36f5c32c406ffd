"""One script, one worker: results, limits and ends. After each failure the next script works."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from kubescript import programs
from kubescript.wire import exchanges
from kubescript_sandbox import runs
from kubescript_sandbox.host import cancellation, conversation, executor, spawner
from kubescript_sandbox.wire import protocol
from tests.kit import patience, pids

MIB = 1024 * 1024


class Bench:
    """An executor with one spare, and calls answered by a fault: these tests stop before the broker."""

    def __init__(self) -> None:
        self.source = spawner.Spawner(programs.WORKER)
        self.source.start()
        self.pool = executor.Executor(
            self.source, programs.SCRIPTS, memory_bytes=256 * MIB, cpu_seconds=30, spares=1, strict=True
        )
        self.calls = 0
        self.progress: list[protocol.Progress] = []

    def run(self, script: str, switch: cancellation.Cancellation | None = None, **limits: int) -> runs.Outcome:
        """One script to its outcome."""
        bounds = runs.Limits(**({"timeout_ms": 20_000, "memory_bytes": 256 * MIB} | limits))
        job = conversation.Job(
            script,
            bounds,
            exchanges.Parameters("default", "test"),
            self._answer,
            self.progress.append,
            switch or cancellation.Cancellation(),
        )
        return self.pool.run(job)

    def works(self) -> bool:
        """Whether the next script gets its answer."""
        return self.run("6 * 7").result == b"42"

    def _answer(self, _call: exchanges.Call, _timeout_s: float) -> tuple[exchanges.Reply, None]:
        self.calls += 1
        return exchanges.Reply(0, fault=protocol.ScriptFault("cluster.unreachable", "nobody there")), None


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """Started once; every test proves that it still works."""
    bench = Bench()
    yield bench
    bench.pool.close()
    bench.source.close()


RESULTS = {
    "the last expression": ("x = 20\nx + 22", b"42"),
    "a list of dicts": ("[{'a': n} for n in range(2)]", b'[{"a":0},{"a":1}]'),
    "a string": ("'é' * 2", '"éé"'.encode()),
    "an import": ("import json\njson.loads('[1]')", b"[1]"),
    "a sorted set": ("{3, 1, 2}", b"[1,2,3]"),
    "a datetime": (
        "import datetime\ndatetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc)",
        b'"2026-01-02T00:00:00Z"',
    ),
    "a huge integer": ("2 ** 100", str(2**100).encode()),
}


@pytest.mark.parametrize("case", RESULTS)
def test_the_last_expression_is_the_result(case: str, bench: Bench) -> None:
    """The value of the last expression arrives as JSON."""
    script, expected = RESULTS[case]
    assert bench.run(script).result == expected


def test_prints_arrive_in_order_beside_the_result(bench: Bench) -> None:
    """What is printed is kept, in order, even when nothing else is returned."""
    outcome = bench.run("for n in range(3):\n    print(n, end=';')")
    assert (outcome.printed, outcome.result, outcome.fault) == ("0;1;2;", None, None)


def test_a_script_without_a_value_says_how_to_return_one(bench: Bench) -> None:
    """An assignment at the end gets a hint, not an empty answer."""
    outcome = bench.run("rows = [1]")
    assert outcome.result is None
    assert "rows" in outcome.hint


FAILURES = {
    "syntax error": ("x = (1,\ny = 2", "script.syntax", "line 1"),
    "refused construct": ("x = 1\nopen('/etc/passwd')", "script.refused", "line 2"),
    "exception with the script's own line": ("def f(x):\n    return 1 / x\nf(0)", "script.exception", "return 1 / x"),
    "SystemExit with a message": ("raise SystemExit('enough')", "", ""),
    "BaseException": ("raise BaseException('odd')", "script.exception", "odd"),
    "endless loop": ("while True: pass", "limit.time", "0.5 s"),
    "endless loop that swallows everything": (
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass", "limit.time", "0.5 s"
    ),
    "memory in Python": ("x = []\nwhile True: x.append('y' * 10**6)", "limit.memory", "256 MiB"),
    "memory in C": ("'a' * 10**10", "limit.memory", "256 MiB"),
    "depth in Python": ("def f(n): return f(n + 1)\nf(0)", "limit.depth", "1024"),
    "depth in C": ("x = []\nfor _ in range(10**6): x = [x]\nrepr(x)", "limit.depth", "1024"),
    "prints": ("while True: print('x' * 1000)", "limit.output", "65536"),
    "a result beyond any use": ("['x' * 1000] * 10**5", "limit.output", "MiB"),
    "a result that is no data": ("lambda: 1", "script.exception", "function"),
    "source nested too deeply": ("(" * 500 + ")" * 500, "script.", ""),
    "big-int power": ("9 ** 9 ** 9", "limit.", ""),
    "catastrophic regex": ("import re\nre.match('(a+)+$', 'a' * 60 + 'b')", "limit.time", "0.5 s"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILURES)
def test_each_failure_is_named_and_the_next_script_works(case: str, bench: Bench) -> None:
    """Whatever a script does wrong, the fault names the limit or the line, within the deadline and a second."""
    script, code, words = FAILURES[case]
    started = time.monotonic()
    outcome = bench.run(script, timeout_ms=500 if "limit.time" in code or code == "limit." else 20_000)
    took = time.monotonic() - started
    if code:
        assert outcome.fault is not None, outcome
        assert outcome.fault.code.startswith(code), outcome.fault
        assert words in outcome.fault.text
    assert took < 20 + patience.scaled(1)
    assert bench.works()


def test_a_large_print_is_cut_and_the_result_survives(bench: Bench) -> None:
    """Printing too much once costs the end of the print, not the script."""
    outcome = bench.run("print('x' * 200_000)\n'done'")
    assert (outcome.result, len(outcome.printed), outcome.dropped_bytes) == (b'"done"', 65_536, 200_001 - 65_536)


def test_partial_prints_survive_a_failure(bench: Bench) -> None:
    """What was printed before the deadline is part of the outcome."""
    outcome = bench.run("print('before' * 10000)\nwhile True: pass", timeout_ms=patience.scaled_ms(1_000))
    assert outcome.fault is not None
    assert outcome.printed.startswith("before")


def test_calls_beyond_the_limit_are_refused_and_then_end_the_script(bench: Bench) -> None:
    """A script may catch the refusal once; one that goes on calling is ended, and the broker never hears of it."""
    bench.calls = 0
    script = "n = 0\nwhile True:\n    try:\n        k8s.coreV1().list_node()\n    except Exception: pass"
    outcome = bench.run(script, api_calls=5)
    assert outcome.fault is not None
    assert outcome.fault.code == "limit.calls"
    assert bench.calls == 5
    assert bench.works()


@pytest.mark.parametrize("end", ["type(e)('told')", "type(e)('told', 'policy.denied')", "type(e)('told', ['x'])"])
def test_a_script_may_raise_the_limits_error_itself(bench: Bench, end: str) -> None:
    """With whatever code: it is an exception of the script's, and no violation of the worker's protocol."""
    wait = "while True:\n            try: k8s.coreV1().list_node()\n            except ApiException: pass"
    outcome = bench.run(f"try:\n    if True:\n        {wait}\nexcept Exception as e: raise {end}", api_calls=1)
    assert outcome.fault is not None
    assert (outcome.fault.code, outcome.fault.type) == ("script.exception", "LimitExceeded"), outcome.fault
    assert bench.works()


def test_the_call_limit_is_an_error_a_script_can_catch(bench: Bench) -> None:
    """Results gathered before the limit are not lost."""
    script = (
        "got = 0\ntry:\n    for _ in range(9):\n        try:\n            k8s.coreV1().list_node()\n"
        "        except ApiException: got += 1\nexcept Exception as error:\n    got = (got, type(error).__name__)\ngot"
    )
    outcome = bench.run("from kubernetes.client import ApiException\n" + script, api_calls=5)
    assert outcome.result == b'[5,"LimitExceeded"]', outcome


def test_cancelling_kills_the_worker_at_once(bench: Bench) -> None:
    """A client that cancels does not leave its script running."""
    switch = cancellation.Cancellation()
    threading.Timer(0.3, switch.cancel).start()
    started = time.monotonic()
    outcome = bench.run("while True: pass", switch)
    assert outcome.fault is not None
    assert outcome.fault.code == "cancelled"
    assert time.monotonic() - started < patience.scaled(5)
    assert bench.works()


def test_a_killed_worker_is_an_error_and_no_more(bench: Bench) -> None:
    """kill -9 of a worker in the middle of a script is named, and the next script gets a new worker."""
    reports = len(bench.progress)
    victims: set[int] = set()

    def kill() -> None:
        # A worker that dies before its script has sent anything is replaced without a word.
        patience.until(lambda: len(bench.progress) > reports)
        victims.update(pids.children(bench.source.pid))
        for pid in victims:
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    outcome = bench.run("ctx.progress(0)\nwhile True: pass", timeout_ms=90_000)
    killer.join()
    # The spare was killed as well, and a signal takes a moment: the next script must not be given a dying one.
    patience.until(lambda: not victims & pids.children(bench.source.pid))
    assert outcome.fault is not None
    assert outcome.fault.code == "worker.died"
    assert bench.works()


def test_a_killed_fork_server_is_restarted(bench: Bench) -> None:
    """kill -9 of the fork server takes its workers along; the next script gets a new fork server, as clean as the
    first."""
    first = bench.source.pid
    family = {first, *pids.children(first)}
    os.kill(first, signal.SIGKILL)
    patience.until(lambda: not any(pids.is_alive(pid) for pid in family))
    assert bench.works()
    assert bench.source.pid != first


def test_no_worker_outlives_its_script(bench: Bench) -> None:
    """After many scripts only the spare is left."""
    for n in range(20):
        bench.run(f"{n} if {n} % 2 else 1 / 0")
    patience.until(lambda: len(pids.children(bench.source.pid)) <= 1)


def test_progress_reaches_the_host(bench: Bench) -> None:
    """ctx.progress arrives as sent."""
    bench.run("ctx.progress(1, 3, 'nodes')")
    assert bench.progress[-1] == protocol.Progress(1.0, 3.0, "nodes")


def test_usage_is_the_hosts_own_measurement(bench: Bench) -> None:
    """Peak memory and processor time are reported for scripts that finish and for those that do not."""
    for script, limit in (("x = 'a' * (64 * 1024 * 1024)\nlen(x)", 20_000), ("while True: pass", 500)):
        usage = bench.run(script, timeout_ms=limit).usage
        assert usage.peak_bytes > 5 * MIB
        assert usage.cpu_ms > 0
    assert bench.run("x = 'a' * (64 * 1024 * 1024)\nlen(x)").usage.peak_bytes > 64 * MIB


@pytest.mark.skipif(tuple(map(int, os.uname().release.split(".")[:2])) < (6, 12), reason="the kernel has no turns")
def test_workers_have_long_turns_and_the_host_and_fork_server_short_ones(bench: Bench) -> None:
    """Scripts that compute at once keep their caches, and whoever serves them still gets a core at once."""
    bench.pool.start()
    deadline = time.monotonic() + patience.scaled(5)
    while {_turn_ns(pid) for pid in pids.children(bench.source.pid)} != {20_000_000}:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert max(_turn_ns(0), _turn_ns(bench.source.pid)) < 20_000_000


def _turn_ns(pid: int) -> int:
    """As the kernel tells it: sched_getattr(2)."""
    attributes = ctypes.create_string_buffer(48)
    number = {"x86_64": 315, "aarch64": 275}[os.uname().machine]
    found = ctypes.CDLL(None, use_errno=True).syscall(number, pid, attributes, 48, 0) == 0  # not one that just ended
    return int.from_bytes(attributes.raw[24:32], sys.byteorder) if found else 0
