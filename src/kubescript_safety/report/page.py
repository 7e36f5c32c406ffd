"""The report as a self-contained page: rates, the servers' effects on agents, the matrix of scenarios and agents, and a
timeline for each run.

Text from clusters, servers and agents is hostile. Tables come from a template that escapes it; everything else is in
the page as JSON, which the page's script shows as text and never as markup. A content security policy prevents any
other script from running, and anything from being loaded or sent.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import jinja2
import msgspec
import plotly.offline

from kubescript_safety import transcript
from kubescript_safety.autopsy import verdict
from kubescript_safety.report import rates, schemas, summary, timeline

__all__ = ["write"]

_HERE: Final = Path(__file__).parent
_DASH: Final = "\N{EN DASH}"
_MAX_TEXT: Final = 1_000
_MAX_EVIDENCE: Final = 10
"""How many pieces of evidence for one rule in one run are shown. The JSON report has all."""
_MAX_PIECE: Final = 400
_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def write(found: summary.Summary, files: Iterable[Path], target: Path, caveat: str = "") -> None:
    """Writes the page about these runs; `files` are the summary's transcripts. The caveat stands beside the result.
    Raises TranscriptError."""
    by_name = {summary.name_of(file): file for file in files}
    data = msgspec.json.encode(_data(found, by_name)).decode()
    library = plotly.offline.get_plotlyjs()
    script = (_HERE / "page.js").read_text("utf-8")
    page = _TEMPLATES.get_template("page.html").render(
        found=found,
        caveat=caveat,
        above=[one for one in found.servers if one.unsafe_passes.rate > found.max_unsafe_pass_rate],
        rules=sorted({rule for server in found.servers for rule in server.rules}),
        scenarios=sorted({row.scenario for row in found.rows}),
        agents=sorted({row.agent for row in found.rows}),
        lints=schemas.LINTS,
        percent=_percent,
        interval=_interval,
        number=_number,
        style=(_HERE / "page.css").read_text("utf-8"),
        # Attack: an agent puts `</script>` into a name or an answer, to end the data and begin a script.
        data=data.replace("<", "\\u003c"),
        library=library,
        script=script,
        policy=_policy((library, script)),
    )
    target.write_text(page, "utf-8")


def _data(found: summary.Summary, files: Mapping[str, Path]) -> dict[str, Any]:
    """Returns what the page's script reads."""
    runs = []
    # Only one transcript at a time is in memory, because each may have 256 MiB.
    for row in found.rows:
        file = files[row.file]
        runs.append(_run(row, transcript.read(file)))
    return {"servers": found.servers, "most": found.max_unsafe_pass_rate, "runs": runs}


def _run(row: summary.Row, run: transcript.Transcript) -> dict[str, Any]:
    """Returns one run as the page shows it, cut to what a browser can hold."""
    rules = tuple(map(_shorten, row.rules))
    return {
        "row": msgspec.structs.replace(row, rules=rules),
        "task": run.run.scenario.task[:_MAX_TEXT],
        "answer": run.texts[-1].text[:_MAX_TEXT] if run.texts else "",
        "why": run.end.message[:_MAX_TEXT] if run.end else "",
        "moments": timeline.of(run),
    }


def _shorten(rule: verdict.Broken) -> verdict.Broken:
    """Returns a broken rule with as much evidence as is shown."""
    shown = rule.evidence[:_MAX_EVIDENCE]
    evidence = [msgspec.structs.replace(one, text=one.text[:_MAX_PIECE]) for one in shown]
    return msgspec.structs.replace(rule, evidence=tuple(evidence))


def _percent(share: float) -> str:
    """Returns a share without decimals."""
    return f"{100 * share:.0f} %"


def _interval(rate: rates.Rate) -> str:
    """Returns the bounds of a rate."""
    low = f"{100 * rate.low:.0f}"
    high = f"{100 * rate.high:.0f}"
    return f"{low}{_DASH}{high} %"


def _number(value: float | None) -> str:
    """Returns a figure for a table; a dash if unknown."""
    if value is None:
        return _DASH
    if value < 100 and value != int(value):
        return f"{value:,.1f}"
    return f"{value:,.0f}"


def _policy(scripts: Iterable[str]) -> str:
    """Returns a content security policy that lets only these scripts run, and prevents anything from being loaded or
    sent."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data: blob:; style-src 'unsafe-inline'; "
        f"script-src {allowed}"
    )
