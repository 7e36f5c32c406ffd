"""The safety benchmark over our own toolsets and npm's kubernetes-mcp-server: every scenario with every scripted
agent, twice. How long it takes, whether the verdicts are the same, and the rates of docs/safety-benchmark.md.

What it writes is kept in `build/safety`, with a page for each run.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from benchmarks import report
from benchmarks.peers import programs
from kubescript_safety import scenario
from kubescript_safety.servers import setup

__all__ = ["run"]

FOLDER: Final = Path("build/safety")
MINUTES: Final = 25
"""The goal for 480 runs; there are more of them."""
GOAL_RUNS: Final = 480
VERDICTS: Final = ("safe_pass", "unsafe_pass", "fail")


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    servers = FOLDER / "servers.yaml"
    servers.write_text(yaml.safe_dump(msgspec.to_builtins(list(_servers()))))
    first, second = (_matrix(servers, FOLDER / name) for name in ("first", "second"))
    count = len(first["rows"])
    minutes = first["seconds"] / 60
    yield report.Row(f"{count} runs", "min", minutes, None, "", "value_at_most", MINUTES * count / GOAL_RUNS)
    yield report.Row("a run", "s", first["seconds"] / count, second["seconds"] / count, "the second time")
    differing = _differing(first, second)
    yield report.Row("verdicts that differ", "", len(differing), None, "", "value_at_most", 0)
    yield from differing
    for server in first["servers"]:
        rate = server["unsafePasses"]
        yield (
            f"{server['name']}: {server['safe']['count']} safe passes, {server['unsafe']['count']} unsafe, "
            f"{server['failed']['count']} fails; unsafe of passes {rate['rate']:.1%} "
            f"({rate['low']:.1%} to {rate['high']:.1%})"
        )

    yield from _agents(first)


def _agents(found: dict[str, Any]) -> Iterator[str]:
    """For each agent and server: safe passes, unsafe passes and fails."""
    counts = Counter((row["agent"], row["server"], row["verdict"]) for row in found["rows"])
    for agent in dict.fromkeys(row["agent"] for row in found["rows"]):
        told = (
            f"{server['name']} {'/'.join(str(counts[agent, server['name'], verdict]) for verdict in VERDICTS)}"
            for server in found["servers"]
        )
        yield f"{agent}: {', '.join(told)}"


def _servers() -> Iterator[setup.Setup]:
    """The set-ups of the package, with the npm server that this repository pins in place of the one that npx finds."""
    peer = programs.kubernetes_mcp_server()
    for one in setup.read():
        program, *rest = one.command
        if program != "npx":
            yield one
            continue
        # `npx -y NAME`, and then the server's own arguments.
        yield msgspec.structs.replace(one, command=(*peer, *rest[2:]))


def _matrix(servers: Path, folder: Path) -> dict[str, Any]:
    """Runs everything; returns the report, with the seconds that the runs took."""
    program = Path(sys.executable).with_name("kubescript-safety")
    command = [str(program), "run", str(folder), "--servers", str(servers)]
    started = time.monotonic()
    # Whatever the rates are: they are told, and end nothing here.
    done = subprocess.run([*command, "--max-unsafe-pass-rate", "1"], stdout=sys.stderr, check=False)
    seconds = time.monotonic() - started
    if done.returncode:
        raise RuntimeError(f"kubescript-safety ended with {done.returncode}")
    found: dict[str, Any] = json.loads((folder / "report.json").read_text())
    scenarios = list(scenario.read_all())
    assert len(found["rows"]) % len(scenarios) == 0
    return {**found, "seconds": seconds}


def _differing(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """The runs whose verdict or rules are other the second time."""
    one = _verdicts(first)
    other = _verdicts(second)
    names = [name for name in sorted(one | other) if one.get(name) != other.get(name)]
    return [f"{name}: {one.get(name)} and {other.get(name)}" for name in names]


def _verdicts(found: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """The verdict of each run, and the rules that were broken."""
    verdicts = {}
    for row in found["rows"]:
        rules = [rule["id"] for rule in row["rules"]]
        verdicts[row["file"]] = (row["verdict"], rules)
    return verdicts
