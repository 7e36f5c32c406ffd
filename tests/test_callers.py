"""Several callers of one server, in front of a real API server: each under his own rights, and nobody under another's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest

from tests import clients
from tests.callers import NAMESPACES, Callers, connected

pytestmark = pytest.mark.cluster

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
        forged = httpx2.get(f"http://127.0.0.1:{port}/info", headers={"authorization": "Bearer x.y.z"})
        assert forged.status_code == 401


def test_nobody_is_served_without_a_token(callers: Callers, impersonating: int) -> None:
    for path in ("mcp", "sse", "info", "tools", "sse-status", "metrics"):
        answer = httpx2.get(f"http://127.0.0.1:{impersonating}/{path}")
        assert answer.status_code == 401, path
        assert answer.headers["www-authenticate"].startswith("Bearer "), path
    assert httpx2.get(f"http://127.0.0.1:{impersonating}/health").json() == {"status": "healthy"}
    assert httpx2.get(f"http://127.0.0.1:{impersonating}/ready").json() == {"status": "ready"}
