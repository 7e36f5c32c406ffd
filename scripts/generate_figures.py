"""Writes the two tables of benchmarks/README.md: what each benchmark measures, from its module, and the figures, from
benchmarks/results.json. Run at development time, after `python -m benchmarks --record`.

python scripts/generate_figures.py [--check]
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks import LONG, NAMES, SHORT, report, results

FOLDER: Final = results.FILE.parent
PAGE: Final = FOLDER / "README.md"
BEGIN: Final = "<!-- {}: written by scripts/generate_figures.py; edit that, not this -->\n"
END: Final = "<!-- end of {} -->\n"


def write(page: str) -> str:
    """Returns the page with both tables anew."""
    tables = {"benchmarks": list_benchmarks(), "figures": list_figures(results.load(results.FILE).values())}
    for name, lines in tables.items():
        before, rest = page.split(BEGIN.format(name))
        _, after = rest.split(END.format(name))
        table = "".join(f"{line}\n" for line in lines)
        page = before + BEGIN.format(name) + table + END.format(name) + after
    return page


def list_benchmarks() -> Iterator[str]:
    """Yields a line for each benchmark, with the first sentence of its module."""
    yield "| Benchmark | What it measures | |"
    yield "|---|---|---|"
    for name in NAMES:
        text = ast.get_docstring(ast.parse((FOLDER / f"{name}.py").read_text("utf-8"))) or ""
        sentence = re.split(r"\.(?:\s|$)", text)[0].replace("\n", " ")
        when = "only when it is named" if name in LONG else "also in the short form" if name in SHORT else ""
        yield f"| `{name}` | {sentence} | {when} |"


def list_figures(found: Iterable[results.Result]) -> Iterator[str]:
    """Yields the tables of results, one for each machine."""
    by_machine: dict[str, list[results.Result]] = {}
    for result in found:
        by_machine.setdefault(result.machine, []).append(result)
    for machine, own in by_machine.items():
        yield f"On {machine}:"
        yield ""
        yield "| Benchmark | What | Ours | Beside | | Ratio | Goal | Measured |"
        yield "|---|---|---|---|---|---|---|---|"
        yield from map(_line, own)
        yield ""


def _line(result: results.Result) -> str:
    row = result.row
    cells = (
        f"`{result.benchmark}`",
        row.what,
        report.write_number(row.subject, row.unit),
        row.baseline_name,
        report.write_number(row.baseline, row.unit),
        report.write_ratio(row.ratio),
        report.write_goal(row) + (", **not met**" if row.met is False else ""),
        f"{result.date}, load {result.load:g}",
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def main() -> int:
    """Returns the exit status: 1 if --check finds the page stale."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail if the page is stale, write nothing")
    before = PAGE.read_text("utf-8")
    text = write(before)
    if parser.parse_args().check:
        if text != before:
            print(f"stale: {PAGE.name}; run `make generate`", file=sys.stderr)
        return int(text != before)
    PAGE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
