"""Hooks of the documentation site (packaging/site/mkdocs.yml): pages from outside docs/, and links that leave the site.

Pages link to each other as files of the repository. A file that is a page of the site becomes a link to that page, any
other file a link to the code host.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from scripts.release import publication

__all__ = ["on_config", "on_files", "on_page_markdown"]

ROOT: Final = publication.REPOSITORY
DOCS: Final = ROOT / "docs"
ADDED: Final = {
    ROOT / "CHANGELOG.md": "changelog.md",
    ROOT / "CONTRIBUTING.md": "contributing.md",
    ROOT / "SECURITY.md": "report.md",
    ROOT / "benchmarks" / "README.md": "benchmarks.md",
    ROOT / "examples" / "README.md": "examples.md",
    ROOT / "examples" / "toolset" / "README.md": "toolset.md",
    ROOT / "src" / "kubescript_masking" / "README.md": "masking.md",
    ROOT / "src" / "kubescript_safety" / "README.md": "safety.md",
    ROOT / "src" / "kubescript_sandbox" / "README.md": "sandbox.md",
} | {page: f"sdk/{page.name}" for page in sorted((ROOT / "sdk_docs").glob("*.md"))}
"""Pages from outside docs/, and where they are on the site."""
CODE_OR_LINK: Final = re.compile(r"^```.*?^```|`[^`\n]*`|\]\((?P<link>[^)\s]+)\)", re.DOTALL | re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Names the code host in the header of each page."""
    config.repo_url = publication.read().repository
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages from outside docs/."""
    for path, uri in ADDED.items():
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrites the links of a page that name files of the repository."""
    assert page.file.abs_src_path, page.file.src_uri
    path = Path(page.file.abs_src_path)
    folder = Path(page.file.src_uri).parent

    def rewrite(found: re.Match[str]) -> str:
        link = found["link"]
        return f"]({_target(link, path, folder)})" if link else found[0]

    return CODE_OR_LINK.sub(rewrite, markdown)


def _target(link: str, path: Path, folder: Path) -> str:
    """Returns where a link of the file `path` leads, seen from the folder of its page."""
    name, mark, anchor = link.partition("#")
    if not name or "://" in name:
        return link
    file = (path.parent / name).resolve()
    if file.is_relative_to(DOCS):
        uri: str | None = str(file.relative_to(DOCS))
    else:
        uri = ADDED.get(file)
    return f"{os.path.relpath(uri, folder)}{mark}{anchor}" if uri else _address(file) + mark + anchor


def _address(file: Path) -> str:
    """Returns the URL of a file or folder of the repository, in this version, at the code host."""
    published = publication.read()
    kind = "tree" if file.is_dir() else "blob"
    return f"{published.repository}/{kind}/v{published.version}/{file.relative_to(ROOT)}"
