"""The documentation site builds without a warning, is whole, and fetches nothing from elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests.kit import paths

CONFIG = paths.ROOT / "packaging" / "site" / "mkdocs.yml"
FETCHED = re.compile(r"url\(\s*[\"']?(?:https?:)?//")


def build(site: Path, config: Path = CONFIG) -> subprocess.CompletedProcess[str]:
    """Builds the site into this folder, as `make site` does."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    given = ["--config-file", str(config), "--site-dir", str(site)]
    return subprocess.run([*command, *given], cwd=paths.ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    return folder


class Links(HTMLParser):
    """What a page fetches when it is opened, where its links lead, and its anchors."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: set[str] = set()
        self.led: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.add(given.get("id", ""))
        self.fetched.add(given.get("src", ""))
        self.fetched.add(given.get("srcset", ""))
        if tag == "a":
            self.led.add(given.get("href", ""))
        elif tag == "link" and given.get("rel") not in {"prev", "next", "canonical"}:
            self.fetched.add(given.get("href", ""))


def test_every_link_of_a_page_leads_to_a_file_and_an_anchor_of_the_site(site: Path) -> None:
    """And what a page loads is a file of the site: no other machine learns what is read, and no network is needed."""
    pages = {page: Links(page.read_text("utf-8")) for page in site.rglob("*.html") if page.name != "404.html"}
    assert len(pages) > 20
    for page, links in pages.items():
        assert [link for link in links.fetched if urlsplit(link).netloc] == []
        for link in (links.fetched | links.led) - {"", "."}:
            parts = urlsplit(link)
            if parts.scheme == "https" and link in links.led:
                continue
            file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            file = file / "index.html" if file.is_dir() else file
            assert file.is_relative_to(site) and file.is_file(), f"{page.relative_to(site)}: {link}"
            assert not parts.fragment or unquote(parts.fragment) in pages[file].anchors, f"{page}: {link}"
    for sheet in site.rglob("*.css"):
        assert not FETCHED.search(sheet.read_text("utf-8")), sheet


def test_the_search_finds_every_page(site: Path) -> None:
    """By an index that is a file of the site."""
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    found = {urlsplit(entry["location"]).path for entry in index["docs"]}
    pages = {page.parent.relative_to(site) for page in site.rglob("index.html")}
    assert {Path(path) for path in found} == pages


@pytest.mark.parametrize(("link", "menu"), [("b.md#c", ["index.md", "b.md"]), ("b.md#b", ["index.md"])])
def test_a_page_that_a_reader_cannot_reach_stops_the_build(tmp_path: Path, link: str, menu: list[str]) -> None:
    """A link to no heading, and a page that is not in the menu; mended, the same pages build."""
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "b.md").write_text("# B\n")
    settings = yaml.unsafe_load(CONFIG.read_text("utf-8")) | {"docs_dir": "docs", "hooks": []}
    config = tmp_path / "mkdocs.yml"

    def built(link: str, menu: list[str]) -> subprocess.CompletedProcess[str]:
        (docs / "index.md").write_text(f"# A\n\n[b]({link})\n")
        config.write_text(yaml.dump({**settings, "nav": menu}))
        return build(tmp_path / "site", config)

    refused = built(link, menu)
    assert refused.returncode and "b.md" in refused.stderr
    assert built("b.md#b", ["index.md", "b.md"]).returncode == 0
