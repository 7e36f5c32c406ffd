"""Thousands of scripts of mixed fates in one server: its descriptors, processes and memory must stay flat.

    python -m benchmarks.soak [N]        # default 10,000; about N / 24 seconds on two cores

One client on stdio, one API server (a small local one) behind. Every answer is checked. The numbers are taken whenever
a twentieth of the scripts has run, each time after a script that went well and with one spare worker waiting.
"""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import stdio

__all__ = ["Report", "Sample", "run"]

SPIN = "while True: pass"
LONG_MS = 60_000
REST_S = 60
"""How long a sample waits for rest, on a machine with other work to do."""
STARTING = 10
"""More hundredths of a second of processor time than a spare takes to start, also on a slow machine."""
WARM_UP = 60
"""Scripts before the first numbers: imports, pools and caches fill."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The server between two scripts."""

    scripts: int
    descriptors: int
    processes: int
    threads: int
    host_kib: int
    fork_server_kib: int


@dataclass(slots=True)
class Report:
    """What a soak found."""

    samples: list[Sample] = field(default_factory=list)
    fates: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    """Answers that were not as their fate demands."""
    seconds: float = 0.0

    def slope(self, name: str) -> float:
        """Growth of one number per 1,000 scripts: least squares over the samples."""
        xs = [sample.scripts / 1000 for sample in self.samples]
        ys = [float(getattr(sample, name)) for sample in self.samples]
        middle_x = sum(xs) / len(xs)
        middle_y = sum(ys) / len(ys)
        spread = sum((x - middle_x) ** 2 for x in xs)
        # All samples at one place have no slope.
        if not spread:
            return 0.0
        both = [(x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True)]
        return sum(both) / spread

    def as_text(self) -> str:
        """A table for a person."""
        first = self.samples[0]
        last = self.samples[-1]
        fates = ", ".join(f"{count} {fate}" for fate, count in self.fates.items())
        lines = [f"{self.fates.total()} scripts in {self.seconds:.0f} s: {fates}"]
        lines.append(f"{'':<16}{'start':>10}{'end':>10}{'per 1,000 scripts':>20}")
        for name in ("descriptors", "processes", "threads", "host_kib", "fork_server_kib"):
            begin = getattr(first, name)
            end = getattr(last, name)
            lines.append(f"{name:<16}{begin:>10}{end:>10}{self.slope(name):>20.2f}")
        sizes = " ".join(f"{sample.host_kib / 1024:.1f}" for sample in self.samples)
        lines.append(f"host MiB: {sizes}")
        # Twenty tell what goes wrong; a server that has broken gives thousands.
        lines += [f"WRONG {text}" for text in self.wrong[:20]]
        return "\n".join(lines)


class _Api(http.server.BaseHTTPRequestHandler):
    """A list of 50 pods; and nodes whose list breaks off."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        items = [{"metadata": {"name": f"pod-{number}", "labels": {"n": "x" * 500}}} for number in range(50)]
        data = json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}).encode()
        # The length is that of the whole list, so a client sees that the list of nodes breaks off.
        whole = "nodes" not in self.path
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data if whole else data[:1000])
        self.close_connection = not whole

    def log_message(self, *_: object) -> None:
        """Quiet."""


class _Server(stdio.Server):
    """The subject, and a look at it from outside."""

    def ask(self, script: str, timeout: int = LONG_MS) -> str:
        """A script's answer."""
        call = _call(script, timeout)
        answer = self.request("tools/call", call)
        return stdio.text(answer)

    def start(self, script: str) -> int:
        """Send a script, and do not wait."""
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": "tools/call", "params": _call(script, LONG_MS)})
        return self._number

    def finish(self, number: int) -> str:
        """The answer of a script that was started."""
        while True:
            message = json.loads(self._line())
            if message.get("id") == number and "method" not in message:
                content = message["result"]["content"]
                return str(content[0]["text"])

    def cancel(self, number: int) -> None:
        """Give a script up."""
        self._send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})

    @property
    def fork_server(self) -> int:
        """Its process id."""
        (pid,) = (one for one in _children(self.pid) if b"kubescript_sandbox.guest.launch" in _command(one))
        return pid

    def sample(self, scripts: int) -> Sample:
        """Numbers at rest: the last worker reaped, the spare there, and the maskers that wait for work."""
        fork_server = self.fork_server
        deadline = time.monotonic() + REST_S
        still = 0
        processes = 0
        descriptors = 0
        # Five looks in a row that find the same: one may fall between two changes.
        while still < 5 and time.monotonic() < deadline:
            time.sleep(0.03)
            before = processes, descriptors
            processes = 1 + len(_descendants(self.pid))
            descriptors = len(os.listdir(f"/proc/{self.pid}/fd"))
            has_spare = len(_children(fork_server)) == 1
            still = still + 1 if has_spare and (processes, descriptors) == before else 0
        threads = len(os.listdir(f"/proc/{self.pid}/task"))
        return Sample(scripts, descriptors, processes, threads, _resident(self.pid), _resident(fork_server))


def _call(script: str, timeout: int) -> dict[str, Any]:
    arguments = {"script": script, "timeout": timeout}
    return {"name": "evaluate_script", "arguments": arguments}


def _command(pid: int) -> bytes:
    """The command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def _descendants(pid: int) -> list[int]:
    found = []
    for child in _children(pid):
        found += [child, *_descendants(child)]
    return found


def _children(pid: int) -> list[int]:
    """The children of all its threads."""
    found: list[int] = []
    # A process may end while it is looked at.
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            text = Path(f"/proc/{pid}/task/{task}/children").read_text()
            found += map(int, text.split())
    return found


def _ticks(pid: int) -> int:
    """Hundredths of a second of processor time."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text()
        # The name, which stands in brackets, may have spaces.
        fields = text.rpartition(")")[2].split()
        return int(fields[11])
    return 0


def _resident(pid: int) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    lines = [line for line in text.splitlines() if line.startswith("VmRSS")]
    return int(lines[0].split()[1])


# --- fates: what is done, and what the answer must hold ---

Fate = Callable[[_Server], tuple[str, str]]


def _plain(script: str, expected: str, timeout: int = LONG_MS) -> Fate:
    return lambda server: (server.ask(script, timeout), expected)


def _killed(server: _Server) -> tuple[str, str]:
    number = server.start("len(k8s.coreV1().list_namespaced_pod('a'))\n" + SPIN)
    before: dict[int, int] = {}
    deadline = time.monotonic() + LONG_MS / 2000
    while time.monotonic() < deadline:  # the one that burns processor time runs the script, the other is the spare
        time.sleep(0.03)
        now = {pid: _ticks(pid) for pid in _children(server.fork_server)}
        busy = [pid for pid in now if now[pid] - before.get(pid, now[pid]) > STARTING]
        if busy:
            with contextlib.suppress(ProcessLookupError):
                os.kill(busy[0], signal.SIGKILL)
            break
        before |= {pid: ticks for pid, ticks in now.items() if pid not in before}
    return server.finish(number), "worker.died"


def _cancelled(server: _Server) -> tuple[str, str]:
    number = server.start(SPIN)
    time.sleep(0.02)
    server.cancel(number)
    return "", ""


FATES: dict[str, tuple[int, Fate]] = {
    "ok": (47, _plain("len(k8s.coreV1().list_namespaced_pod('a'))", "50")),
    "exception": (14, _plain("[p.metadata.name for p in k8s.coreV1().list_namespaced_pod('a')][99]", "IndexError")),
    "denied": (
        10,
        _plain(
            "k8s.coreV1().create_namespaced_service_account_token('a', 'a', {'spec': {}})", "policy.denied_resource"
        ),
    ),
    "big output": (6, _plain("'x' * 10**6", "xxxx")),
    "broken answer": (5, _plain("len(k8s.coreV1().list_node())", "cluster.broken")),
    "memory": (5, _plain("x = []\nwhile True: x.append('a' * 10**6 + str(len(x)))", "limit.memory")),
    "timeout": (5, _plain(SPIN, "limit.time", 100)),
    "killed": (4, _killed),
    "cancelled": (4, _cancelled),
}
"""Fate → how many of a hundred."""


def run(count: int = 10_000, samples: int = 20) -> Report:
    """Run `count` scripts. Fails no assertion: what it saw is in the report."""
    report = Report()
    fates = list(FATES)
    # The same order each time.
    order = random.Random(7).choices(fates, [FATES[fate][0] for fate in fates], k=count)
    with _served() as server:
        for number in range(WARM_UP):
            FATES[fates[number % len(fates)]][1](server)
        server.ask(*_OK)
        report.samples.append(server.sample(0))
        started = time.monotonic()
        for number, fate in enumerate(order, 1):
            answer, expected = FATES[fate][1](server)
            report.fates[fate] += 1
            if expected not in answer:
                report.wrong.append(f"{fate}: {answer[:200]!r}")
            if number % max(1, count // samples) == 0:
                server.ask(*_OK)
                report.samples.append(server.sample(number))
        report.seconds = time.monotonic() - started
    return report


_OK = ("len(k8s.coreV1().list_namespaced_pod('a'))",)


@contextlib.contextmanager
def _served() -> Iterator[_Server]:
    api = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Api)
    api.daemon_threads = True
    api.handle_error = lambda *_: None  # type: ignore[method-assign] # a client that hangs up is no news
    threading.Thread(target=api.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig, config = Path(folder, "kubeconfig"), Path(folder, "config.toml")
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "soak",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{api.server_port}"}}],
            "users": [{"name": "u", "user": {}}], "contexts": [{"name": "soak", "context": {"cluster": "c", "user": "u"}}],
        }))  # fmt: skip
        config.write_text("[limits]\nmemory_mib = 64\noutput_kib = 64\n")
        program = Path(sys.executable).with_name("kubescript")
        flags = ["--toolsets", "code", "--kubeconfig", str(kubeconfig), "--config", str(config), "--log-level", "error"]
        server = _Server([str(program), *flags])
        with server:
            yield server
    api.shutdown()
    api.server_close()


def main() -> None:
    """The command."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    report = run(count)
    print(report.as_text())
    first = report.samples[0]
    last = report.samples[-1]
    # Memory may grow a little; what is opened must be closed again.
    is_flat = (first.descriptors, first.processes) == (last.descriptors, last.processes)
    sys.exit(0 if is_flat and not report.wrong else 1)


if __name__ == "__main__":
    main()
