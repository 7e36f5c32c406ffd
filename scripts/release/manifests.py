"""Manifests by which registries and clients find a release."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Final

import jsonschema

from scripts.release import mcpb, publication, templates, tools

__all__ = ["make"]

_TREE: Final = publication.PACKAGING / "manifests"
_SERVER: Final = "server.json"
_REGISTRY: Final = "github.com/modelcontextprotocol/registry"


def make(published: publication.Publication, dist: Path) -> None:
    """Fills the templates into `dist/manifests` and `dist/server.json`; the bundle is there.

    Raises ValidationError when the MCP registry would refuse server.json.
    """
    commit = _commit()
    for source in sorted(path for path in _TREE.rglob("*") if path.is_file()):
        target = dist / "manifests" / source.relative_to(_TREE)
        templates.fill(published, source, target, commit=commit)
    written = dist / _SERVER
    bundle = mcpb.file(published, dist)
    templates.fill(published, publication.PACKAGING / _SERVER, written, bundle_sha256=templates.sha256(bundle))
    document = json.loads(written.read_text())
    if not published.pypi:
        # The name is free: clients of the MCP registry would start the package of a stranger who takes it.
        document["packages"] = [each for each in document["packages"] if each["registryType"] != "pypi"]
        written.write_text(json.dumps(document, indent=2) + "\n")
    jsonschema.validate(document, _schema(document), format_checker=jsonschema.FormatChecker())


def _commit() -> str:
    """Returns the commit that is built: the Docker catalog names it."""
    command = ["git", "-C", str(publication.REPOSITORY), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _schema(document: dict[str, Any]) -> Any:
    """Returns the schema that server.json names, as the registry's own sources have it."""
    name = document["$schema"].removesuffix("/server.schema.json").rpartition("/")[2]
    folder = tools.module("mcp-publisher", _REGISTRY)
    return json.loads((folder / "internal" / "validators" / "schemas" / f"{name}.json").read_text())
