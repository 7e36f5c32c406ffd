"""Clients over HTTP whose call times out while a person still reads the plan, and which end their session then."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import anyio
import mcp.client as mcp
import mcp_types
import pytest
from mcp import MCPError

from tests.kit import clients, people
from tests.kit.controlplane.server import ControlPlane

CLIENTS: Final = 6


@pytest.mark.cluster
def test_a_client_that_gives_up_leaves_no_trace_in_the_log_and_comes_back(
    scratch: ControlPlane, namespace: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Nothing is changed, and the next call is answered. A client says that it has given up, and may end its session at the
    same moment."""
    flags = ["--toolsets", "code", *people.flags(tmp_path, scratch.kubeconfig)]
    with clients.serving(flags, **people.environment(tmp_path)) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        anyio.run(give_up, url, creation(namespace))
        assert anyio.run(go_on, url, creation(namespace), namespace) == "0"
    log = capfd.readouterr().err
    assert "Traceback" not in log and "exception" not in log, log


def creation(namespace: str) -> str:
    """A script that plans one change."""
    body = {"metadata": {"name": "given-up", "labels": {"made": "by-a-client"}}}
    return f"k8s.coreV1().create_namespaced_config_map({namespace!r}, {body!r})\n1"


async def ponder(context: Any, params: people.Question) -> mcp_types.ElicitResult:
    """A person who does not decide."""
    await anyio.sleep_forever()
    raise AssertionError


async def give_up(url: str, script: str) -> None:
    """Each of several clients waits for a person's decision for two seconds, and ends its session."""
    async with anyio.create_task_group() as tasks:
        for _ in range(CLIENTS):
            tasks.start_soon(wait, url, script)


async def wait(url: str, script: str) -> None:
    async with mcp.Client(url, mode="legacy", elicitation_callback=ponder) as client:
        await call(client, script)


async def call(client: mcp.Client, script: str) -> None:
    with pytest.raises(MCPError, match="timed out"):
        await client.call_tool("evaluate_script", {"script": script}, read_timeout_seconds=2)


async def go_on(url: str, script: str, namespace: str) -> str:
    """Gives up, and asks in the same session how many objects the plans have made."""
    async with mcp.Client(url, mode="legacy", elicitation_callback=ponder) as client:
        await call(client, script)
        counted = f"len(k8s.coreV1().list_namespaced_config_map({namespace!r}, label_selector='made').items)"
        return clients.text(await clients.evaluate(client, counted))
