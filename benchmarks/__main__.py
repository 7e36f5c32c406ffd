"""Measures, prints a table, marks what has got worse since it was recorded, and ends with 0 whatever the figures are."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from benchmarks import LONG, NAMES, SHORT, report, results

_HEADINGS = ("", "what", "subject", "baseline", "", "ratio", "goal", "met", "recorded", "")
_SHORT_HEADINGS = ("", "what", "beside", "ratio", "recorded", "")
_IN_CAPITALS = {True: "yes", False: "NO", None: ""}
"""So that it is seen in a column of yes."""


def main() -> None:
    """Run what was asked for, one after the other: two at a time would measure each other."""
    options = _arguments()
    recorded = results.load(options.results)
    before = _load()
    measured: list[results.Result] = []
    notes: list[str] = []
    try:
        for name in options.names:
            _perform(name, options.short, measured, notes)
    except KeyboardInterrupt:
        notes.append("interrupted: what comes after is missing")
    print(f"\n{_table(measured, recorded, options.short)}\n")
    print("\n".join(notes))
    print(f"{results.describe_machine()}, load {before} → {_load()}; WORSE: by more than a tenth than recorded")
    if options.record:
        results.save(options.results, results.merge(recorded, measured))


def _perform(name: str, is_short: bool, measured: list[results.Result], notes: list[str]) -> None:
    """Collect one benchmark's rows; one that cannot run here, or breaks, becomes a note and does not stop the
    others."""
    started = time.monotonic()
    machine, load, date = results.describe_machine(), _load(), results.today()
    try:
        # Imported now: a benchmark may need what another one does without.
        module = importlib.import_module(f"benchmarks.{name}")
        for said in module.run_short() if is_short else module.run():
            if isinstance(said, report.Row):
                measured.append(results.Result(name, said, machine, load, date))
            else:
                notes.append(f"{name}: {said}")
    except report.Unavailable as error:
        notes.append(f"{name}: not measured: {error}")
    except Exception as error:
        traceback.print_exc()
        notes.append(f"{name}: FAILED: {type(error).__name__}: {error}")
    print(f"{name} took {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


def _table(measured: Sequence[results.Result], recorded: dict[results.Key, results.Result], is_short: bool) -> str:
    write, headings = (_write_short, _SHORT_HEADINGS) if is_short else (_write, _HEADINGS)
    lines = [write(each, recorded.get(each.key)) for each in measured]
    return report.align([headings, *lines])


def _write(result: results.Result, recorded: results.Result | None) -> tuple[str, ...]:
    row = result.row
    return (
        result.benchmark,
        row.what,
        report.write_number(row.subject, row.unit),
        report.write_number(row.baseline, row.unit),
        row.baseline_name,
        report.write_ratio(row.ratio),
        report.write_goal(row),
        _IN_CAPITALS[row.met],
        *_compare(result, recorded),
    )


def _write_short(result: results.Result, recorded: results.Result | None) -> tuple[str, ...]:
    """What says something on any machine, however busy it is."""
    row = result.row
    return (result.benchmark, row.what, row.baseline_name, _figure(row), *_compare(result, recorded))


def _compare(result: results.Result, recorded: results.Result | None) -> tuple[str, str]:
    if recorded is None:
        return "", ""
    return _figure(recorded.row), "WORSE" if results.is_worse(result, recorded) else ""


def _figure(row: report.Row) -> str:
    return report.write_number(row.subject, row.unit) if row.ratio is None else report.write_ratio(row.ratio)


def _load() -> float:
    """Processes that wanted a core in the last minute."""
    return round(os.getloadavg()[0], 1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    usual = [name for name in NAMES if name not in LONG]
    about = f"any of {', '.join(NAMES)}; all but {', '.join(sorted(LONG))} without one"
    parser.add_argument("names", nargs="*", metavar="NAME", help=about)
    about = f"ratios of {', '.join(SHORT)} only, two minutes on a quiet machine"
    parser.add_argument("--short", action="store_true", help=about)
    parser.add_argument("--record", action="store_true", help="write what was measured into the file of results")
    about = "the file that rows are compared with, and recorded in (default: benchmarks/results.json)"
    parser.add_argument("--results", type=Path, metavar="FILE", default=results.FILE, help=about)
    options = parser.parse_args()
    possible = SHORT if options.short else NAMES
    unknown = sorted(set(options.names) - set(possible))
    # Before the first one is run: the others would have been for nothing.
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(possible)}")
    options.names = options.names or (SHORT if options.short else usual)
    return options


if __name__ == "__main__":
    main()
