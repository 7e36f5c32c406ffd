"""Web pages, which reach a loopback address by DNS rebinding or by a request of their own: none gets an answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Final

import pytest

from tests.kit import http_server, trails

ADDRESS: Final = b"127.0.0.1:1"
HOSTS: Final = (
    b"Host: page.example",
    b"Host: 127.0.0.1.page.example",
    b"Host: 127.0.0.1.page.example:1",
    b"Host: 127.0.0.1:1@page.example",
    b"Host: 127.0.0.1:page.example",
    b"Host: localhost:1.page.example",
    b"Host: [::1]:x.page.example",
    b"Host: page.example#127.0.0.1:1",
    b"Host: ",
    b"Host: 127.0.0.1:1\r\nHost: page.example",
)
ORIGINS: Final = (
    b"Origin: null",
    b"Origin: http://page.example",
    b"Origin: https://127.0.0.1:1",
    b"Origin: http://127.0.0.1:1.page.example",
    b"Origin: http://localhost:1@page.example",
    b"Origin: http://127.0.0.1:1/",
    b"Origin: http://127.0.0.1:1\r\nOrigin: http://page.example",
    b"Origin: http://page.example\r\nOrigin: http://127.0.0.1:1",
    b"Origin: ",
)
PATHS: Final = (b"/mcp", b"/mcp/", b"//mcp", b"/health", b"/info", b"/info/", b"/%69nfo", b"/metrics", b"/nothing")
METHODS: Final = (b"GET", b"POST", b"OPTIONS", b"DELETE", b"HEAD")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server."""
    folder = tmp_path_factory.mktemp("origins")
    with http_server.serving(("--snapshot", str(trails.snapshot(folder)), "--toolsets", "code")) as opened:
        yield opened


def answered(port: int, method: bytes, path: bytes, *headers: bytes) -> bytes:
    """The whole answer to a request."""
    lines = (method + b" " + path + b" HTTP/1.1", *headers, b"Content-Length: 0", b"Connection: close")
    with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
        client.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
        return b"".join(iter(lambda: client.recv(65536), b""))


@pytest.mark.promise("W-05", "P-06")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", PATHS)
def test_no_page_of_another_site_gets_an_answer(path: bytes, method: bytes, port: int) -> None:
    """What begins like an allowed name is none; no path redirects to the name that was sent, or says that it exists."""
    good = b"Host: " + ADDRESS
    for headers in ((host,) for host in HOSTS):
        answer = answered(port, method, path, *headers)
        assert answer.split(b" ")[1] in {b"400", b"421"}, headers
        assert b"page.example" not in answer and b"mcp-session-id" not in answer.lower()
    for origin in ORIGINS:
        answer = answered(port, method, path, good, origin)
        assert answer.split(b" ")[1] == b"403", origin
        assert b"page.example" not in answer and b"mcp-session-id" not in answer.lower()
    for host in (ADDRESS, b"localhost", b"LOCALHOST:1", b"[::1]:1"):
        answer = answered(port, b"GET", b"/health", b"Host: " + host, b"Origin: http://" + host)
        assert answer.startswith(b"HTTP/1.1 200")
