"""The script of pods_5000 on a cluster that is far away, through a relay of 50 Mbit/s and 40 ms, against
`kubectl get --raw`; the same script beside the API server, against the bare GET; and what one small call costs.

All take turns in the same rounds. Far away, servers and connections of ours are warm, and each kubectl is a new
process, as a person uses it: its start and its handshake are part of what is compared.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import bare, clusters, pods_5000, relay, report, servers, stdio
from tests.kit import kubectl

__all__ = ["run"]

ROUNDS = 9
SMALL_ROUNDS = 15
MBIT = 50
RTT_MS = 40
SMALL = 'k8s.coreV1().read_namespace("default").metadata.name'


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    program = kubectl.program()
    with clusters.bulk() as near:
        port = clusters.port(near)
        with relay.Relay(port, mbit=MBIT, rtt_ms=RTT_MS) as link, relay.kubeconfig(near, link.port) as far:
            yield from _lists(program, near, far, link)
            yield from _small(near, far, link)


def _lists(program: Path, near: Path, far: Path, link: relay.Relay) -> Iterator[report.Row | str]:
    with servers.kubescript(near) as beside, servers.kubescript(far) as away:
        answers = {
            stdio.text(subject.call("evaluate_script", {"script": pods_5000.SCRIPT})) for subject in (beside, away)
        }
        if len(answers) != 1:
            raise RuntimeError(f"the answers differ: {answers}")
        measures: dict[str, Callable[[], float]] = {
            "near": lambda: _ask(beside, pods_5000.SCRIPT),
            "bare": lambda: _bare(near),
            "far": lambda: _ask(away, pods_5000.SCRIPT),
            "kubectl": lambda: _kubectl(program, far),
        }
        seconds: dict[str, list[float]] = {name: [] for name in measures}
        fetched: dict[str, int] = {}
        for number in range(ROUNDS):
            for name in list(measures) if number % 2 else reversed(measures):
                time.sleep(pods_5000.PAUSE)
                before = link.counters()
                seconds[name].append(measures[name]())
                fetched[name] = link.counters().down - before.down
    middle = {name: report.median(values) for name, values in seconds.items()}
    what = f"script over 5,000 pods, {MBIT} Mbit/s and {RTT_MS} ms away"
    yield report.Row(what, "s", middle["far"], middle["kubectl"], "kubectl get --raw", "at_most", 1.05)
    yield report.Row("the same, near", "s", middle["near"], middle["bare"], "bare identity GET", "at_most", 1.0)
    yield f"over the link came {fetched['far'] / 1e6:.2f} MB to the script, {fetched['kubectl'] / 1e6:.2f} MB to kubectl"


def _small(near: Path, far: Path, link: relay.Relay) -> Iterator[report.Row | str]:
    """One object: what is paid beside the round trip, and how many round trips are paid."""
    with servers.kubescript(near) as beside, servers.kubescript(far) as away:
        seconds: dict[stdio.Server, list[float]] = {beside: [], away: []}
        for subject in seconds:
            _ask(subject, SMALL)
        before = link.counters()
        for _ in range(SMALL_ROUNDS):
            for subject, values in seconds.items():
                time.sleep(pods_5000.PAUSE)
                values.append(_ask(subject, SMALL))
        after = link.counters()
    extra = report.median(seconds[away]) - report.median(seconds[beside])
    yield report.Row(
        "a warm call of one object: far less near", "ms", extra * 1000, RTT_MS, "round trip", "at_most", 1.25
    )
    turns = (after.turns - before.turns) / SMALL_ROUNDS
    yield f"a warm call took {turns:.2f} round trips and {after.connections - before.connections} new connections"


def _ask(subject: stdio.Server, script: str) -> float:
    """Seconds of a script."""
    answer = subject.call("evaluate_script", {"script": script})
    return answer.seconds


def _bare(kubeconfig: Path) -> float:
    """Seconds of the bare GET, on a connection that is warm. It is a new one: API servers close one that waits for 90 s,
    and so may a round."""
    with bare.connected(kubeconfig) as connection:
        connection.get(f"{clusters.PODS}?limit=1")
        return connection.get(clusters.PODS)[0]


def _kubectl(program: Path, kubeconfig: Path) -> float:
    """Seconds of a `kubectl get --raw`, whose answer nobody reads."""
    request = ["get", "--raw", clusters.PODS]
    command = [str(program), "--kubeconfig", str(kubeconfig), *request]
    # A new process each time, as people use it.
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started
