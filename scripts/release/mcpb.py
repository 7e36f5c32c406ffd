"""The bundle for Claude Desktop: a manifest, and the files of both processors."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import Final

from scripts.release import pex, publication, templates
from tests.kit import npm

__all__ = ["TOOL", "file", "make", "run_tool"]

TOOL: Final = publication.PACKAGING / "tools" / "mcpb"
"""The folder that pins the npm package which knows bundles."""
_SOURCE: Final = publication.PACKAGING / "mcpb"
_PROGRAM: Final = 0o100755
_TEXT: Final = 0o100644


def make(published: publication.Publication, dist: Path) -> None:
    """Builds the bundle into `dist` from the files that are there. Raises CalledProcessError when the manifest is not
    valid."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = folder / "server"
        server.mkdir()
        templates.fill(published, _SOURCE / "manifest.json", folder / "manifest.json")
        run_tool("validate", str(folder / "manifest.json"))
        shutil.copy(publication.REPOSITORY / "LICENSE", folder)
        shutil.copy(_SOURCE / "server" / "kubescript", server)
        for processor in pex.PROCESSORS:
            built = pex.file(published, dist, processor)
            (server / f"kubescript-linux-{processor}.pex").symlink_to(built)
        _pack(folder, file(published, dist))


def file(published: publication.Publication, dist: Path) -> Path:
    """Returns the path of the bundle."""
    return dist / f"kubescript-{published.version}.mcpb"


def run_tool(*arguments: str) -> None:
    """Runs `mcpb`. Raises Missing or CalledProcessError."""
    program = npm.modules(TOOL) / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"
    subprocess.run([str(npm.node()), str(program), *arguments], check=True)


def _pack(folder: Path, bundle: Path) -> None:
    """Writes the archive, always with the same bytes: `mcpb pack` puts the time of day into it."""
    with zipfile.ZipFile(bundle, "w") as archive:
        for source in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(str(source.relative_to(folder)))
            entry.external_attr = (_PROGRAM if source.parent.name == "server" else _TEXT) << 16
            # What is in a .pex file is compressed already.
            entry.compress_type = zipfile.ZIP_STORED if source.suffix == ".pex" else zipfile.ZIP_DEFLATED
            archive.writestr(entry, source.read_bytes())
