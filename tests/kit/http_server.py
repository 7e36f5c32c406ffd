"""A server over HTTP in this process, on a real port: what is not about a process, its start or its log needs none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any
from unittest import mock

import httpx2
from anyio.abc import TaskStatus
from anyio.from_thread import start_blocking_portal

from kubescript import app, transports
from kubescript.transports import http_connections
from tests.kit import clients

__all__ = ["post", "serving"]


@contextlib.contextmanager
def serving(flags: Sequence[str], **environment: str) -> Iterator[int]:
    """What `kubescript` with these flags serves over HTTP; gives its port. Raises ConfigError."""
    flags = (*flags, "--transport", "http", "--port", "0")
    with (
        mock.patch.dict(os.environ, environment),
        clients.application(flags) as opened,
        start_blocking_portal() as portal,
    ):
        made: list[http_connections.Server] = []

        def remember(*arguments: Any) -> http_connections.Server:
            made.append(server(*arguments))
            return made[0]

        server = http_connections.Server
        with mock.patch.object(http_connections, "Server", remember):
            ended, _ = portal.start_task(_serve, opened)
        try:
            yield int(made[0].servers[0].sockets[0].getsockname()[1])  # its URL may be a proxy's
        finally:
            made[0].should_exit = True  # as a signal would have it
            ended.result(timeout=60)


def post(port: int, token: str, method: str, *, accept: str = "application/json", **params: Any) -> httpx2.Response:
    """What a caller with this token, and without a session, is answered."""
    headers = {"Authorization": f"Bearer {token}", "Accept": accept}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx2.post(f"http://127.0.0.1:{port}/mcp", json=body, headers=headers, timeout=120)


async def _serve(opened: app.Application, *, task_status: TaskStatus[str]) -> None:
    await transports.serve(opened, task_status.started)
