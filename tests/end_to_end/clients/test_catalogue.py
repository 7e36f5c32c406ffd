"""Pages and prompts as MCP clients meet them, in both protocol eras; and that they are shipped."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import mcp_types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from kubescript.cli import demo
from tests.kit import clients, paths, tokens

ROOT = paths.ROOT
PAGES = {path.stem for path in (ROOT / "sdk_docs").glob("*.md")}
FLAGS = ["--snapshot", str(demo.SNAPSHOT), "--log-level", "error"]
ERAS = ("legacy", "auto")


def talk(mode: str, asked: Callable[[Client], Awaitable[None]], *flags: str) -> None:
    """Do this with a client of a fresh server, and see that the tool works afterwards."""

    async def run() -> None:
        async with clients.connect("memory", [*FLAGS, *flags], mode) as client:
            await asked(client)
            assert clients.text(await clients.evaluate(client, "1 + 1")) == "2"

    anyio.run(run)


@pytest.mark.parametrize("mode", ERAS)
def test_every_page_can_be_listed_and_read(mode: str) -> None:
    """All of sdk_docs, the introduction first, as Markdown; what is read is the file, with links between resources."""

    async def ask(client: Client) -> None:
        found = (await client.list_resources()).resources
        assert {page.name for page in found} == PAGES
        assert found[0].uri == "kubescript://sdk/index"
        for page in (found[0], found[-1]):
            (text,) = (await client.read_resource(page.uri)).contents
            assert isinstance(text, mcp_types.TextResourceContents)
            assert (text.mime_type, text.uri) == ("text/markdown", page.uri)
            comment, _, body = (ROOT / "sdk_docs" / f"{page.name}.md").read_text("utf-8").partition("\n")
            assert re.sub(r"\(kubescript://sdk/(\w+)\)", r"(\1.md)", text.text) == body
            assert comment.startswith("<!--")
            assert page.title
            assert text.text.find(f"# {page.title}") >= 0
        assert (await client.list_resource_templates()).resource_templates == []

    talk(mode, ask)


def test_every_link_of_every_page_can_be_read() -> None:
    """A link in a page names a resource of this server or an address on the web, never a file beside the page."""

    async def ask(client: Client) -> None:
        uris = {page.uri for page in (await client.list_resources()).resources}
        linked = set()
        for uri in uris:
            (text,) = (await client.read_resource(uri)).contents
            assert isinstance(text, mcp_types.TextResourceContents)
            linked |= set(re.findall(r"\]\(([^)\s]+)\)", text.text))
        own = {link for link in linked if not link.startswith("https://")}
        assert "kubescript://sdk/helpers" in own
        assert own <= uris

    talk("auto", ask)


UNKNOWN = (
    "kubescript://sdk/nothing",
    "kubescript://sdk/../pyproject",
    "kubescript://sdk/index.md",
    "file:///etc/passwd",
    "x:",
)


@pytest.mark.parametrize(("mode", "code"), [("legacy", -32002), ("auto", -32602)])
def test_an_unknown_page_is_a_protocol_error(mode: str, code: int) -> None:
    """Each era's own code, with the URI; no way leads to another file."""

    async def ask(client: Client) -> None:
        for uri in UNKNOWN:
            with pytest.raises(MCPError) as caught:
                await client.read_resource(uri)
            assert (caught.value.error.code, caught.value.error.data) == (code, {"uri": uri})

    talk(mode, ask)


@pytest.mark.parametrize("mode", ERAS)
def test_the_prompt_takes_its_arguments(mode: str) -> None:
    """`triage` is listed with a description, and its text names what was given and stays short."""

    async def ask(client: Client) -> None:
        (prompt,) = (await client.list_prompts()).prompts
        assert prompt.name == "triage"
        assert prompt.description
        assert {argument.name: argument.required for argument in prompt.arguments or ()} == {
            "cluster": None,
            "namespace": None,
            "kind": None,
            "name": None,
            "symptom": None,
        }
        given = {"namespace": "shop", "symptom": "502 \x1b[31m{since} \u202enoon"}
        told, bare = await text_of(client, given), await text_of(client, {})
        assert "namespace shop: 502 {since} noon." in told
        assert "the whole cluster." in bare
        named = {"cluster": "east", "namespace": "shop", "kind": "Pod", "name": "web-0"}
        assert "wrong in Pod web-0 of namespace shop of cluster east." in await text_of(client, named)
        assert tokens.count(bare) <= 300

    talk(mode, ask)


async def text_of(client: Client, arguments: dict[str, str]) -> str:
    """What the model would read."""
    (message,) = (await client.get_prompt("triage", arguments)).messages
    assert isinstance(message.content, mcp_types.TextContent)
    assert message.role == "user"
    return message.content.text


WRONG: dict[str, tuple[str, dict[str, str], str]] = {
    "an unknown prompt": ("fix", {}, "Unknown prompt: fix"),
    "an unknown argument": (
        "triage",
        {"namspace": "x"},
        "Unknown argument `namspace`; there is: cluster, namespace, kind, name, symptom",
    ),
    "a novel": ("triage", {"symptom": "x" * 4001}, "longer than 4000"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_prompt_calls_are_the_clients_mistake(case: str) -> None:
    """Invalid params, in words."""
    name, arguments, words = WRONG[case]

    async def ask(client: Client) -> None:
        with pytest.raises(MCPError, match=words) as caught:
            await client.get_prompt(name, arguments)
        assert caught.value.error.code == mcp_types.INVALID_PARAMS

    talk("auto", ask)


@pytest.mark.parametrize("mode", ERAS)
def test_the_capabilities_are_what_is_there(mode: str) -> None:
    """Code mode brings resources, prompts and their completions; without it there is none of them."""

    async def ask(flags: list[str]) -> set[str]:
        async with clients.connect("memory", [*FLAGS, *flags], mode) as client:
            offered = client.server_capabilities.model_dump(exclude_none=True)
            return {name for name in offered if name != "experimental"}

    assert anyio.run(ask, []) == {"tools", "resources", "prompts", "completions", "logging"}
    assert anyio.run(ask, ["--toolsets", ""]) == {"tools", "logging"}


def test_the_wheel_brings_the_pages(tmp_path: Path) -> None:
    """What is installed from a wheel serves every page."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    program = "import json; from kubescript.toolsets import code, pages; print(json.dumps([p.definition.name for p in pages.pages() if p.read()])); print(code.TRIAGE.write({}))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PYTHONPATH": str(site)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(json.loads(done.stdout.splitlines()[0])) == PAGES
