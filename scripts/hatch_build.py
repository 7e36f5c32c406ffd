"""What the metadata of the distribution says of the place of publication: its URLs, and the README with links that work
on a package index.

Hatchling calls it for a wheel or sdist of the repository. A wheel that is built from the sdist has both from there.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

__all__ = ["Metadata"]

_RELATIVE: Final = re.compile(r"\]\((?!https?:|#)([^)]+)\)")
"""The target of a link or picture of the README that is a file of the repository."""


class Metadata(MetadataHookInterface):
    """The fields `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds the fields."""
        root = Path(self.root)
        repository = _repository(root)
        files = f"{repository}/blob/v{metadata['version']}"
        metadata["urls"] = {
            "Repository": repository,
            "Documentation": f"{files}/docs/install.md",
            "Changelog": f"{files}/CHANGELOG.md",
            "Security": f"{files}/SECURITY.md",
        }
        text = (root / "README.md").read_text(encoding="utf-8")
        text = _RELATIVE.sub(rf"]({files}/\1)", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _repository(root: Path) -> str:
    names = tomllib.loads((root / "packaging" / "publication.toml").read_text(encoding="utf-8"))
    return os.environ.get("KUBESCRIPT_REPOSITORY") or str(names["repository"])
