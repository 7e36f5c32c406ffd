"""`python -m benchmarks audit`: what the audit record costs a script, against the same server without one.

Two scripts over a saved cluster: one call, and fifty. Blocks of calls alternate between the servers. What waits for the
disk is the file system's own speed, so the folder's matters: TMPDIR chooses it.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks import report, stdio

__all__ = ["run"]

BLOCKS = 8
CALLS = 15
"""Of one block; the first of each is not counted."""
SETTLE = 0.05
SCRIPTS = {
    "one call": "len(k8s.coreV1().list_namespaced_pod('shop'))",
    "fifty calls": "[len(k8s.coreV1().list_namespaced_pod('shop')) for _ in range(50)][0]",
}
OPTIONS = {
    "fsync answer (default)": 'fsync = "answer"',
    "fsync never": 'fsync = "never"',
    "fsync record": 'fsync = "record"',
    "with responses": "responses = true",
}


def run() -> Iterator[report.Row | str]:
    """A row per script and way of recording."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        place = Path(folder)
        subjects = {name: stack.enter_context(_server(place, name, text)) for name, text in OPTIONS.items()}
        baseline = stack.enter_context(_server(place, "none", ""))
        for what, script in SCRIPTS.items():
            yield from _compared(what, script, subjects, baseline)
        yield f"audit: file system of {folder}: {_kind(place)}"


def _server(place: Path, name: str, text: str) -> stdio.Server:
    settings = place / f"{name}.toml"
    file = json.dumps(str(place / f"{name}.jsonl"))
    settings.write_text(f"[audit]\nfile = {file}\n{text}\n" if text else "")
    saved = place / "pods.json"
    pods = [
        {"metadata": {"name": f"web-{n}", "namespace": "shop"}, "apiVersion": "v1", "kind": "Pod"} for n in range(20)
    ]
    saved.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    flags = ["--toolsets", "code", "--snapshot", str(saved), "--config", str(settings), "--log-level", "error"]
    return stdio.Server([str(Path(sys.executable).with_name("kubescript")), *flags])


def _compared(
    what: str, script: str, subjects: dict[str, stdio.Server], baseline: stdio.Server
) -> Iterator[report.Row]:
    times: dict[str, list[float]] = {name: [] for name in (*subjects, "none")}
    for _ in range(BLOCKS):
        for name, server in (*subjects.items(), ("none", baseline)):
            times[name] += _block(server, script)
    for name in subjects:
        yield report.Row(
            "audit", f"{what}, {name}", "ms", report.median(times[name]), report.median(times["none"]), "no audit"
        )


def _block(server: stdio.Server, script: str) -> list[float]:
    time.sleep(SETTLE)
    times = []
    for _ in range(CALLS):
        times.append(server.call("evaluate_script", {"script": script}).seconds * 1000)
        time.sleep(0.02)
    return times[1:]


def _kind(place: Path) -> str:
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return max((row for row in mounts if place.is_relative_to(row[1])), key=lambda row: len(row[1]))[2]
