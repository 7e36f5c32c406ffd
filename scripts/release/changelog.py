"""What CHANGELOG.md says of a version."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from scripts.release import publication

__all__ = ["date", "make", "section"]


def make(published: publication.Publication, dist: Path) -> None:
    """Writes notes.md, the text of the release's page. Stops the release of a version that the changelog lacks."""
    text = section(published.version)
    if not text:
        sys.exit(
            f"CHANGELOG.md has no text under `## {published.version} (DATE)`: rename `## Unreleased`, and add a new one"
        )
    (dist / "notes.md").write_text(f"{text}\n", encoding="utf-8")


def section(version: str) -> str:
    """The text under the heading of a version, without the heading; empty when there is none."""
    heading = _heading(version)
    return _text()[heading.end() :].split("\n## ", 1)[0].strip() if heading else ""


def date(version: str) -> str:
    """The date of a version, as 2026-11-27. Raises ValueError when the changelog has no such version."""
    heading = _heading(version)
    if heading is None:
        raise ValueError(f"CHANGELOG.md has no version {version}")
    return heading["date"]


def _heading(version: str) -> re.Match[str] | None:
    return re.search(rf"^## {re.escape(version)} \((?P<date>\d{{4}}-\d\d-\d\d)\)$", _text(), re.MULTILINE)


def _text() -> str:
    return (publication.REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
