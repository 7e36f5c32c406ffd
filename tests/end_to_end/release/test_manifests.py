"""The manifests by which registries and clients find a release."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from mcp.client.stdio import StdioServerParameters

from scripts.release import mcpb, pex, publication
from tests.kit import clients, debian, paths


def read(file: Path) -> Any:
    """A manifest."""
    return json.loads(file.read_text())


def sha256(file: Path) -> str:
    """Its hash."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_registry_finds_its_name_where_it_looks(dist: Path) -> None:
    """server.json, whose schema the build has checked, names what was built and no package of another's, and the README
    has the server's name."""
    published = publication.read()
    server = read(dist / "server.json")
    assert (server["name"], server["version"]) == (published.mcp_name, published.version)
    *pypi, oci, bundle = server["packages"]
    owned = [("pypi", "kubescript")] if published.pypi else []
    assert [(each["registryType"], each["identifier"]) for each in pypi] == owned
    assert oci["identifier"] == f"{published.image}:{published.version}"
    file = mcpb.file(published, dist)
    assert bundle["identifier"] == f"{published.downloads}/{file.name}"
    assert bundle["fileSha256"] == sha256(file)
    assert f"<!-- mcp-name: {published.mcp_name} -->" in (paths.ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", ["gemini-extension.json", "claude-plugin/.claude-plugin/plugin.json"])
def test_the_command_of_a_client_serves(dist: Path, name: str) -> None:
    """With kubescript on the PATH, what the client starts has the one tool."""
    manifest = read(dist / "manifests" / name)
    started = manifest["mcpServers"]["kubescript"]
    path = f"{Path(clients.INSTALLED).parent}:{os.environ['PATH']}"
    server = StdioServerParameters(
        command=started["command"], args=[*started["args"], "--kubeconfig-later"], env={"PATH": path}
    )

    async def ask() -> None:
        async with clients.connected(server) as client:
            tools = await client.list_tools()
            assert [tool.name for tool in tools.tools] == ["evaluate_script"]

    anyio.run(ask)
    assert manifest["version"] == publication.read().version


def test_the_market_place_and_the_catalog_name_what_is_there(dist: Path) -> None:
    """Claude Code finds the plug-in beside the list; Docker's catalog has a commit, an image and a kubeconfig."""
    plugin = dist / "manifests" / "claude-plugin"
    (listed,) = read(plugin / ".claude-plugin" / "marketplace.json")["plugins"]
    found = read(plugin / listed["source"] / ".claude-plugin" / "plugin.json")
    assert listed["name"] == found["name"] == "kubescript"
    server = yaml.safe_load((dist / "manifests" / "docker-catalog" / "server.yaml").read_text())
    published = publication.read()
    assert server["image"] == f"{published.image}:{published.version}"
    assert re.fullmatch("[0-9a-f]{40}", server["source"]["commit"])
    names = set(server["config"]["parameters"]["properties"])
    assert set(re.findall(r"{{kubescript\.(\w+)}}", json.dumps(server))) == names


def test_the_formula_is_ruby_and_names_the_files(dist: Path) -> None:
    """Homebrew itself cannot be had here: Ruby parses the formula, and its hashes are those of the files."""
    formula = dist / "kubescript.rb"
    published = publication.read()
    text = formula.read_text()
    for processor in pex.PROCESSORS:
        file = pex.file(published, dist, processor)
        assert f'url "{published.downloads}/{file.name}", using: :nounzip\n    sha256 "{sha256(file)}"' in text
    root = debian.unpacked("ruby", "ruby")
    environment = {"LD_LIBRARY_PATH": debian.libraries(root)}
    command = [str(root / "usr" / "bin" / "ruby"), "--disable=gems", "-c", str(formula)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "Syntax OK\n", done.stderr
