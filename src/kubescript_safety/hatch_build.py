"""What the metadata of the distribution says of kubescript: its version, and where it is published.

Hatchling calls it for a wheel or sdist of the repository. A wheel that is built from the sdist has all from there.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

__all__ = ["Metadata"]


class Metadata(MetadataHookInterface):
    """The fields `dependencies`, `readme` and `urls`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds the fields. kubescript.kube and the rules about changes promise nothing to other versions."""
        root = Path(self.root)
        server = f"kubescript=={metadata['version']}"
        metadata["dependencies"] = [server, *self.config["dependencies"]]
        repository = _repository(root.parent.parent)
        metadata["urls"] = {"Repository": repository}
        text = (root / "README.md").read_text(encoding="utf-8")
        text = text.replace("](../../", f"]({repository}/blob/v{metadata['version']}/")
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def _repository(root: Path) -> str:
    names = tomllib.loads((root / "packaging" / "publication.toml").read_text(encoding="utf-8"))
    return os.environ.get("KUBESCRIPT_REPOSITORY") or str(names["repository"])
