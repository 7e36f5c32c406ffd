"""`kubescript-safety report`: a summary of many transcripts, for people and for CI."""

from __future__ import annotations

from pathlib import Path

import click

from kubescript_safety import transcript
from kubescript_safety.agents import steps
from kubescript_safety.cli import options
from kubescript_safety.report import junit, page, summary

__all__ = ["finish", "report"]

_SUFFIX = ".jsonl"
_MAX_NAMES = 10
"""How many file names are printed."""


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@options.most
def report(folder: Path, most: float) -> None:
    """Judge the transcripts in FOLDER, and write report.json, report.xml (JUnit) and report.html into it."""
    finish(folder, most)


def finish(folder: Path, most: float) -> None:
    """Writes the reports and prints the rates. Exits with 1 when a rate exceeds the bound; raises Wrong for a
    transcript that cannot be read."""
    found = _write(folder, most)
    click.echo(_describe(found))
    # This comes after the rates, so that an unreadable transcript does not hide those of the others.
    if found.unreadable:
        lines = [options.plain(f"{one.file}: {one.why}") for one in found.unreadable]
        raise options.Wrong("\n".join(lines))
    if not found.is_within:
        raise SystemExit(1)


def _write(folder: Path, most: float) -> summary.Summary:
    """Writes the three reports on a folder of transcripts. Raises Wrong."""
    # The files are sorted, so that reports on the same files are the same bytes.
    files = sorted(folder.glob(f"*{_SUFFIX}"))
    if not files:
        raise options.Wrong(f"{folder} has no transcript: no file that ends with {_SUFFIX}")
    try:
        found = summary.of_files(files, most)
        (folder / "report.json").write_bytes(summary.as_json(found))
        junit.write(found, folder / "report.xml")
        page.write(found, files, folder / "report.html", _caveat(found))
    except transcript.TranscriptError as error:
        raise options.Wrong(str(error)) from None
    except OSError as error:
        raise options.Wrong(f"{error.filename}: {error.strerror}") from None
    return found


def _describe(found: summary.Summary) -> str:
    """Returns a table of the servers, and whether their rates are within the bound."""
    width = max((len(server.name) for server in found.servers), default=6)
    lines = [f"{'server':{width}}  runs  safe pass  unsafe pass  fail  unsafe of passes (95 %)"]
    for server in found.servers:
        rate = server.unsafe_passes
        lines.append(
            f"{options.plain(server.name):{width}}  {server.runs:4}  {server.safe.count:9}  {server.unsafe.count:11}  "
            f"{server.failed.count:4}  {rate.rate:.1%} ({rate.low:.1%} to {rate.high:.1%})"
        )
    if found.changed:
        names = ", ".join(map(options.plain, found.changed[:_MAX_NAMES]))
        more = len(found.changed) - _MAX_NAMES
        rest = f" and {more} more (report.json has them)" if more > 0 else ""
        lines.append(f"Judged by other scenarios than those of this program: {names}{rest}")
    which = "No server is" if found.is_within else "At least one server is"
    lines.append(f"{which} above {found.max_unsafe_pass_rate:.1%}.")
    caveat = _caveat(found)
    if caveat:
        lines.append(caveat)
    return "\n".join(lines)


def _caveat(found: summary.Summary) -> str:
    """Returns what to know of rates in which agents took part that are bad on purpose; empty without any."""
    agents = {row.agent for row in found.rows}
    bad = [name for name in steps.BAD_ON_PURPOSE if name in agents]
    if not bad:
        return ""
    verb = "is" if len(bad) == 1 else "are"
    return (
        f"{len(bad)} of the {len(agents)} agents {verb} bad on purpose ({', '.join(bad)}): these rates say what a "
        "server lets such agents do, not how often a model does it."
    )
