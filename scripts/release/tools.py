"""Programs that a release is made and checked with, each built once from the Go module in packaging/tools/NAME.

go.sum there contains the hash of every source that is compiled; no program is downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from scripts.release import publication
from tests.kit import gomodule

__all__ = ["PACKAGES", "module", "program"]

PACKAGES: Final = {
    "actionlint": "github.com/rhysd/actionlint/cmd/actionlint",
    "cosign": "github.com/sigstore/cosign/v3/cmd/cosign",
    "crane": "github.com/google/go-containerregistry/cmd/crane",
    "krew": "sigs.k8s.io/krew/cmd/krew",
    "mcp-publisher": "github.com/modelcontextprotocol/registry/cmd/publisher",
}
"""Program -> its package. `go get -tool PACKAGE@VERSION` in its folder pins another version."""


def program(name: str) -> Path:
    """Returns a program; the first call on a machine builds it, which takes minutes for cosign, seconds for others."""
    return gomodule.program(publication.PACKAGING / "tools" / name, PACKAGES[name])


def module(name: str, path: str) -> Path:
    """Returns the folder with the sources of a Go module that a program is built from."""
    return gomodule.sources(publication.PACKAGING / "tools" / name, path)
