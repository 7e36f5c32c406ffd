"""What the definitions of each toolset cost every conversation, in o200k tokens."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

import anyio
import pytest

from tests.kit import clients, paths, tokens

DOCS: Final = paths.ROOT / "docs" / "toolsets.md"
FIGURES: Final = paths.ROOT / "benchmarks" / "README.md"
PAGES: Final = (paths.ROOT / "README.md", paths.ROOT / "docs" / "comparison.md")
MOST: Final = {"kubectl": 1_150, "helm": 520, "cluster": 150, "gateway": 600}
"""Tokens. kubernetes-mcp-server 0.0.55 takes 2,046 for the six tools that both have; benchmarks/classic_tools.py measures it."""
MOST_OF_SIX: Final = 1_023
SIX: Final = {
    "kubectl_get", "kubectl_logs", "kubectl_get_yaml", "kubectl_top_nodes", "kubectl_top_pods", "kubectl_scale_deployment",
}  # fmt: skip


def counted(toolset: str, *more: str) -> dict[str, int]:
    """The tokens of each tool, as a client gets it."""
    found: dict[str, int] = {}

    async def ask() -> None:
        flags = ("--toolsets", toolset, "--snapshot", str(paths.ONE_NAMESPACE), *more)
        async with clients.connect("memory", flags) as client:
            for tool in (await client.list_tools()).tools:
                wire = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                found[tool.name] = tokens.count(json.dumps(wire, ensure_ascii=False, separators=(",", ":")))

    anyio.run(ask)
    return found


@pytest.mark.parametrize("toolset", MOST)
def test_the_definitions_of_a_toolset_stay_small(toolset: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Growth is a decision, and benchmarks/README.md names the figure of each tool that it compares."""
    found = counted(toolset, "--no-read-only")
    with capsys.disabled():
        print(f"\nthe toolset {toolset}: {sum(found.values())} o200k tokens for {len(found)} tools")
    assert sum(found.values()) <= MOST[toolset]
    for tool, count in re.findall(r"definition: `(\w+)`, `\w+` \| (\d+) tokens", FIGURES.read_text("utf-8")):
        if tool in found:
            assert found[tool] == int(count), tool


def test_the_tools_that_the_peer_has_cost_less_than_half() -> None:
    """Of the six together."""
    assert sum(count for tool, count in counted("kubectl", "--no-read-only").items() if tool in SIX) < MOST_OF_SIX


def test_the_pages_have_the_figure_of_the_one_tool() -> None:
    """README.md and docs/comparison.md say what the definition of `evaluate_script` costs."""
    (count,) = counted("code").values()
    for page in PAGES:
        found = re.search(r"^\| definitions of all tools \| (\d+)", page.read_text("utf-8"), re.MULTILINE)
        assert found and int(found[1]) == count, page


def test_the_page_names_every_tool() -> None:
    """docs/toolsets.md lists each tool of the contract."""
    contract = json.loads(Path(__file__).with_name("contract.json").read_text("utf-8"))
    page = DOCS.read_text("utf-8")
    assert [tool for tool in contract if f"`{tool}`" not in page] == []
