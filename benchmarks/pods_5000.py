"""One script over 5,000 real pods, against the bare GET of the same list, the official client, and the peer.

Every server and connection is warm; rounds interleave what is compared, in alternating order. All must agree on the
answer, but for the peer, whose answer is the list: the sum is left to the model. curl is there to check the baseline: a
bare GET of ours that is slower than curl's would flatter the script.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import bare, clusters, npm, report, servers, stdio

__all__ = ["run"]

ROUNDS = 9
PEER_EVERY = 3
"""The peer takes part in one round of three."""
OFFICIAL = 2
"""Runs of the official client, of 4 to 9 s each."""
PAUSE = 0.2
"""Seconds for the API server and the spare worker to settle."""
LEAST_BYTES = 9_000

SCRIPT = """\
sum(s.restart_count for p in k8s.coreV1().list_pod_for_all_namespaces() for s in p.status.container_statuses)
"""


@dataclass
class _Seconds:
    """What was measured, one entry per repetition."""

    get: list[float] = field(default_factory=list)
    curl: list[float] = field(default_factory=list)
    script: list[float] = field(default_factory=list)
    peer: list[float] = field(default_factory=list)
    official: list[float] = field(default_factory=list)


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    with clusters.bulk() as kubeconfig:
        pods = clusters.fetch(kubeconfig, clusters.PODS)["items"]
        count = len(pods)
        answer = _sum(pods)
        yield f"{count:,} pods, sum of restarts {answer:,}"
        with servers.kubescript(kubeconfig) as subject, bare.connected(kubeconfig) as connection:
            yield from _measured(kubeconfig, count, answer, subject, connection)


def _measured(
    kubeconfig: Path, pods: int, expected: int, subject: stdio.Server, connection: bare.Connection
) -> Iterator[report.Row | str]:
    seconds, listed = _Seconds(), ""
    _, size = connection.get(clusters.PODS)
    assert size / pods >= LEAST_BYTES, f"pods have only {size / pods:.0f} bytes"
    asked = subject.call("evaluate_script", {"script": SCRIPT})
    _check(stdio.text(asked), expected)
    try:
        with servers.peer(kubeconfig) as peer:
            listed = stdio.text(peer.call("pods_list", {}))
            _rounds(seconds, kubeconfig, subject, connection, peer)
    except report.Unavailable as error:
        yield f"without the peer: {error}"
        _rounds(seconds, kubeconfig, subject, connection, None)
    for _ in range(OFFICIAL):
        seconds.official.append(_official(kubeconfig, expected))
    yield from _rows(seconds)
    yield f"the GET is {size / 1e6:.1f} MB, {size / pods / 1000:.2f} KB a pod"
    if seconds.peer:
        limit = report.median(seconds.peer) / report.median(seconds.get)
        yield f"the bare GET itself is {limit:.1f} times faster than the peer; a script that reads the list cannot be much faster"
    if listed:
        yield from _returned(stdio.text(asked), listed)


def _rounds(
    seconds: _Seconds, kubeconfig: Path, subject: stdio.Server, connection: bare.Connection, peer: stdio.Server | None
) -> None:
    measures: list[tuple[list[float], Callable[[], float]]] = [
        (seconds.get, lambda: connection.get(clusters.PODS)[0]),
        (seconds.script, lambda: subject.call("evaluate_script", {"script": SCRIPT}).seconds),
    ]
    if curl := bare.curl(kubeconfig):
        measures.append((seconds.curl, lambda: curl(clusters.PODS)))
    for number in range(ROUNDS):
        if peer is not None and number % PEER_EVERY == 0:
            time.sleep(PAUSE)
            seconds.peer.append(peer.call("pods_list", {}).seconds)
        for values, measure in measures if number % 2 else reversed(measures):
            time.sleep(PAUSE)
            values.append(measure())


def _rows(seconds: _Seconds) -> Iterator[report.Row]:
    what = "script over 5,000 pods"
    script = report.median(seconds.script)
    get = report.median(seconds.get)
    yield report.Row(what, "s", script, get, "bare GET", "at_most", 1.5)
    if seconds.curl:
        curl = report.median(seconds.curl)
        yield report.Row(what, "s", script, curl, "curl")
    official = report.median(seconds.official)
    yield report.Row(what, "s", script, official, "official client")
    if seconds.peer:
        peer = report.median(seconds.peer)
        yield report.Row(what, "s", script, peer, "peer pods_list", "times_faster", 6)


def _returned(answer: str, listed: str) -> Iterator[report.Row | str]:
    mine = len(answer.encode())
    other = len(listed.encode())
    yield report.Row("bytes returned", "B", mine, other, "peer pods_list")
    ours, theirs = npm.count_tokens([answer, listed])
    yield report.Row("tokens returned", "tokens", ours, theirs, "peer pods_list")


def _official(kubeconfig: Path, expected: int) -> float:
    # A fresh process: what the client keeps would make the next one faster.
    command = [sys.executable, "-m", "benchmarks.official", str(kubeconfig)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    _check(str(found["answer"]), expected)
    return float(found["seconds"])


def _sum(pods: list[dict[str, Any]]) -> int:
    total = 0
    for pod in pods:
        for status in pod["status"].get("containerStatuses", ()):
            total += status["restartCount"]
    return total


def _check(answer: str, expected: int) -> None:
    """A wrong answer has no speed."""
    found = answer.strip()
    if found != str(expected):
        raise RuntimeError(f"expected {expected}, got {answer[:300]}")
