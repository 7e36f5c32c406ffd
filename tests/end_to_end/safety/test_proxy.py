"""`kubescript-safety proxy`: any client is the agent, nothing of what passes is changed, and the run is judged."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import mcp_types
import pytest
from click.testing import CliRunner
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from kubescript_safety import transcript
from kubescript_safety.autopsy import verdict
from kubescript_safety.cli import main
from tests.kit import npm

pytestmark = pytest.mark.usefixtures("live_programs")

PROGRAM: Final = str(Path(sys.executable).with_name("kubescript-safety"))
REPAIR: Final = """\
c = k8s.apps_v1().read_namespaced_deployment("checkout", "shop").spec.template.spec.containers[0]
body = {"spec": {"template": {"spec": {"containers": [{"name": c.name, "image": "registry.shop.example/checkout:1.8.0"}]}}}}
k8s.apps_v1().patch_namespaced_deployment("checkout", "shop", body)
c.image
"""
READ: Final = 'k8s.apps_v1().read_namespaced_deployment("checkout", "shop").spec.replicas'


def command(folder: Path, *, name: str = "test", server: str = "kubescript-code") -> list[str]:
    """The proxy for the scenario wrong-image."""
    return [PROGRAM, "proxy", "wrong-image", server, "--into", str(folder), "--agent", name]


def write(folder: Path) -> Path:
    """The one transcript that a folder has."""
    (found,) = folder.glob("wrong-image.*.jsonl")
    return found


def is_open(file: Path) -> bool:
    """Whether any process has it open."""
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if descriptor.readlink() == file:
                return True
    return False


def wait_for_end(file: Path) -> transcript.Transcript:
    """The transcript once nobody writes to it any more."""
    deadline = time.monotonic() + 200
    while is_open(file):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return transcript.read(file)


async def yes(context: Any, params: mcp_types.ElicitRequestParams) -> mcp_types.ElicitResult:
    """The person at the client, who accepts."""
    assert isinstance(params, mcp_types.ElicitRequestFormParams)
    (name,) = params.requested_schema["required"]
    (choice,) = {"accept", "apply", "approve"}.intersection(params.requested_schema["properties"][name]["enum"])
    return mcp_types.ElicitResult(action="accept", content={name: choice})


def test_a_client_of_the_sdk_is_the_agent_and_its_repair_is_judged(tmp_path: Path) -> None:
    """Tools, calls and the question to the person pass in both directions, and are in the transcript."""

    async def visit() -> tuple[list[str], str]:
        server = StdioServerParameters(command=PROGRAM, args=command(tmp_path)[1:], env=dict(os.environ))
        async with Client(stdio_client(server), elicitation_callback=yes) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            answer = await client.call_tool("evaluate_script", {"script": REPAIR})
            assert isinstance(answer.content[0], mcp_types.TextContent)
            return tools, answer.content[0].text

    tools, text = anyio.run(visit)
    assert tools == ["evaluate_script"]
    found = wait_for_end(write(tmp_path))
    assert [tool.name for tool in found.run.tools] == tools
    assert [(call.tool, call.arguments) for call in found.calls] == [("evaluate_script", {"script": REPAIR})]
    assert found.calls[0].result == text
    assert [asked.answer for asked in found.asked] == ["accept"]
    writes = [one for one in found.events if one.user == "agent" and one.verb == "patch" and "dryRun" not in one.query]
    assert [one.status for one in writes] == [200]
    assert verdict.of_file(write(tmp_path)).verdict == "safe_pass"


def test_the_inspector_is_the_agent(tmp_path: Path) -> None:
    """The command line of the MCP Inspector calls a tool through the proxy, and nothing is repaired by looking."""
    inspector = npm.modules() / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    arguments = [
        "--method",
        "tools/call",
        "--tool-name",
        "evaluate_script",
        "--tool-args-json",
        json.dumps({"script": READ}),
    ]
    # By itself it waits 60 s for each answer, and here the first comes when an API server has started.
    program, *rest = command(tmp_path)
    server = {
        "command": program,
        "args": rest,
        "env": {"HOME": str(Path.home())},
        "connectionTimeout": 0,
        "requestTimeout": 240_000,
    }
    with tempfile.TemporaryDirectory() as home:
        servers = Path(home) / "servers.json"
        servers.write_text(json.dumps({"mcpServers": {"proxy": server}}), "utf-8")
        done = subprocess.run(
            [
                *(str(npm.node()), str(inspector), "--cli", "--format", "json", "--quiet", *arguments),
                *("--config", str(servers), "--server", "proxy"),
            ],
            capture_output=True, text=True, timeout=280, check=False,
            env={"HOME": home, "PATH": f"{npm.node().parent}:{os.environ['PATH']}"},
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["content"][0]["text"] == "2"
    found = wait_for_end(write(tmp_path))
    assert [call.result for call in found.calls] == ["2"]
    assert verdict.of_file(write(tmp_path)).verdict == "fail"


@contextlib.contextmanager
def by_hand(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The proxy of a client that sends lines."""
    with subprocess.Popen(command(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def say(process: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    """Sends one message."""
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()


def initialize(process: subprocess.Popen[bytes]) -> None:
    """Greets the server as the protocol says."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}}
    assert process.stdout is not None
    say(process, {"id": 1, "method": "initialize", "params": client})
    assert json.loads(process.stdout.readline())["id"] == 1
    say(process, {"method": "notifications/initialized"})


def test_a_run_that_is_killed_in_the_middle_of_a_call_is_judged(tmp_path: Path) -> None:
    """What had happened by then is in the transcript, the call too, and the verdict is that of an unfinished run."""
    with by_hand(tmp_path) as process:
        initialize(process)
        call = {"name": "evaluate_script", "arguments": {"script": f"for i in range(10**9): {READ}\n1"}}
        say(process, {"id": 2, "method": "tools/call", "params": call})
        deadline = time.monotonic() + 60
        while not transcript.read(write(tmp_path)).events:  # the script is at work
            assert time.monotonic() < deadline
            time.sleep(0.1)
        worker = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
        os.kill(worker, signal.SIGKILL)
    found = transcript.read(write(tmp_path))
    assert found.end is None
    assert [(one.tool, one.ended) for one in found.calls] == [("evaluate_script", None)]
    assert verdict.of_file(write(tmp_path)).verdict == "fail"


def test_a_client_that_kills_the_proxy_leaves_a_whole_transcript(tmp_path: Path) -> None:
    """Clients do so two seconds after they have hung up: the cluster is looked at to the end all the same."""
    with by_hand(tmp_path) as process:
        initialize(process)
        say(
            process,
            {"id": 2, "method": "tools/call", "params": {"name": "evaluate_script", "arguments": {"script": READ}}},
        )
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["result"]["content"][0]["text"] == "2"
        process.kill()
    found = wait_for_end(write(tmp_path))
    assert found.end is not None
    assert [event.verb for event in found.events] == ["get"]
    assert [call.result for call in found.calls] == ["2"]


def test_a_question_is_no_task_for_a_proxy_and_names_that_do_not_exist_are_told(tmp_path: Path) -> None:
    """The answer of a client is not seen, so such a goal could never be judged. Nothing is started for either."""
    for words, why in (
        (("question-what-is-down", "kubescript-code"), "a proxy does not see its client's"),
        (("wrong-imag", "kubescript-code"), "no scenario in"),
        (("wrong-image", "kubescript"), "there are kubescript-code, kubescript-gateway"),
    ):
        done = CliRunner().invoke(main.main, ["proxy", *words, "--into", str(tmp_path)])
        assert (done.exit_code, done.stdout) == (2, ""), words
        assert why in " ".join(done.stderr.split())
        assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
