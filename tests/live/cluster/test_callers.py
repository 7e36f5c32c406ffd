"""Several callers of one server, in front of a real API server: each under his own rights, and nobody under another's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import mcp_types
import pytest
from mcp import MCPError

from tests.kit import clients
from tests.kit.callers import NAMESPACES, Callers, connected

pytestmark = pytest.mark.cluster

JSON = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
PING = {"jsonrpc": "2.0", "id": 2, "method": "ping"}

READ = """
items = k8s.CoreV1Api().list_namespaced_config_map({namespace!r}).items
[c.metadata.name for c in items if c.metadata.name.startswith("of-")]
"""


@pytest.fixture(scope="module")
def callers(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Callers:
    return Callers(kubeconfig, tmp_path_factory.mktemp("callers"))


@pytest.fixture(scope="module")
def impersonating(callers: Callers) -> Iterator[int]:
    with callers.serving('acts_as = "impersonate"', callers.tokens()) as port:
        yield port


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_each_caller_reads_what_rbac_gives_him_and_nothing_else(
    callers: Callers, impersonating: int, transport: str
) -> None:
    async def ask(name: str, other: str) -> None:
        async with connected(impersonating, callers.secrets[name], transport=transport) as client:
            refused = await clients.evaluate(client, READ.format(namespace=NAMESPACES[other]))
            assert f'User "{name}" cannot list resource' in clients.text(refused)
            assert f"administrator can let {name} `list configmaps`" in clients.text(refused)
            own = await clients.evaluate(client, READ.format(namespace=NAMESPACES[name]))
            assert clients.text(own) == f'["of-{name}"]'

    anyio.run(ask, "alice", "bob")
    anyio.run(ask, "bob", "alice")


def test_a_caller_may_act_with_the_token_of_his_own_service_account(callers: Callers) -> None:
    """The server asks the cluster whose the token is, and sends it on; its own credentials stay at home."""

    async def ask(port: int) -> None:
        async with connected(port, callers.account_token("bob")) as client:
            who = f"system:serviceaccount:{NAMESPACES['bob']}:bob"
            refused = await clients.evaluate(client, READ.format(namespace=NAMESPACES["alice"]))
            assert f'User "{who}" cannot list resource' in clients.text(refused)
            own = await clients.evaluate(client, READ.format(namespace=NAMESPACES["bob"]))
            assert clients.text(own) == '["of-bob"]'

    with callers.serving('acts_as = "caller"', "[auth]\ntoken_review = true") as port:
        anyio.run(ask, port)
        forged = httpx2.get(f"http://127.0.0.1:{port}/info", headers={"authorization": "Bearer x.y.z"}, timeout=60)
        assert forged.status_code == 401


def test_nobody_is_served_without_a_token(callers: Callers, impersonating: int) -> None:
    for path in ("mcp", "sse", "info", "tools", "sse-status", "metrics"):
        answer = httpx2.get(f"http://127.0.0.1:{impersonating}/{path}", timeout=60)
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"].startswith("Bearer "), path
    assert httpx2.get(f"http://127.0.0.1:{impersonating}/health", timeout=60).json() == {"status": "healthy"}
    assert httpx2.get(f"http://127.0.0.1:{impersonating}/ready", timeout=60).json() == {"status": "ready"}


RULES = """
[[access]]
groups = ["platform"]
writes = "plan"

[[access]]
users = ["bo*"]
toolsets = ["code"]
writes = "off"
"""
EXPRESSION = """
[[write_policy.expressions]]
id = "own-people"
expression = "request.userInfo.username == 'alice' && 'platform' in request.userInfo.groups"
"""
MAKE = """
k8s.apply({{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": {name!r}, "namespace": {namespace!r}}}}})
"""


def test_access_rules_say_what_each_caller_may_do(callers: Callers, tmp_path: Path) -> None:
    """Alice has two toolsets, and plans are made of her writes; Bob has one, and his are refused; Eve is let in
    nowhere. The record names each."""
    audit = tmp_path / "audit.jsonl"

    async def ask(port: int) -> None:
        async with connected(port, callers.secrets["alice"], elicitation_callback=approves) as client:
            assert {"evaluate_script", "kubectl_get"} <= {tool.name for tool in (await client.list_tools()).tools}
            made = await clients.evaluate(client, MAKE.format(name="by-alice", namespace=NAMESPACES["alice"]))
            assert "applied" in clients.text(made), clients.text(made)
        async with connected(port, callers.secrets["bob"], elicitation_callback=approves) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == {"evaluate_script"}
            refused = await clients.evaluate(client, MAKE.format(name="by-bob", namespace=NAMESPACES["bob"]))
            assert "read-only" in clients.text(refused)

    settings = f'acts_as = "impersonate"\nwrites = "plan"\n{EXPRESSION}\n[plans]\nstore = "{tmp_path}/plans.db"'
    flags = ("--toolsets", "code,kubectl", "--audit", str(audit))
    with callers.serving(settings, callers.tokens(), RULES, flags=flags) as port:
        anyio.run(ask, port)
        eve = {"authorization": f"Bearer {callers.secrets['eve']}"}
        answer = httpx2.post(f"http://127.0.0.1:{port}/mcp", headers=eve | JSON, json=PING, timeout=60)
        assert answer.status_code == 403
        said = "none of this server's [[access]] tables fits user eve (groups: none); its operator can add one"
        assert answer.json()["error"] == {"code": mcp_types.INVALID_REQUEST, "message": said}
        with pytest.raises(ExceptionGroup) as refused:
            anyio.run(begin, port, callers.secrets["eve"])
        assert refused.group_contains(MCPError, match=re.escape(said))
    records = [json.loads(line) for line in audit.read_text().splitlines()]
    by_user = {record["user"] for record in records if record["type"] == "call"}
    assert by_user == {"alice", "bob"}
    (decided,) = [record for record in records if record["type"] == "decision"]
    assert decided["approver"].startswith("user alice, client ")


async def begin(port: int, token: str) -> None:
    """A client that connects and leaves."""
    async with connected(port, token):
        pass


async def approves(_context: object, _params: object) -> mcp_types.ElicitResult:
    """The person at the client says yes."""
    return mcp_types.ElicitResult(action="accept", content={"decision": "approve"})


def test_a_session_is_worth_nothing_to_another_caller(callers: Callers, impersonating: int) -> None:
    url = f"http://127.0.0.1:{impersonating}"
    alice, bob = ({"authorization": f"Bearer {callers.secrets[name]}"} for name in ("alice", "bob"))
    begun = httpx2.post(f"{url}/mcp", headers=alice | JSON, json=clients.INITIALIZE, timeout=60)
    session = {"mcp-session-id": begun.headers["mcp-session-id"]}
    assert httpx2.post(f"{url}/mcp", headers=bob | JSON | session, json=PING, timeout=60).status_code == 404
    assert httpx2.get(f"{url}/mcp", headers=bob | JSON | session, timeout=60).status_code == 404
    assert httpx2.delete(f"{url}/mcp", headers=bob | JSON | session, timeout=60).status_code == 404
    assert httpx2.post(f"{url}/mcp", headers=alice | JSON | session, json=PING, timeout=60).status_code == 200


def test_a_plain_post_is_answered_with_json(callers: Callers, impersonating: int) -> None:
    """What Dify and curl send: no handshake, no session, and nothing that reads a stream."""
    headers = {"authorization": f"Bearer {callers.secrets['bob']}", "accept": "application/json"}
    script = READ.format(namespace=NAMESPACES["bob"])
    params = {"name": "evaluate_script", "arguments": {"script": script}}
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    answer = httpx2.post(f"http://127.0.0.1:{impersonating}/mcp", headers=headers, json=call, timeout=60)
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["id"] == 7
    assert "of-bob" in answer.json()["result"]["content"][0]["text"]


def test_probes_hear_whether_the_cluster_answers(callers: Callers, impersonating: int) -> None:
    headers = {"authorization": f"Bearer {callers.secrets['bob']}"}
    ready = httpx2.get(f"http://127.0.0.1:{impersonating}/ready", headers=headers, timeout=60)
    assert ready.json() == {"status": "ready", "checks": {"workers": "ok", "cluster": "ok", "callers": "ok"}}
