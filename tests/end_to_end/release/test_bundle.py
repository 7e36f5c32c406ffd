"""The bundle for Claude Desktop, unpacked and read by the npm package that Claude Desktop uses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.stdio import StdioServerParameters

from scripts.release import mcpb, publication
from tests.kit import clients, npm

_RESOLVE = """
const [platform, module, folder, settings] = process.argv.slice(1);
Object.defineProperty(process, "platform", {value: platform});
const {getMcpConfigForManifest} = await import(module);
const {readFileSync} = await import("node:fs");
const manifest = JSON.parse(readFileSync(`${folder}/manifest.json`, "utf8"));
const resolved = await getMcpConfigForManifest({
    manifest, extensionPath: folder, systemDirs: {HOME: "/home/me"}, userConfig: JSON.parse(settings), pathSeparator: "/"});
console.log(JSON.stringify(resolved));
"""


@pytest.fixture(scope="module")
def unpacked(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle's files."""
    folder = tmp_path_factory.mktemp("bundle") / "kubescript"
    mcpb.run_tool("unpack", str(mcpb.file(publication.read(), dist)), str(folder))
    return folder


def resolved(folder: Path, platform: str, **settings: object) -> dict[str, Any]:
    """The command that Claude Desktop starts on a platform, with what a person has chosen in its form."""
    module = npm.modules(mcpb.TOOL) / "@anthropic-ai" / "mcpb" / "dist" / "shared" / "config.js"
    arguments = [platform, str(module), str(folder), json.dumps(settings)]
    command = [str(npm.node()), "--input-type=module", "--eval", _RESOLVE, "--", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def test_the_bundle_answers_on_linux(unpacked: Path, kubeconfig: Path, run_folder: Path) -> None:
    """The command of the manifest serves one tool, and a script reads the chosen cluster and may not write to it. Empty
    fields mean defaults."""
    found = resolved(unpacked, "linux", kubeconfig=str(kubeconfig))
    environment = {**found["env"], "PEX_ROOT": str(run_folder / "pex"), "XDG_CACHE_HOME": clients.CACHE}
    server = StdioServerParameters(command=found["command"], args=found["args"], env=environment)

    async def ask() -> None:
        async with clients.connected(server) as client:
            tools = await client.list_tools()
            assert [tool.name for tool in tools.tools] == ["evaluate_script"]
            answer = await clients.evaluate(client, "len(k8s.coreV1().list_node()) > 0")
            assert clients.text(answer) == "true"
            refused = await clients.evaluate(client, "k8s.coreV1().delete_node('nobody')")
            assert refused.is_error and "read-only" in clients.whole(refused)

    anyio.run(ask)


def test_plans_are_what_the_form_allows_on_linux(unpacked: Path) -> None:
    """With the box off, writes wait for a yes; the context is the one that was typed."""
    found = resolved(unpacked, "linux", kubeconfig="/k", context="dev", read_only=False)
    assert found["env"] == {"KUBESCRIPT_CONTEXT": "dev", "KUBESCRIPT_READ_ONLY": "false"}


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_start_the_image(unpacked: Path, platform: str) -> None:
    """Docker runs the image of this release, with the kubeconfig and nothing else of the machine, and only reads."""
    published = publication.read()
    found = resolved(unpacked, platform, kubeconfig="/home/me/config", context="dev", read_only=False)
    assert found["command"] == "docker" and "${" not in json.dumps(found)
    options, arguments = found["args"], found["args"]
    image = options.index(f"{published.image}:{published.version}")
    assert arguments[image + 1 :] == ["--toolsets", "code", "--read-only"]
    mounts = [option for option in options[:image] if "source=" in option]
    assert mounts == ["type=bind,source=/home/me/config,target=/home/kubescript/.kube/config,readonly"]
    assert "KUBESCRIPT_CONTEXT=dev" in options[:image]
