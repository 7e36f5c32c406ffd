"""The Helm chart."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from scripts.release import archives, publication, templates
from tests.kit import helm

__all__ = ["file", "make"]

_SOURCE: Final = publication.PACKAGING / "chart"
_FILLED: Final = ("Chart.yaml", "values.yaml")


def make(published: publication.Publication, dist: Path) -> None:
    """Writes the chart into `dist`. Raises CalledProcessError when `helm lint --strict` finds a fault."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "kubescript"
        for source in sorted(path for path in _SOURCE.rglob("*") if path.is_file()):
            target = folder / source.relative_to(_SOURCE)
            if source.name in _FILLED:
                templates.fill(published, source, target)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
        subprocess.run([str(helm.program()), "lint", "--strict", str(folder)], check=True)
        # `helm package` puts the time of day into the archive.
        files = {f"kubescript/{path.relative_to(folder)}": path for path in folder.rglob("*") if path.is_file()}
        archives.write(file(published, dist), files)


def file(published: publication.Publication, dist: Path) -> Path:
    """Returns the path of the chart's archive."""
    return dist / f"kubescript-{published.version}.tgz"
