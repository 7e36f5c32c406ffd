"""docs/comparison.md names what its figures were measured with."""

from __future__ import annotations

import pytest

from benchmarks.peers import setups
from tests.kit import paths


@pytest.mark.parametrize("peer", setups.PEERS, ids=lambda peer: peer.name)
def test_the_page_names_the_version_that_is_pinned(peer: setups.Peer) -> None:
    """Of each peer, in the row that links to it."""
    page = (paths.ROOT / "docs" / "comparison.md").read_text("utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith(f"| [{peer.name}]"))
    assert f" | {peer.version} | " in row
