"""`python -m benchmarks [b1 … b21, audit, fleet, observed, replicas] [--json OUT]`: measures, prints a table, and ends with 0
whatever the figures are."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import sys
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import report

MODULES = {
    "b1": "pods_5000",
    "b2": "empty_script",
    "b3": "small_lists",
    "b4": "start_and_memory",
    "b5": "conversation_tokens",
    "b6": "pods_50000",
    "b7": "sixteen_scripts",
    "b8": "masking",
    "b9": "guards",
    "b10": "far_cluster",
    "b11": "first_second",
    "b12": "classic_tools",
    "b13": "planned_writes",
    "b14": "many_callers",
    "b15": "command_lines",
    "b16": "safety_runs",
    "b17": "plan_sizes",
    "b18": "peer_times",
    "b19": "leaks",
    "b20": "read_only",
    "b21": "series_10000",
    "audit": "audit",
    "replicas": "replicas",
    "fleet": "fleet",
    "observed": "observed.asking",
}
"""Each benchmark with the file that says what it measures."""
LONG = frozenset({"b6", "b14", "b16", "fleet", "observed"})
"""Only when they are named: loading 50,000 pods takes minutes, 6,000 scripts too, the safety benchmark most of an hour, and
Prometheus and Loki are built first."""
PACKAGES = ("kubescript", "mcp", "kubernetes", "msgspec", "urllib3")


def main() -> None:
    """Run what was asked for, one after the other: two at a time would measure each other."""
    options = _arguments()
    rows: list[report.Row] = []
    notes: list[str] = []
    machine = _machine()
    # Those that take long are run only where they are named.
    usual = [name for name in MODULES if name not in LONG]
    for name in options.names or usual:
        _perform(name, rows, notes)
    print(f"\n{report.table(rows)}\n")
    print("\n".join(notes))
    print(f"{machine['processor']}, {machine['cores']} cores, load {machine['load_before']} → {_load()}")
    if options.json:
        found = report.as_json(rows, notes, machine)
        text = json.dumps(found, indent=2, ensure_ascii=False)
        options.json.write_text(f"{text}\n")


def _perform(name: str, rows: list[report.Row], notes: list[str]) -> None:
    """Collect one benchmark's rows; one that cannot run here, or breaks, becomes a note and does not stop the
    others."""
    started = time.monotonic()
    try:
        # Imported now: a benchmark may need what another one does without.
        module = importlib.import_module(f"benchmarks.{MODULES[name]}")
        for said in module.run():
            if isinstance(said, report.Row):
                rows.append(said)
            else:
                notes.append(said)
    except report.Unavailable as error:
        notes.append(f"{name}: not measured: {error}")
    except Exception as error:
        traceback.print_exc()
        notes.append(f"{name}: FAILED: {type(error).__name__}: {error}")
    print(f"{name} took {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def _machine() -> dict[str, Any]:
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "load_before": _load(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def _load() -> float:
    """Processes that wanted a core in the last minute."""
    return round(os.getloadavg()[0], 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"any of {', '.join(MODULES)}; all but {', '.join(sorted(LONG))} without one",
    )
    parser.add_argument("--json", type=Path, metavar="OUT", help="write the results to this file, too")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - MODULES.keys())
    # Before the first one is run: the others would have been for nothing.
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(MODULES)}")
    return options


if __name__ == "__main__":
    main()
