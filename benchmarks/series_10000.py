"""One script over 10,000 real series of 60 points, against curl's GET of the same answer.

The script takes the highest value of the last hour of all series, so all 13 MB are fetched, masked and read. Rounds are
interleaved, in alternating order, and every server and connection is warm. A sum that is read in the query shows what
the way itself costs.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

from benchmarks import memory, report, servers, stdio
from tests.kit.engines import prometheus

__all__ = ["run"]

ROUNDS = 9
SERIES = 10_000
POINTS = 60
PAUSE = 0.3
"""Seconds for the servers to settle."""
SCRIPT = "max(s.last for s in prom.query_range({query!r}, start={start}, end={end}, step='1m'))"
COUNT = "prom.query('count(used_bytes)')[0].value"


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    program = shutil.which("curl")
    if program is None:
        raise report.Unavailable("there is no curl")
    end = int(time.time()) // 60 * 60
    with (
        tempfile.TemporaryDirectory() as folder,
        prometheus.Prometheus(Path(folder), openmetrics=_series(end)) as source,
        servers.no_cluster() as kubeconfig,
    ):
        settings = Path(folder) / "kubescript.toml"
        settings.write_text(f'[sources.prom]\nkind = "prometheus"\nurl = "{source.url}"\n')
        with servers.kubescript(kubeconfig, "--config", str(settings)) as subject:
            yield from _measured(program, source.url, subject, end)


def _measured(program: str, url: str, subject: stdio.Server, end: int) -> Iterator[report.Row | str]:
    start = end - 60 * (POINTS - 1)
    asked = {"query": "used_bytes", "start": start, "end": end, "step": 60}
    target = f"{url}/api/v1/query_range?{urllib.parse.urlencode(asked)}"
    whole = {"script": SCRIPT.format(query="used_bytes", start=start, end=end)}
    highest = stdio.text(subject.call("evaluate_script", whole))
    assert highest == str(SERIES + POINTS - 1), highest
    script: list[float] = []
    curl: list[float] = []
    for number in range(ROUNDS):
        for is_ours in (False, True) if number % 2 else (True, False):
            time.sleep(PAUSE)
            if is_ours:
                script.append(subject.call("evaluate_script", whole).seconds)
            else:
                seconds, size = _curl(program, target)
                curl.append(seconds)
    what = f"script over {SERIES:,} series of {POINTS} points"
    yield report.Row(what, "s", report.median(script), report.median(curl), "curl", "at_most", 1.3)
    used = memory.of_tree(subject.pid)
    yield report.Row("memory of all processes after it", "MiB", used.pss)
    small = [subject.call("evaluate_script", {"script": COUNT}).seconds for _ in range(ROUNDS)]
    yield report.Row("script with the sum in the query", "s", report.median(small))
    yield f"the answer has {size / 1e6:.1f} MB"


def _curl(program: str, target: str) -> tuple[float, int]:
    """Seconds and bytes of a GET, its start and connection left out."""
    wanted = "%{http_code} %{time_total} %{time_pretransfer} %{size_download}"
    command = [program, "--silent", "--output", "/dev/null", "--write-out", wanted, target]
    status, total, before, size = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert status == "200", status
    return float(total) - float(before), int(size)


def _series(end: int) -> str:
    """The series as OpenMetrics: used bytes of 10,000 containers, of which the last has the most."""
    lines = ["# TYPE used_bytes gauge"]
    for number in range(SERIES):
        labels = f'namespace="ns-{number % 40}",pod="web-{number // 4}-x7k2p",container="c{number % 4}",node="n{number % 60}"'
        for point in range(POINTS):
            lines.append(f"used_bytes{{{labels}}} {number + 1 + point} {end - 60 * (POINTS - 1 - point)}")
    return "\n".join(lines) + "\n"
