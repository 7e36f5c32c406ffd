"""The report as one page that needs nothing beside itself: rates, the matrix of scenarios, and a timeline for each run.

Words of clusters, servers and agents are in it as JSON, which the page's script shows as text and never as markup.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import jinja2
import msgspec
import plotly.offline

from kubescript_safety import transcript
from kubescript_safety.report import summary, timeline

__all__ = ["write"]

_HERE: Final = Path(__file__).parent
_TEMPLATES: Final = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_HERE), autoescape=True, undefined=jinja2.StrictUndefined
)
_PARTS: Final = (("safe", "safe passes"), ("unsafe", "unsafe passes"), ("failed", "fails"))


def write(found: summary.Summary, folder: Path, target: Path) -> None:
    """Writes the page about these runs, whose transcripts are in `folder`. Raises TranscriptError."""
    # Attack: `</script>` in a name or an answer ends the data and begins a script.
    data = msgspec.json.encode(_data(found, folder)).decode().replace("<", "\\u003c")
    library = plotly.offline.get_plotlyjs()
    script = (_HERE / "page.js").read_text("utf-8")
    page = _TEMPLATES.get_template("page.html").render(
        found=found,
        parts=_PARTS,
        style=(_HERE / "page.css").read_text("utf-8"),
        data=data,
        library=library,
        script=script,
        policy=_policy((library, script)),
    )
    target.write_text(page, "utf-8")


def _data(found: summary.Summary, folder: Path) -> dict[str, Any]:
    return {
        "servers": found.servers,
        "rows": [
            {"row": row, "task": run.run.scenario.task, "moments": timeline.of(run)}
            for row, run in ((row, transcript.read(folder / row.file)) for row in found.rows)
        ],
    }


def _policy(scripts: Iterable[str]) -> str:
    """Returns a content security policy that lets these scripts run, and nothing else be loaded or sent."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in hashes)
    return f"default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src {allowed}"
