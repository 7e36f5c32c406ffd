"""What the audit record costs a script, against the same server without one.

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
            yield from _compare(what, script, subjects, baseline)
        yield f"file system of {folder}: {_kind(place)}"


def _server(place: Path, name: str, text: str) -> stdio.Server:
    settings = place / f"{name}.toml"
    file = json.dumps(str(place / f"{name}.jsonl"))
    settings.write_text(f"[audit]\nfile = {file}\n{text}\n" if text else "")
    pods = []
    for number in range(20):
        metadata = {"name": f"web-{number}", "namespace": "shop"}
        pods.append({"metadata": metadata, "apiVersion": "v1", "kind": "Pod"})
    saved = place / "pods.json"
    saved.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))
    program = Path(sys.executable).with_name("kubescript")
    flags = ["--toolsets", "code", "--snapshot", str(saved), "--config", str(settings), "--log-level", "error"]
    return stdio.Server([str(program), *flags])


def _compare(what: str, script: str, subjects: dict[str, stdio.Server], baseline: stdio.Server) -> Iterator[report.Row]:
    servers = {**subjects, "none": baseline}
    times: dict[str, list[float]] = {name: [] for name in servers}
    # In turns: what else the machine does then disturbs all of them.
    for _ in range(BLOCKS):
        for name, server in servers.items():
            times[name] += _block(server, script)
    middle = {name: report.median(values) for name, values in times.items()}
    for name in subjects:
        yield report.Row(f"{what}, {name}", "ms", middle[name], middle["none"], "no audit")


def _block(server: stdio.Server, script: str) -> list[float]:
    time.sleep(SETTLE)
    times = []
    for _ in range(CALLS):
        answer = server.call("evaluate_script", {"script": script})
        times.append(answer.seconds * 1000)
        time.sleep(0.02)
    # The first after a pause pays for it.
    return times[1:]


def _kind(place: Path) -> str:
    """The kind of file system that holds a folder: that of the longest mount point above it."""
    kinds: dict[str, str] = {}
    for line in Path("/proc/mounts").read_text().splitlines():
        _, point, kind, *_ = line.split()
        if place.is_relative_to(point):
            kinds.setdefault(point, kind)
    return kinds[max(kinds, key=len)]
