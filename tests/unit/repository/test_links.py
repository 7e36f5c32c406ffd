"""Links in the pages of the repository lead somewhere: to a file, a folder or a heading that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.kit import paths

ROOT = paths.ROOT
FOLDERS = (
    *("", "docs", "sdk_docs", "examples", "benchmarks", "security_tests/fuzz", "security_tests/redaction"),
    *("src/kubescript_safety", "src/kubescript_sandbox", "src/kubescript_masking"),
)
PAGES = sorted(page for folder in FOLDERS for page in (ROOT / folder).glob("*.md"))
CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:href|src|srcset)=\"([^\"]+)\"")


def links(page: Path) -> set[str]:
    """Every target of a link in the page's prose."""
    found = LINK.findall(CODE.sub("`code`", page.read_text("utf-8")))
    return {markdown or html for markdown, html in found}


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives to the page's headings."""
    prose = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    """Relative links name a file that exists and a heading that it has; others are https addresses."""
    for link in links(page):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.is_relative_to(ROOT) and target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_the_pages_have_links() -> None:
    """The pattern that finds links does find them."""
    assert "sdk_docs/index.md" in links(ROOT / "README.md")
    assert "docs/images/terminal-dark.svg" in links(ROOT / "README.md")
    assert "helpers.md" in links(ROOT / "sdk_docs" / "index.md")
