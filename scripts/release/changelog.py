"""What CHANGELOG.md says of a version."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from scripts.release import publication

__all__ = ["make", "section"]


def make(published: publication.Publication, dist: Path) -> None:
    """Stops the release of a version that the changelog says nothing of. Writes nothing."""
    if not section(published.version):
        sys.exit(
            f"CHANGELOG.md has no text under `## {published.version} (DATE)`: rename `## Unreleased`, and add a new one"
        )


def section(version: str) -> str:
    """The text under the heading of a version, without the heading; empty when there is none."""
    text = (publication.REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$"
    _, *after = re.split(heading, text, maxsplit=1, flags=re.MULTILINE)
    return after[0].split("\n## ", 1)[0].strip() if after else ""
