"""The Helm chart: that of charts/kubescript, with the image's name."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from scripts.release import archives, publication
from tests.kit import helm

__all__ = ["SOURCE", "file", "make"]

SOURCE: Final = publication.REPOSITORY / "charts" / "kubescript"
_EXAMPLE: Final = "repository: registry.example.com/kubescript/kubescript\n"


def make(published: publication.Publication, dist: Path) -> None:
    """Writes the chart into `dist`. Raises CalledProcessError when `helm lint --strict` finds a fault."""
    with tempfile.TemporaryDirectory() as name:
        values = Path(name) / "values.yaml"
        before, _, after = (SOURCE / values.name).read_text().partition(_EXAMPLE)
        values.write_text(f'{before}repository: "{published.image}"\n{after}')
        subprocess.run([str(helm.program()), "lint", "--strict", "--values", str(values), str(SOURCE)], check=True)
        # `helm package` puts the time of day into the archive.
        files = {f"kubescript/{path.relative_to(SOURCE)}": path for path in SOURCE.rglob("*") if path.is_file()}
        archives.write(file(published, dist), files | {f"kubescript/{values.name}": values})


def file(published: publication.Publication, dist: Path) -> Path:
    """Returns the path of the chart's archive."""
    return dist / f"kubescript-{published.version}.tgz"
