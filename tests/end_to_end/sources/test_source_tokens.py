"""Whose token a source gets: the server's own, or that of the caller whom the cluster knows, and only where it may."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import anyio
import httpx2
import pytest

from tests.kit import api_server, clients
from tests.kit.callers import Callers, connected
from tests.kit.controlplane.server import ControlPlane
from tests.kit.engines import prometheus

ANSWERED: Final = '"value":7'
QUEUE: Final = 'k8s.source("queues").query("queue")'
SOURCE: Final = '[sources.queues]\nkind = "prometheus"\nurl = "{url}"\nauth = "{auth}"\n'


@pytest.fixture
def queues() -> Iterator[api_server.Server]:
    """A source that takes every token, and remembers them."""
    server = api_server.Server()
    server.answer = api_server.whole(prometheus.vector("7", __name__="queue"))
    yield server
    server.close()


@pytest.fixture(scope="module")
def callers(scratch: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Callers:
    return Callers(scratch.kubeconfig, tmp_path_factory.mktemp("callers"))


def test_the_servers_own_token_is_sent_and_with_a_certificate_there_is_none(
    queues: api_server.Server, scratch: ControlPlane, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A kubeconfig's token is sent to the source of its cluster; one with a certificate alone says what to set instead."""
    file = tmp_path / "server.toml"
    file.write_text(SOURCE.format(url=queues.url, auth="server"))
    folder = tmp_path / "token"
    folder.mkdir()
    config = api_server.kubeconfig(folder, scratch.url)
    with clients.asking("--config", str(file), "--kubeconfig", str(config)) as ask:
        assert ANSWERED in clients.text(ask(QUEUE))
    assert queues.tokens == {f"Bearer {api_server.TOKEN}"}
    queues.requests.clear()
    with clients.asking("--config", str(file), "--kubeconfig", str(scratch.kubeconfig)) as ask:
        answer = clients.text(ask(QUEUE))
        assert "cluster.auth: prom.query: the server has no token for this cluster" in answer, answer
        assert 'use token_file, or cert_file and auth = "none"' in caplog.text and not queues.requests
        assert clients.text(ask("1 + 1")) == "2"


@pytest.mark.parametrize("acts_as", ["caller", "server"])
def test_a_token_that_the_cluster_has_reviewed_is_sent_to_its_source(
    queues: api_server.Server, callers: Callers, acts_as: str
) -> None:
    """Each caller's own, whoever else calls, and the metrics count its calls under the source's name; over stdio there is
    no caller, and the source is not asked."""

    async def ask(port: int, token: str) -> str:
        async with connected(port, token) as client:
            return clients.text(await clients.evaluate(client, QUEUE))

    source = SOURCE.format(url=queues.url, auth="caller")
    with callers.serving(f'acts_as = "{acts_as}"', "[auth]\ntoken_review = true", source) as port:
        for name in ("alice", "bob"):
            queues.requests.clear()
            token = callers.account_token(name)
            assert ANSWERED in anyio.run(ask, port, token)
            assert queues.tokens == {f"Bearer {token}"}
        headers = {"Authorization": f"Bearer {callers.account_token('bob')}"}
        metrics = httpx2.get(f"http://127.0.0.1:{port}/metrics", headers=headers, timeout=60).text
        assert 'resource="sources/queues",status="200"' in metrics, metrics
    queues.requests.clear()
    file = callers.folder / "alone.toml"
    file.write_text(source)
    with clients.asking("--config", str(file), "--kubeconfig", str(callers.kubeconfig)) as alone:
        answer = clients.text(alone(QUEUE))
        assert "takes callers' tokens, and you have none" in answer and not queues.requests
