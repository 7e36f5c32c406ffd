"""16 scripts at once, against the same 16 runs in plain processes, one for each core.

The work is what scripts do with an answer they have: decode JSON, group, sort, match and format. A plain process
compiles and runs the same source with the same guards, without sandbox, wire or MCP; plain Python without guards is
there for comparison. Throughput counts from the first request to the last answer; a script's wait is from the first
request to its own answer. On a machine that others use too, more processes get more of it: trust the processor time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks import processor, report, servers, stdio

__all__ = ["run"]

AT_ONCE = 16
ROUNDS = 3
THROUGHPUT = 0.9
USED = 1.2
FAIR = 3.0
SCRIPT = """\
import json, re
from collections import Counter, defaultdict
text = json.dumps([{"name": f"pod-{n:05d}", "node": f"node-{n % 97}", "restarts": n * 7919 % 41} for n in range(6000)])
found = Counter()
for turn in range(12):
    rows = json.loads(text)
    found.update(row["node"] for row in rows)
    rows.sort(key=lambda row: (-row["restarts"], row["name"]))
    found["matched"] += len(re.findall(r"pod-[0-9]*7", text))
    lines = [f"{row['name']:<12}{row['restarts']:>4}" for row in rows[:200]]
sum(found.values()) + len("".join(lines))
"""
PLAIN = """\
import ast, sys
def work():
    tree = ast.parse(sys.argv[1])
    last = tree.body.pop()
    scope = {}
    exec(compile(tree, "x", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "x", "eval"), scope)
"""
GUARDED = """\
import sys
from kubescript_sandbox.language import compiler
from kubescript_sandbox.library import builtins, stdlib
stdlib.warm()
def work():
    scope = builtins.build_globals(print_=print, extra={}, importable={})
    return compiler.run(compiler.compile_script(sys.argv[1]), scope)
"""
LOOP = """
for line in sys.stdin:
    for _ in range(int(line)):
        answer = work()
    print(answer, flush=True)
"""


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    cores = len(os.sched_getaffinity(0))
    with (
        servers.no_cluster() as kubeconfig,
        servers.kubescript(kubeconfig) as subject,
        _Processes(GUARDED, cores) as guarded,
        _Processes(PLAIN, cores) as plain,
    ):
        expected = guarded.answer()
        _burst(subject, expected)
        seconds = _Seconds()
        for _ in range(ROUNDS):
            seconds.guarded.append(guarded.seconds(AT_ONCE))
            seconds.plain.append(plain.seconds(AT_ONCE))
            before = processor.of_tree(subject.pid)
            seconds.waits.append(_burst(subject, expected))
            seconds.processor.append(processor.of_tree(subject.pid) - before)
        yield from _rows(seconds, cores, guarded.processor(AT_ONCE))


@dataclass
class _Seconds:
    """What was measured, one entry per round."""

    guarded: list[float] = field(default_factory=list)
    plain: list[float] = field(default_factory=list)
    waits: list[list[float]] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)


def _rows(seconds: _Seconds, cores: int, plainly: float) -> Iterator[report.Row | str]:
    name = f"plain processes, {cores} cores"
    what = f"{AT_ONCE} scripts at once, throughput"
    # The last answer ends the work of all.
    ours = AT_ONCE / report.median([max(each) for each in seconds.waits])
    guarded = AT_ONCE / report.median(seconds.guarded)
    plain = AT_ONCE / report.median(seconds.plain)
    yield report.Row(what, "1/s", ours, guarded, name, "at_least", THROUGHPUT)
    yield report.Row(what, "1/s", ours, plain, "the same without guards")
    used = report.median(seconds.processor)
    yield report.Row("their processor time", "s", used, plainly, name, "at_most", USED)
    waits = [max(each) / report.median(each) for each in seconds.waits]
    fairness = report.median(waits)
    yield report.Row("longest wait / median wait", "", fairness, kind="value_at_most", goal=FAIR)


def _burst(subject: stdio.Server, expected: str, count: int = AT_ONCE) -> list[float]:
    answers = subject.burst("evaluate_script", [{"script": SCRIPT}] * count)
    seconds = []
    for answer in answers:
        text = stdio.text(answer)
        if text.strip() != expected:
            raise RuntimeError(f"expected {expected}, got {text[:300]}")
        seconds.append(answer.seconds)
    return seconds


class _Processes:
    """Processes that do the work without a server, started and warm, one for each core."""

    def __init__(self, program: str, cores: int) -> None:
        command = [sys.executable, "-c", program + LOOP, SCRIPT]
        self._all = []
        for _ in range(cores):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            self._all.append(process)

    def answer(self) -> str:
        """What the work gives."""
        return self._do([1] * len(self._all))

    def seconds(self, times: int) -> float:
        """To do the work so many times, shared out among the processes."""
        each, rest = divmod(times, len(self._all))
        # The first ones take what is left over; all have the same to do, or one more.
        shares = [each + (place < rest) for place in range(len(self._all))]
        started = time.perf_counter()
        self._do(shares)
        return time.perf_counter() - started

    def processor(self, times: int) -> float:
        """Seconds of processor time for the same."""
        # Before and after: what they used to start is not counted.
        pids = [each.pid for each in self._all]
        before = sum(map(processor.of_tree, pids))
        self.seconds(times)
        after = sum(map(processor.of_tree, pids))
        return after - before

    def _do(self, shares: list[int]) -> str:
        for process, share in zip(self._all, shares, strict=True):
            assert process.stdin is not None
            process.stdin.write(f"{share}\n")
            process.stdin.flush()
        # After all have begun: each answers when its share is done.
        found = []
        for process in self._all:
            assert process.stdout is not None
            line = process.stdout.readline()
            found.append(line.strip())
        return found[0]

    def __enter__(self) -> _Processes:
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self._all:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            process.wait()
            process.stdout.close()
